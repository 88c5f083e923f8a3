"""Databases for questions to the offline model: the sample shop, a company, a sheet of orders.

The shop is SQLite with CamelCase names; the company is SQLite with snake_case names and Chinese
comments; the orders are one DuckDB table with Chinese column names, as a CSV upload gives it.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb

from dataagent_core.data.sample.schema import SAMPLE_COMMENTS
from dataagent_core.data.sample.shop import create_sample

from .data_player import Source

Comments = Mapping[str, tuple[str, Mapping[str, str]]]

COMPANY = """
CREATE TABLE department (
    dept_id INTEGER PRIMARY KEY, dept_name VARCHAR(40) NOT NULL, location VARCHAR(40)
);
CREATE TABLE employee (
    emp_id INTEGER PRIMARY KEY, full_name VARCHAR(60) NOT NULL, gender VARCHAR(2),
    dept_id INTEGER REFERENCES department (dept_id), job_title VARCHAR(40),
    salary DECIMAL(10,2), birth_date DATE, hire_date DATE
);
CREATE TABLE project (
    project_id INTEGER PRIMARY KEY, project_name VARCHAR(60) NOT NULL, status VARCHAR(20),
    budget DECIMAL(12,2)
);
CREATE TABLE project_member (
    project_id INTEGER REFERENCES project (project_id),
    emp_id INTEGER REFERENCES employee (emp_id), hours INTEGER,
    PRIMARY KEY (project_id, emp_id)
);
"""
COMPANY_COMMENTS: Comments = {
    "department": ("部门表", {"dept_name": "部门名称", "location": "所在城市"}),
    "employee": (
        "员工信息表",
        {
            "full_name": "姓名",
            "gender": "性别",
            "job_title": "职位",
            "salary": "月薪",
            "birth_date": "出生日期",
            "hire_date": "入职日期",
        },
    ),
    "project": ("项目表", {"project_name": "项目名称", "status": "状态", "budget": "预算"}),
    "project_member": ("项目成员表", {"hours": "工时"}),
}


def shop(folder: Path) -> Source:
    """The sample database that the product ships."""
    path = folder / "shop.db"
    create_sample(path, seed=7)
    return sqlite_source("chinook", sqlite3.connect(path, check_same_thread=False), SAMPLE_COMMENTS)


def company() -> Source:
    """Departments, employees, projects, and who works on what."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(COMPANY)
    chance = random.Random(11)
    departments = ["研发部", "市场部", "销售部", "财务部", "人事部", "客服部"]
    cities = ["北京", "上海", "上海", "北京", "深圳", "广州"]
    connection.executemany(
        "INSERT INTO department VALUES (?, ?, ?)",
        [(i + 1, name, cities[i]) for i, name in enumerate(departments)],
    )
    titles = ["工程师", "经理", "专员", "总监"]
    employees = [
        (
            number,
            f"员工{number:03d}",
            chance.choice("男女"),
            chance.randint(1, len(departments)),
            chance.choice(titles),
            chance.randint(80, 400) * 100,
            (date(1970, 1, 1) + timedelta(days=chance.randint(0, 10_000))).isoformat(),
            (date(2015, 1, 1) + timedelta(days=chance.randint(0, 3200))).isoformat(),
        )
        for number in range(1, 161)
    ]
    connection.executemany("INSERT INTO employee VALUES (?, ?, ?, ?, ?, ?, ?, ?)", employees)
    states = ["进行中", "已完成", "暂停"]
    projects = [
        (number, f"项目{number:02d}", chance.choice(states), chance.randint(10, 90) * 10_000)
        for number in range(1, 13)
    ]
    connection.executemany("INSERT INTO project VALUES (?, ?, ?, ?)", projects)
    pairs = {(chance.randint(1, 12), chance.randint(1, 160)) for _ in range(300)}
    connection.executemany(
        "INSERT INTO project_member VALUES (?, ?, ?)",
        [(project, employee, chance.randint(5, 200)) for project, employee in sorted(pairs)],
    )
    return sqlite_source("company", connection, COMPANY_COMMENTS)


def orders() -> Source:
    """One table without keys, as an uploaded sheet."""
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE "销售订单" ("订单编号" VARCHAR, "下单日期" DATE, "地区" VARCHAR,'
        ' "城市" VARCHAR, "产品类别" VARCHAR, "产品名称" VARCHAR, "数量" BIGINT, "单价" DOUBLE,'
        ' "金额" DOUBLE, "客户名称" VARCHAR)'
    )
    chance = random.Random(5)
    places = {"华东": ["上海", "杭州", "南京"], "华南": ["广州", "深圳"], "华北": ["北京", "天津"]}
    products = {
        "手机": ["星辰X", "星辰Y"],
        "电脑": ["磐石14", "磐石16"],
        "配件": ["耳机", "键盘", "鼠标"],
    }
    rows: list[tuple[Any, ...]] = []
    for number in range(1, 401):
        region = chance.choice(list(places))
        category = chance.choice(list(products))
        quantity, price = chance.randint(1, 9), chance.randint(50, 9000)
        day = date(2022, 1, 1) + timedelta(days=chance.randint(0, 1094))
        rows.append(
            (f"SO{number:05d}", day, region, chance.choice(places[region]), category,
             chance.choice(products[category]), quantity, float(price), float(quantity * price),
             f"客户{chance.randint(1, 60):02d}")
        )  # fmt: skip
    connection.executemany(f'INSERT INTO "销售订单" VALUES ({", ".join("?" * 10)})', rows)
    described = connection.execute('DESCRIBE "销售订单"').fetchall()
    columns = [{"name": row[0], "type": row[1], "comment": None} for row in described]
    table = {"name": "销售订单", "comment": None, "primary_key": [], "foreign_keys": [],
             "columns": columns}  # fmt: skip

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    return Source("orders", "duckdb", [table], run)


def sqlite_source(name: str, connection: sqlite3.Connection, comments: Comments) -> Source:
    """A SQLite database behind the tools, described as its catalogue would."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [each[0] for each in cursor.description], cursor.fetchall()

    described = [_table(connection, table, comments) for (table,) in tables]
    return Source(name, "sqlite", described, run)


def _table(connection: sqlite3.Connection, name: str, comments: Comments) -> dict[str, Any]:
    info = connection.execute(f"PRAGMA table_info({name})").fetchall()
    keys = connection.execute(f"PRAGMA foreign_key_list({name})").fetchall()
    comment, columns = comments.get(name, ("", {}))
    return {
        "name": name,
        "comment": comment,
        "primary_key": [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]],
        "foreign_keys": [
            {"columns": [row[3]], "table": row[2], "target_columns": [row[4]]} for row in keys
        ],
        "columns": [
            {"name": row[1], "type": row[2], "comment": columns.get(row[1])} for row in info
        ],
    }


def files(*, is_doubled: bool = False) -> Source:
    """Two files that belong together by the names of their columns alone."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE customers (customer_id BIGINT, name VARCHAR, country VARCHAR)")
    connection.execute(
        "CREATE TABLE orders (order_id BIGINT, customer_id BIGINT, order_date DATE, amount DOUBLE)"
    )
    customers = [(1, "Ada", "UK"), (2, "Ada", "UK"), (3, "Bo", "Norway")]
    if is_doubled:
        customers.append(customers[0])
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?)", customers)
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?)",
        [(number, number % 3 + 1, date(2024, number, 1), number * 1.5) for number in range(1, 13)],
    )

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    def table(name: str) -> dict[str, Any]:
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        columns = [{"name": row[0], "type": row[1], "comment": None} for row in described]
        return {"name": name, "comment": None, "primary_key": [], "foreign_keys": [],
                "columns": columns}  # fmt: skip

    return Source("files", "duckdb", [table("customers"), table("orders")], run)
