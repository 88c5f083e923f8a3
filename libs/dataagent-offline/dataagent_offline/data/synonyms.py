"""Words that mean the same: nouns of business in English and Chinese, and names of values.

`nouns` links a word of a question to a name in a schema that uses another word for it. `names`
links a value as it is said (`德国`, `German`) to the ways it may be stored (`Germany`). Neither
claims that a table or a value exists: the schema and the data decide that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from dataagent_offline.data.words import keys

_NOUNS: Final = (
    "customer, client, buyer, 客户, 顾客, 买家, 消费者", "user, 用户", "member, 会员",
    "employee, staff, worker, 员工, 雇员, 职员, 职工", "invoice, bill, 发票, 账单", "order, 订单",
    "track, song, 歌曲, 曲目, 音轨, 单曲, 歌", "album, 专辑, 唱片",
    "artist, singer, band, musician, 艺术家, 歌手, 艺人, 乐队, 音乐人",
    "genre, 流派, 曲风, 音乐类型, 风格, 类型, 音乐流派", "playlist, 播放列表, 歌单",
    "media type, 媒体类型, 媒体格式", "country, nation, 国家, 国别, 国", "city, town, 城市",
    "state, province, 州, 省, 省份", "region, territory, 地区, 区域, 大区", "company, 公司, 企业",
    "department, dept, 部门", "product, 产品, 商品", "salary, wage, 工资, 薪水, 薪资, 薪酬, 月薪",
    "category, 类别, 品类, 分类, 种类", "unit price, 单价", "price, 价格, 售价",
    "quantity, qty, 数量, 件数", "name, 名称, 名字, 姓名", "title, 标题",
    "job title, position, job, 职位, 职务, 岗位", "first name, given name",
    "last name, surname, family name, 姓氏", "email, mail, 邮箱, 电子邮件",
    "phone, telephone, 电话", "address, 地址", "composer, 作曲家, 作曲者, 作曲",
    "postal code, zip code, zip, 邮编",
    "milliseconds, duration, length, playing time, 时长, 长度, 播放时长",
    "bytes, size, file size, 文件大小, 大小", "date, 日期",
    "birth date, birthday, date of birth, 生日, 出生日期", "hire date, 入职日期, 雇佣日期",
    "order date, 下单日期, 订单日期", "invoice date, 发票日期, 开票日期",
    "supplier, vendor, 供应商", "store, shop, 门店, 店铺, 商店", "warehouse, 仓库",
    "payment, 付款, 支付", "amount, 金额, 总金额, 总额", "total, 总额, 总金额, 金额, amount",
    "discount, 折扣", "cost, 成本", "profit, 利润", "stock, inventory, 库存", "student, 学生",
    "teacher, 教师, 老师", "course, 课程", "school, 学校", "class, 班级",
    "score, grade, 成绩, 分数", "project, 项目", "team, 团队", "manager, 经理, 主管", "age, 年龄",
    "gender, sex, 性别", "status, 状态", "channel, 渠道", "brand, 品牌", "rating, 评分",
    "invoice line, invoice item, 发票明细, 明细", "order item, order line, order detail, 订单明细",
    "active, 活跃, 激活, 启用", "enabled, 启用, 已启用", "valid, 有效", "deleted, 已删除",
    "verified, 已验证, 已认证", "paid, 已付款, 已支付", "shipped, 已发货", "completed, 已完成",
    "cancelled, canceled, 已取消", "support rep, sales rep, 客服, 销售代表",
)  # fmt: skip

_NAMES: Final = (
    "Germany, Deutschland, 德国, German", "France, 法国, French",
    "USA, United States, United States of America, America, 美国, American, U.S.A., the US",
    "United Kingdom, UK, Great Britain, Britain, 英国, British, U.K.", "England, 英格兰, English",
    "Canada, 加拿大, Canadian", "Brazil, Brasil, 巴西, Brazilian", "China, 中国",
    "Japan, 日本, Japanese", "India, 印度, Indian", "Italy, 意大利, Italian",
    "Spain, 西班牙, Spanish", "Portugal, 葡萄牙, Portuguese", "Netherlands, Holland, 荷兰, Dutch",
    "Belgium, 比利时, Belgian", "Austria, 奥地利, Austrian", "Switzerland, 瑞士, Swiss",
    "Poland, 波兰, Polish", "Czech Republic, Czechia, 捷克, 捷克共和国, Czech",
    "Hungary, 匈牙利, Hungarian", "Denmark, 丹麦, Danish", "Sweden, 瑞典, Swedish",
    "Norway, 挪威, Norwegian", "Finland, 芬兰, Finnish", "Ireland, 爱尔兰, Irish",
    "Australia, 澳大利亚, 澳洲, Australian", "New Zealand, 新西兰",
    "Argentina, 阿根廷, Argentinian", "Chile, 智利, Chilean", "Mexico, 墨西哥, Mexican",
    "Russia, 俄罗斯, Russian", "South Korea, Korea, 韩国, Korean", "Singapore, 新加坡",
    "Thailand, 泰国, Thai", "Vietnam, 越南, Vietnamese", "Malaysia, 马来西亚",
    "Indonesia, 印度尼西亚, 印尼", "Turkey, 土耳其, Turkish", "Greece, 希腊, Greek",
    "South Africa, 南非", "Egypt, 埃及, Egyptian", "Israel, 以色列",
    "Saudi Arabia, 沙特, 沙特阿拉伯", "Colombia, 哥伦比亚", "Peru, 秘鲁", "Berlin, 柏林",
    "Paris, 巴黎", "London, 伦敦", "New York, 纽约", "Tokyo, 东京", "Beijing, 北京, 北京市",
    "Shanghai, 上海, 上海市", "Shenzhen, 深圳, 深圳市", "Guangzhou, 广州, 广州市",
    "Hangzhou, 杭州, 杭州市", "Chengdu, 成都, 成都市", "Prague, 布拉格", "Vienna, 维也纳",
    "Rome, 罗马", "Madrid, 马德里", "Amsterdam, 阿姆斯特丹", "Sydney, 悉尼",
    "Munich, München, 慕尼黑", "Frankfurt, 法兰克福", "Stuttgart, 斯图加特", "Hong Kong, 香港",
    "Taiwan, 台湾", "Rock, 摇滚, 摇滚乐", "Jazz, 爵士, 爵士乐", "Metal, 金属, 金属乐",
    "Heavy Metal, 重金属", "Latin, 拉丁, 拉丁音乐, 拉丁乐", "Pop, 流行, 流行音乐, 流行乐",
    "Classical, 古典, 古典音乐, 古典乐", "Blues, 蓝调, 布鲁斯", "Reggae, 雷鬼", "Alternative, 另类",
    "Soundtrack, 原声, 原声带", "World, 世界音乐", "Hip Hop/Rap, 嘻哈, 说唱, Hip Hop, Rap",
    "Opera, 歌剧", "Comedy, 喜剧", "Alternative & Punk, 另类朋克, 朋克", "Country, 乡村, 乡村音乐",
    "Folk, 民谣", "R&B/Soul, 节奏布鲁斯, 灵魂乐, R&B, Soul", "Easy Listening, 轻音乐",
    "Drama, 剧情", "Electronica/Dance, 电子舞曲, 电子", "Science Fiction, 科幻",
    "Rock And Roll, 摇滚乐与摇摆", "male, 男, 男性", "female, 女, 女性", "online, 线上",
    "offline, 线下",
)  # fmt: skip


@lru_cache(maxsize=1)
def nouns() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Keys of a noun → the other words for it."""
    return _groups(_NOUNS)


@lru_cache(maxsize=1)
def names() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Keys of a value's name → all names of that value."""
    return _groups(_NAMES)


def _groups(rows: tuple[str, ...]) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        words = tuple(word.strip() for word in row.split(","))
        for word in words:
            found[keys(word)] = (*found.get(keys(word), ()), *words)
    return found
