"""Finds the tables and columns a question is about, when the whole catalogue does not fit.

An inverted index over names, comments and sampled values ranks tables by BM25F. A table gains a
share of what its neighbours by foreign key have, so that one which joins two hits rises with them.
Names are split where CamelCase, snake_case and digits change; Chinese becomes single characters and
pairs; synonyms join business words of both languages. A company's own words belong in the comments
of its tables. SQLite's FTS5 splits neither CamelCase nor Chinese, and DuckDB's full-text search is
an extension from the network.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

from dataagent_core.data.catalogue.describe import families
from dataagent_core.data.types import Catalogue, Column, Table

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


_PIECE = re.compile(r"[一-鿿㐀-䶿]+|[^\W\d_一-鿿㐀-䶿]+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CHINESE = re.compile(r"[一-鿿㐀-䶿]")


def words(text: str) -> list[str]:
    """The words of a text, in order, each in the form it is searched by."""
    return list(_words(text))


@lru_cache(maxsize=50_000)  # names and comments come again and again in a catalogue
def _words(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text)):
        if _CHINESE.match(piece):
            found += _chinese(piece)
        else:
            found += [stem(part.lower()) for part in _HUMP.split(piece)]
    return tuple(word for word in found if word not in _stop_words())


def _chinese(run: str) -> list[str]:
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]


def stem(word: str) -> str:
    """An English word without the ending of its plural or tense."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending, instead in (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _undoubled(word[: -len(ending)] + instead)
    if word.endswith("es") and word[:-2].endswith(("s", "x", "z", "ch", "sh")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _undoubled(word: str) -> str:
    is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
    word = word[:-1] if is_doubled else word
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def synonyms(text: str) -> set[str]:
    """Words that mean about the same as those of the text, in both languages."""
    own = set(words(text))
    found: set[str] = set()
    for english, chinese in _groups():
        is_meant = own & english or any(word in text for word in chinese)
        if is_meant:
            found |= english.union(*(words(word) for word in chinese))
    return {word for word in found - own if len(word) > 1}


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(STOP_WORDS.split())


@cache
def _groups() -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    groups: list[tuple[frozenset[str], tuple[str, ...]]] = []
    for line in SYNONYMS.strip().splitlines():
        members = line.split()
        english = frozenset(stem(word) for word in members if word.isascii())
        groups.append((english, tuple(word for word in members if not word.isascii())))
    return tuple(groups)


_SATURATION = 1.2
_LENGTH_COUNTS = 0.35
_WEIGHTS = {
    "name": 5.0,
    "comment": 4.0,
    "column name": 2.0,
    "column comment": 1.5,
    "value": 1.0,
}
_RELATED_WEIGHT = 0.4
_SINGLE_CHARACTER_WEIGHT = 0.15
_ONE_CHINESE = re.compile(r"[一-鿿㐀-䶿]")

SearchField = str  # a key of _WEIGHTS
Documents = dict[int, dict[SearchField, Counter[str]]]


@dataclass(frozen=True, slots=True)
class Match:
    """How well something fits a query, and by which words, each with where it stands."""

    score: float
    matched_words: Mapping[str, SearchField]


class Bm25Index:
    """Numbered documents whose words stand in places of different weight."""

    def __init__(self, documents: Documents) -> None:
        self._size = max(len(documents), 1)
        self._postings: dict[str, list[tuple[int, float, SearchField]]] = defaultdict(list)
        usual = _usual_lengths(documents)
        for number, places in documents.items():
            for word, (weight, place) in _weighted(places, usual).items():
                self._postings[word].append((number, weight, place))

    def match(self, query: Mapping[str, float]) -> dict[int, Match]:
        """The documents that share a word with the query, whose words carry weights."""
        scores: dict[int, float] = defaultdict(float)
        matched_words: dict[int, dict[str, SearchField]] = defaultdict(dict)
        for word, importance in query.items():
            postings = self._postings.get(word, [])
            rarity = math.log(1 + (self._size - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, weight, place in postings:
                scores[number] += importance * rarity * weight / (_SATURATION + weight)
                matched_words[number][word] = place
        return {number: Match(score, matched_words[number]) for number, score in scores.items()}


def _usual_lengths(documents: Documents) -> dict[SearchField, float]:
    totals: Counter[SearchField] = Counter()
    for places in documents.values():
        for place, counts in places.items():
            totals[place] += counts.total()
    return {place: max(total / len(documents), 1.0) for place, total in totals.items()}


def _weighted(
    places: Mapping[SearchField, Counter[str]], usual: Mapping[SearchField, float]
) -> dict[str, tuple[float, SearchField]]:
    """Each word's weight in a document, with the place that gave most of it."""
    found: dict[str, tuple[float, float, SearchField]] = {}
    for place, counts in places.items():
        length = 1 - _LENGTH_COUNTS + _LENGTH_COUNTS * counts.total() / usual[place]
        for word, times in counts.items():
            part = _WEIGHTS[place] * times / length
            total, largest, where = found.get(word, (0.0, 0.0, place))
            found[word] = (
                total + part,
                max(largest, part),
                place if part > largest else where,
            )
    return {word: (total, where) for word, (total, _largest, where) in found.items()}


class CatalogueIndex:
    """A catalogue's tables, and its columns, each as an index."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.tables = catalogue.tables
        self.common_columns = _common_columns(catalogue)
        self.family_of = {
            table.key: family for family in families(self.tables) for table in family.members
        }
        self._of_tables = Bm25Index(
            {number: _table_document(table) for number, table in enumerate(self.tables)}
        )
        self._columns = [
            (number, column) for number, table in enumerate(self.tables) for column in table.columns
        ]
        self._of_columns = Bm25Index(
            {at: _column_document(column) for at, (_table, column) in enumerate(self._columns)}
        )

    def match_tables(self, query: Mapping[str, float]) -> dict[int, Match]:
        """Tables by their number that fit the query."""
        return self._of_tables.match(query)

    def match_columns(self, query: Mapping[str, float]) -> dict[tuple[int, str], Match]:
        """Columns, by their table's number and their name, that fit the query."""
        matches = self._of_columns.match(query)
        return {
            (self._columns[at][0], self._columns[at][1].name): match
            for at, match in matches.items()
        }


def _common_columns(catalogue: Catalogue) -> frozenset[str]:
    """Columns that most tables have (who wrote a row, and when): seldom what is asked for."""
    times = Counter(column.name for table in catalogue.tables for column in table.columns)
    return frozenset(name for name, count in times.items() if count * 2 > len(catalogue.tables) > 2)


def weighted_query(text: str) -> dict[str, float]:
    """The words to look for, with how much each counts."""
    query = dict.fromkeys(synonyms(text), _RELATED_WEIGHT)
    for word in words(text):
        is_part = len(word) == 1 and _ONE_CHINESE.match(word) is not None
        query[word] = _SINGLE_CHARACTER_WEIGHT if is_part else 1.0
    return query


def _table_document(table: Table) -> dict[SearchField, Counter[str]]:
    return {
        "name": _count([table.key]),
        "comment": _count([table.comment or ""]),
        "column name": _count(column.name for column in table.columns),
        "column comment": _count(column.comment or "" for column in table.columns),
        "value": _count(value for column in table.columns for value in column.samples),
    }


def _column_document(column: Column) -> dict[SearchField, Counter[str]]:
    return {
        "column name": _count([column.name]),
        "column comment": _count([column.comment or ""]),
        "value": _count(column.samples),
    }


def _count(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in words(text))


MOST_COLUMNS = 40
_NEIGHBOUR_SHARE = 0.45
_COLUMN_SHARE = 0.5
_MUST_JOIN = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A table that fits, its columns best first, and why."""

    table_key: str
    columns: tuple[str, ...]
    score: float
    why: str


def search(
    catalogue: Catalogue, query: str, limit: int = 8, *, max_columns: int = MOST_COLUMNS
) -> list[Hit]:
    """The tables that fit a question in English or Chinese, best first; empty if none does.

    A table brings all its columns if they are at most `max_columns`, else its keys and those that
    fit best: a column too many costs less than one that is missing.
    """
    index = _index_of(catalogue)
    weights = weighted_query(query)
    of_tables, of_columns = index.match_tables(weights), index.match_columns(weights)
    own = _scores(of_tables, of_columns)
    if not own or limit < 1:
        return []
    joins = _joins(index.tables)
    scores = _with_neighbours(own, joins)
    for number, gained in _pointed_at(index.tables, of_columns).items():
        scores[number] = scores.get(number, 0.0) + gained
    chosen = _chosen(_one_of_each_family(scores, index), joins, limit)
    by_table: dict[int, dict[str, Match]] = defaultdict(dict)
    for (number, name), match in of_columns.items():
        by_table[number][name] = match
    return [
        Hit(
            table_key=index.tables[number].key,
            columns=_columns(
                index.tables[number], by_table[number], max_columns, index.common_columns
            ),
            score=round(scores.get(number, 0.0), 3),
            why=_why(number, of_tables.get(number), index, joins, chosen),
        )
        for number in chosen
    ]


@lru_cache(maxsize=16)
def _index_of(catalogue: Catalogue) -> CatalogueIndex:
    """By the whole content, not by hash: readers with different rights have different ones."""
    return CatalogueIndex(catalogue)


def _scores(
    tables: Mapping[int, Match], columns: Mapping[tuple[int, str], Match]
) -> dict[int, float]:
    best: dict[int, float] = defaultdict(float)
    for (number, _name), match in columns.items():
        best[number] = max(best[number], match.score)
    return {n: match.score + _COLUMN_SHARE * best[n] for n, match in tables.items()}


def _joins(tables: tuple[Table, ...]) -> dict[int, set[int]]:
    numbers = {table.key.casefold(): number for number, table in enumerate(tables)}
    joins: dict[int, set[int]] = defaultdict(set)
    for number, table in enumerate(tables):
        for key in table.foreign_keys:
            target = numbers.get(key.target_table.casefold())
            if target is not None and target != number:
                joins[number].add(target)
                joins[target].add(number)
    return joins


def _with_neighbours(own: Mapping[int, float], joins: Mapping[int, set[int]]) -> dict[int, float]:
    scores = dict(own)
    for number, neighbours in joins.items():
        nearest = sorted((own.get(each, 0.0) for each in neighbours), reverse=True)[:2]
        gained = _NEIGHBOUR_SHARE * sum(nearest) / 2
        if gained:
            scores[number] = own.get(number, 0.0) + gained
    return scores


def _pointed_at(
    tables: tuple[Table, ...], columns: Mapping[tuple[int, str], Match]
) -> dict[int, float]:
    """What a table gains from the best fitting column that points at it: it holds the names."""
    numbers = {table.key.casefold(): number for number, table in enumerate(tables)}
    gained: dict[int, float] = defaultdict(float)
    for number, table in enumerate(tables):
        for key in table.foreign_keys:
            target = numbers.get(key.target_table.casefold())
            fits = [columns[number, c].score for c in key.columns if (number, c) in columns]
            if target is not None and fits:
                gained[target] = max(gained[target], _NEIGHBOUR_SHARE * max(fits))
    return gained


def _one_of_each_family(scores: Mapping[int, float], index: CatalogueIndex) -> dict[int, float]:
    """Of tables that are alike the one that fits best, the last of several: else they fill up."""
    best: dict[str, int] = {}
    for number in sorted(scores, key=lambda each: (scores[each], each)):
        best[index.family_of[index.tables[number].key].label] = number
    return {number: scores[number] for number in best.values()}


def _chosen(scores: Mapping[int, float], joins: Mapping[int, set[int]], limit: int) -> list[int]:
    """The best tables, with those in between that join the very best; at most `limit`."""
    ranked = sorted(scores, key=lambda number: (-scores[number], number))
    must = ranked[: min(_MUST_JOIN, limit)]
    for one, other in combinations(must[:], 2):
        if other in joins.get(one, set()):
            continue
        between = joins.get(one, set()) & joins.get(other, set())
        if between and not between & set(must) and len(must) < limit:
            must.append(max(between, key=lambda number: (scores.get(number, 0.0), -number)))
    rest = [number for number in ranked if number not in must]
    chosen = [*must, *rest][:limit]
    return sorted(chosen, key=lambda number: (-scores.get(number, 0.0), number))


def _columns(
    table: Table, matches: Mapping[str, Match], most: int, common: Set[str]
) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}

    def rank(name: str) -> tuple[float, bool, bool]:
        fit = matches[name].score if name in matches else 0.0
        return -fit, name not in keys, name in common

    best = sorted(names, key=rank)
    others = [name for name in best if name not in keys]
    limit = max(most - len(best) + len(others), most // 2)  # keys may take half, not all
    chosen = {*others[:limit]}
    chosen |= {*[name for name in best if name in keys][: most - len(chosen)]}
    return tuple(name for name in best if name in chosen)


def _why(
    number: int,
    match: Match | None,
    index: CatalogueIndex,
    joins: Mapping[int, set[int]],
    chosen: list[int],
) -> str:
    reasons: list[str] = []
    family = index.family_of[index.tables[number].key]
    if len(family.members) > 1:
        reasons.append(f"one of {len(family.members)} alike, {family.label}")
    if match is None:
        joined = [index.tables[each].key for each in chosen if each in joins.get(number, set())]
        return "; ".join([*reasons, f"joins {', '.join(joined)}"])
    places: dict[str, list[str]] = defaultdict(list)
    for word, place in match.matched_words.items():
        places[place].append(word)
    reasons += [f"{place}: {', '.join(found[:5])}" for place, found in places.items()]
    return "; ".join(reasons)
