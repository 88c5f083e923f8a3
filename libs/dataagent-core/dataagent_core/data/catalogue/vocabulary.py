"""The words `words.py` knows: which to pass over, and which mean about the same. Plain data.

Business words, one group a line, English and Chinese together. A company's own words belong in
the comments of its tables, not here.
"""

from __future__ import annotations

STOP_WORDS = """
a an the of to in on at for from by with and or is are was were be been do does did has have had
how many much what which who whom whose where when why that this these those it its per each every
all any me my our us we you your show give list tell find get please there their than then as not
no can could would should will i he she they them most more least
的 了 是 在 和 与 有 我 你 们 各 每 个 多 少 哪 些 什 么 请 给 吗 呢 及 按 从 到 被 把 为 对 中 多少
哪些 什么 哪个 每个 各个 我们 请问 列出 显示 一下 是多 少个 有多 的是 分别
"""

SYNONYMS = """
revenue sales turnover income amount total 收入 营收 销售额 营业额 金额 总额
customer client buyer shopper account 客户 顾客 买家 会员
order purchase 订单 订购 下单
product item goods sku article 产品 商品 货品 物料
price cost fee charge rate 价格 单价 费用 成本
employee staff worker personnel colleague 员工 职员 雇员 人员
salary wage pay payroll compensation 工资 薪资 薪酬 薪水
department division team unit 部门 团队
supplier vendor provider 供应商 厂商
warehouse depot storage 仓库 库房
stock inventory onhand 库存 存货
invoice bill billing 发票 账单
payment paid settle transaction 付款 支付 缴费
refund return reimbursement 退款 退货
shipment shipping delivery dispatch 发货 配送 物流 运输
city town 城市
country nation 国家
region area territory province state 地区 区域 省份 大区
address location place site 地址 地点 位置
date day time when 日期 时间 何时
month monthly 月份 每月 按月
year yearly annual 年份 年度 每年
quantity count number units volume 数量 件数 个数
name title label 名称 姓名 名字 标题
phone telephone mobile 电话 手机
email mail 邮箱 邮件
status state stage 状态 阶段
type kind category class genre 类型 类别 分类 品类
user member person 用户 成员
ticket case issue complaint 工单 投诉 问题
campaign promotion marketing 活动 营销 推广
budget plan target quota 预算 计划 目标 指标
contract agreement deal 合同 协议
project program 项目
machine equipment device asset 设备 机器 资产
defect fault failure scrap 缺陷 故障 不良 次品
profit margin gain 利润 毛利
discount rebate coupon voucher 折扣 优惠 优惠券
tax duty vat 税 税额 税率
debt receivable owed outstanding overdue 应收 欠款 逾期
teacher instructor lecturer trainer 教师 老师 讲师 培训师
student pupil learner 学生 学员
course training lesson class 课程 培训
patient 患者 病人
doctor physician 医生 医师
score grade rating mark 分数 评分 成绩 得分
leave absence vacation holiday 请假 休假 假期
hire join onboard recruit 入职 招聘 聘用
leave quit resign terminate 离职 辞职
store shop outlet branch 门店 店铺 分店
click view visit traffic impression 点击 浏览 访问 曝光
gender sex 性别
birthday birth age 生日 出生 年龄
manager boss supervisor lead 经理 主管 上级
currency exchange 币种 货币 汇率
balance remaining 余额 结余
weight mass 重量
duration length hours minutes 时长 工时 耗时
average mean 平均
"""
