"""The offline model knows no schema beforehand: other names, Chinese comments, one flat table."""

from __future__ import annotations

import pytest

from .data_player import Player, Source, same_rows, shows_rows
from .data_sources import company, files, orders

Talk = tuple[tuple[str, str], ...]

STAFF = "employee e JOIN department d ON e.dept_id = d.dept_id"
HEADS = "SELECT d.dept_name, COUNT(*) FROM {} GROUP BY d.dept_id ORDER BY 2 DESC, 1"

COMPANY: tuple[Talk, ...] = (
    (("有多少员工？", "SELECT COUNT(*) FROM employee"),),
    (("how many employees are there?", "SELECT COUNT(*) FROM employee"),),
    (("研发部有多少人", f"SELECT COUNT(*) FROM {STAFF} WHERE d.dept_name = '研发部'"),),
    (("女员工有多少", "SELECT COUNT(*) FROM employee WHERE gender = '女'"),),
    (("how many female employees are there?",
      "SELECT COUNT(*) FROM employee WHERE gender = '女'"),),
    (("平均工资是多少", "SELECT AVG(salary) FROM employee"),),
    (("average salary by department",
      f"SELECT d.dept_name, AVG(e.salary) FROM {STAFF} GROUP BY d.dept_id ORDER BY 2 DESC, 1"),),
    (("各部门的最高工资",
      f"SELECT d.dept_name, MAX(e.salary) FROM {STAFF} GROUP BY d.dept_id ORDER BY 2 DESC, 1"),),
    (("工资最高的5名员工",
      "SELECT full_name, salary FROM employee ORDER BY 2 DESC, 1 LIMIT 5"),),
    (("who has the highest salary?",
      "SELECT full_name, salary FROM employee WHERE salary = (SELECT MAX(salary) FROM employee)"
      " ORDER BY 1"),),
    (("哪个部门的员工最多",
      f"SELECT d.dept_name, COUNT(*) FROM {STAFF} GROUP BY d.dept_id ORDER BY 2 DESC LIMIT 1"),),
    (("2020年入职的员工有多少",
      "SELECT COUNT(*) FROM employee WHERE hire_date LIKE '2020-%'"),),
    (("how many employees were hired in 2020?",
      "SELECT COUNT(*) FROM employee WHERE hire_date LIKE '2020-%'"),),
    (("按年份统计入职人数",
      "SELECT substr(hire_date, 1, 4), COUNT(*) FROM employee GROUP BY 1 ORDER BY 1"),),
    (("各职位的员工数量",
      "SELECT job_title, COUNT(*) FROM employee GROUP BY 1 ORDER BY 2 DESC, 1"),),
    (("北京有多少员工", f"SELECT COUNT(*) FROM {STAFF} WHERE d.location = '北京'"),),
    (("进行中的项目有多少个", "SELECT COUNT(*) FROM project WHERE status = '进行中'"),),
    (("有哪些部门", "SELECT dept_name FROM department ORDER BY 1"),),
    (("total hours by project",
      "SELECT p.project_name, SUM(m.hours) FROM project_member m JOIN project p USING (project_id)"
      " GROUP BY p.project_id ORDER BY 2 DESC, 1"),),
    (("各部门的总工时",
      "SELECT d.dept_name, SUM(m.hours) FROM project_member m JOIN employee e USING (emp_id)"
      " JOIN department d USING (dept_id) GROUP BY d.dept_id ORDER BY 2 DESC, 1"),),
    (("average salary by project",
      "SELECT p.project_name, AVG(e.salary) FROM project p JOIN project_member USING (project_id)"
      " JOIN employee e USING (emp_id) GROUP BY p.project_id ORDER BY 2 DESC, 1"),),
    (("工资超过30000的员工有多少", "SELECT COUNT(*) FROM employee WHERE salary > 30000"),),
    (("total salary by department",
      f"SELECT d.dept_name, SUM(e.salary) FROM {STAFF} GROUP BY d.dept_id ORDER BY 2 DESC, 1"),),
    (("项目总预算", "SELECT SUM(budget) FROM project"),),
    (("预算最高的项目",
      "SELECT project_name, budget FROM project WHERE budget = (SELECT MAX(budget) FROM project)"
      " ORDER BY 1"),),
    (("研发部和市场部的平均工资对比",
      f"SELECT d.dept_name, AVG(e.salary) FROM {STAFF} WHERE d.dept_name IN ('研发部', '市场部')"
      " GROUP BY 1 ORDER BY 2 DESC"),),
    (("每个部门有多少人？", HEADS.format(STAFF)),
     ("只看上海的",
      f"SELECT d.dept_name, COUNT(*) FROM {STAFF} WHERE d.location = '上海' GROUP BY d.dept_id"
      " ORDER BY 2 DESC, 1")),
    (("平均月薪", "SELECT AVG(salary) FROM employee"),
     ("研发部呢？", f"SELECT AVG(e.salary) FROM {STAFF} WHERE d.dept_name = '研发部'"),
     ("按性别",
      f"SELECT e.gender, AVG(e.salary) FROM {STAFF} WHERE d.dept_name = '研发部' GROUP BY 1"
      " ORDER BY 2 DESC"),
     ("总和呢",
      f"SELECT e.gender, SUM(e.salary) FROM {STAFF} WHERE d.dept_name = '研发部' GROUP BY 1"
      " ORDER BY 2 DESC")),
)  # fmt: skip

SHEET = '"销售订单"'
ORDERS: tuple[Talk, ...] = (
    (("一共有多少订单", f"SELECT COUNT(*) FROM {SHEET}"),),
    (("how many orders are there?", f"SELECT COUNT(*) FROM {SHEET}"),),
    (("销售总额是多少", f"SELECT SUM(金额) FROM {SHEET}"),),
    (("total sales", f"SELECT SUM(金额) FROM {SHEET}"),),
    (("各地区的销售额", f"SELECT 地区, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC"),),
    (("按产品类别统计数量",
      f"SELECT 产品类别, SUM(数量) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC"),),
    (("每个城市的订单数", f"SELECT 城市, COUNT(*) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC, 1"),),
    (("销售额最高的5个产品",
      f"SELECT 产品名称, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC LIMIT 5"),),
    (("金额最高的3个客户",
      f"SELECT 客户名称, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),),
    (("2023年的销售额", f"SELECT SUM(金额) FROM {SHEET} WHERE year(下单日期) = 2023"),),
    (("按月统计2023年的销售额",
      f"SELECT strftime(下单日期, '%Y-%m'), SUM(金额) FROM {SHEET} WHERE year(下单日期) = 2023"
      " GROUP BY 1 ORDER BY 1"),),
    (("2023年每季度的销售额",
      f"SELECT '2023-Q' || quarter(下单日期), SUM(金额) FROM {SHEET} WHERE year(下单日期) = 2023"
      " GROUP BY 1 ORDER BY 1"),),
    (("华东有多少订单", f"SELECT COUNT(*) FROM {SHEET} WHERE 地区 = '华东'"),),
    (("上海的手机销售额",
      f"SELECT SUM(金额) FROM {SHEET} WHERE 城市 = '上海' AND 产品类别 = '手机'"),),
    (("手机和电脑的销售额对比",
      f"SELECT 产品类别, SUM(金额) FROM {SHEET} WHERE 产品类别 IN ('手机', '电脑') GROUP BY 1"
      " ORDER BY 2 DESC"),),
    (("平均单价", f"SELECT AVG(单价) FROM {SHEET}"),),
    (("有哪些产品类别", f"SELECT DISTINCT 产品类别 FROM {SHEET} ORDER BY 1"),),
    (("有多少个不同的客户", f"SELECT COUNT(DISTINCT 客户名称) FROM {SHEET}"),),
    (("哪个地区的销售额最高",
      f"SELECT 地区, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),),
    (("哪个产品卖得最好",
      f"SELECT 产品名称, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),),
    (("哪个客户买得最多",
      f"SELECT 客户名称, SUM(金额) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),),
    (("数量大于5的订单有多少", f"SELECT COUNT(*) FROM {SHEET} WHERE 数量 > 5"),),
    (("耳机的销量", f"SELECT SUM(数量) FROM {SHEET} WHERE 产品名称 = '耳机'"),),
    (("按地区和产品类别统计销售额",
      f"SELECT 地区, 产品类别, SUM(金额) FROM {SHEET} GROUP BY 1, 2 ORDER BY 3 DESC"),),
    (("除了华东之外的销售额", f"SELECT SUM(金额) FROM {SHEET} WHERE 地区 <> '华东'"),),
    (("最大订单金额", f"SELECT MAX(金额) FROM {SHEET}"),),
    (("“客户07”的销售额", f"SELECT SUM(金额) FROM {SHEET} WHERE 客户名称 = '客户07'"),),
    (("各地区的订单数量", f"SELECT 地区, COUNT(*) FROM {SHEET} GROUP BY 1 ORDER BY 2 DESC, 1"),
     ("只看手机",
      f"SELECT 地区, COUNT(*) FROM {SHEET} WHERE 产品类别 = '手机' GROUP BY 1 ORDER BY 2 DESC, 1"),
     ("2023年呢",
      f"SELECT 地区, COUNT(*) FROM {SHEET} WHERE 产品类别 = '手机' AND year(下单日期) = 2023"
      " GROUP BY 1 ORDER BY 2 DESC, 1")),
)  # fmt: skip


FILES: tuple[Talk, ...] = (
    (("sales by country",
      "SELECT country, SUM(amount) FROM orders JOIN customers USING (customer_id) GROUP BY 1"
      " ORDER BY 2 DESC"),),
    (("top 2 customers by sales",
      "SELECT name, SUM(amount) FROM orders JOIN customers USING (customer_id)"
      " GROUP BY customer_id, name ORDER BY 2 DESC LIMIT 2"),),
    (("how many orders are from Norway?",
      "SELECT COUNT(*) FROM orders JOIN customers USING (customer_id) WHERE country = 'Norway'"),),
)  # fmt: skip


@pytest.fixture(scope="module")
def company_source() -> Source:
    return company()


@pytest.fixture(scope="module")
def orders_source() -> Source:
    return orders()


def check(source: Source, talk: Talk) -> None:
    player = Player(source)
    for question, sql in talk:
        text = player.ask(question)
        assert player.was_answered, f"{question}: {text}"
        assert same_rows(player.rows, source.run(sql)[1]), f"{question}\n{player.sql}"
        assert shows_rows(text, player.rows)
        assert player.unbacked(question) == []


@pytest.mark.parametrize("talk", COMPANY, ids=lambda talk: talk[-1][0])
def test_a_company_is_understood_by_its_comments(company_source: Source, talk: Talk) -> None:
    check(company_source, talk)


@pytest.mark.parametrize("talk", ORDERS, ids=lambda talk: talk[-1][0])
def test_a_sheet_of_orders_is_understood_by_its_columns(orders_source: Source, talk: Talk) -> None:
    check(orders_source, talk)


@pytest.mark.parametrize("talk", FILES, ids=lambda talk: talk[-1][0])
def test_files_are_joined_by_the_names_of_their_columns(talk: Talk) -> None:
    check(files(), talk)


def test_files_whose_key_is_not_one_are_not_joined() -> None:
    player = Player(files(is_doubled=True))
    text = player.ask("sales by country")
    assert not player.was_answered
    assert "count rows of “customers” more than once" in text
