"""The fixed words of a question, English and Chinese, and how text is cut into atoms.

A word that is not here, not in the schema and not a value is not understood; so nothing that
changes a meaning may stand under `noise`. Words of a kind of question that is out of reach stand
under `refused`, with the reason. Questions, names of a schema and values are cut in the same way,
so that `unit prices`, `UnitPrice` and `unit_price` meet. Synonyms link a word of a question to the
names and values that a schema may use for it (`德国`, `German`, `Germany`); whether a table or a
value exists is decided by the schema and the data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dataagent_offline.data.terms import Role, Word

_ATOM: Final = re.compile(
    r"(?P<number>(?:(?<![A-Za-z\d_.)])-)?\d++(?:,\d{3}(?!\d))*+(?:\.\d++)?+(?:\s?[%‰])?)"
    r"|(?P<han>[\u4e00-\u9fff])"
    r"|(?P<word>[^\W\d_\u4e00-\u9fff]++)(?:['’]s(?![^\W\d_]))?+"
)
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_MOST_DIGITS: Final = 15
"""What a float holds exactly. A longer number would be another one in the query."""
_SIBILANTS: Final = ("s", "x", "z", "ch", "sh")


@dataclass(frozen=True, slots=True)
class Atom:
    """A piece of text that is matched as a whole; `start` and `end` are positions in it."""

    text: str
    key: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Whether it is a number in digits that can be kept to the last one; `10%` is none."""
        digits = self.key.removeprefix("-").replace(".", "")
        return digits.isdecimal() and len(digits) <= _MOST_DIGITS


def normal(text: str) -> str:
    """The text with full-width letters and digits and the minus of typesetters made plain."""
    return unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-")


def has_han(text: str) -> bool:
    """Whether there is a Chinese character in it."""
    return bool(_HAN.search(text))


def atoms(text: str) -> list[Atom]:
    """All atoms of a text, in order. Punctuation is left out."""
    found: list[Atom] = []
    for match in _ATOM.finditer(text):
        if match.lastgroup == "word":
            found.extend(_cut(match["word"], match.start("word")))
        else:
            found.append(Atom(match[0], match[0].replace(",", ""), match.start(), match.end()))
    return found


@lru_cache(maxsize=65536)
def keys(text: str) -> tuple[str, ...]:
    """The keys of a text's atoms: what two spellings of one name have in common."""
    return tuple(atom.key for atom in atoms(normal(text)))


def stem(word: str) -> str:
    """A word as singular and plural share it: `cities`, `city`; `boxes`, `box`; `Köln`, `koln`."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", word.casefold())
        if not unicodedata.combining(letter)
    )
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")):
        plain = plain[:-1]
    if len(plain) > 3 and plain.endswith("y") and plain[-2] not in "aeiou":
        plain = f"{plain[:-1]}ie"
    if len(plain) > 3 and plain.endswith("e") and plain[:-1].endswith(_SIBILANTS):
        plain = plain[:-1]
    return plain


def is_plural(word: str) -> bool:
    """Whether an English word looks like more than one."""
    lower = word.casefold()
    return len(lower) > 3 and lower.endswith("s") and not lower.endswith(("ss", "us", "is"))


def _cut(word: str, start: int) -> list[Atom]:
    """The parts of a word in CamelCase; most words are one part."""
    found: list[Atom] = []
    for part in _CAMEL.split(word):
        found.append(Atom(part, stem(part), start, start + len(part)))
        start += len(part)
    return found


_ENGLISH: Final[tuple[tuple[Role, str, str], ...]] = (
    ("noise", "", "the, a, an, of, is, are, was, were, be, been, do, does, did, in, for, from,"
     " at, on, within, i, we, our, ours, my, me, you, your, there, please, show, show me,"
     " give, tell, find, get, display, see, want, need, want to know, like to know, would,"
     " could, can, let, calculate, compute, total up, their, its, they, come from, comes from,"
     " live, live in, living, based, located, placed, made, belong to, belongs to, issued,"
     " data, database, record, records, rows, row, exist, exists, altogether, in total,"
     " overall, so far, ranked, sorted, shown, broken down, break down, breakdown, split, s,"
     " how, us all, information, info, as well, amounts to, come, came, go, went, happen,"
     " happened, whose, registered, recorded, stored, listed, available, been made, generated,"
     " generate, earned, work, works, working, earn, make, makes, made in, hi, hello, ok,"
     " okay, thanks, thank you"),
    ("ask", "", "what, what's, what is the, what are the"),
    ("all", "", "all, every single, any, all the, for all, in all, across all"),
    ("and", "", "and, or, as well as, plus"),
    ("with", "", "with, have, has, had, having, who have, that have"),
    ("count", "", "how many, number of, the number of, count, count of, counts of, counts,"
     " how many times"),
    ("how_much", "", "how much, how much money"),
    ("agg", "sum", "total, sum, in sum, combined"),
    ("agg", "avg", "average, avg, mean, on average"),
    ("agg", "min", "minimum, min"),
    ("agg", "max", "maximum, max"),
    ("take", "desc", "top, the top, best, leading"),
    ("take", "asc", "bottom, the bottom, worst"),
    ("order", "desc", "highest, largest, biggest, greatest, most, the most, largest number of,"
     " highest number of, most number of, greatest number of"),
    ("order", "asc", "lowest, smallest, least, fewest, the least, the fewest,"
     " smallest number of, lowest number of, fewest number of"),
    ("order", "desc all", "in descending order, descending, from high to low, highest first"),
    ("order", "asc all", "in ascending order, ascending, from low to high, lowest first"),
    ("extreme", "desc duration", "longest"),
    ("extreme", "asc duration", "shortest"),
    ("extreme", "desc price", "most expensive, priciest, dearest"),
    ("extreme", "asc price", "cheapest, least expensive"),
    ("extreme", "desc salary", "best paid, highest paid"),
    ("extreme", "asc salary", "worst paid, lowest paid"),
    ("extreme", "desc date", "latest, newest, most recent"),
    ("extreme", "asc date", "earliest, oldest"),
    ("by", "", "by, per, each, every, for each, for every, in each, in every, of each,"
     " by each, grouped by, group by, broken down by, split by, depending on, across,"
     " from each, break it down by, break that down by, break down by"),
    ("bucket", "month", "month, by month, monthly, per month, each month, month by month,"
     " a month"),
    ("bucket", "year", "year, by year, yearly, per year, each year, annual, annually, a year,"
     " year by year"),
    ("bucket", "quarter", "quarter, by quarter, quarterly, per quarter, each quarter,"
     " a quarter"),
    ("bucket", "day", "day, by day, daily, per day, each day, day by day, a day"),
    ("trend", "", "trend, trends, over time, over the months, development, time series"),
    ("list", "", "list, list all, which are there, names of, the names of, what kinds of,"
     " what kind of, what types of, enumerate, name all"),
    ("which", "", "which"),
    ("people", "who", "who"),
    ("people", "count", "people, persons, person"),
    ("distinct", "", "different, distinct, unique"),
    ("chart", "", "chart, as a chart, in a chart, as chart, plot, plot it, plot this,"
     " plot that, chart it, chart this, chart that, graph, as a graph, as a plot, draw,"
     " draw it, draw a chart, visualize, visualise, visualize it, visualise it, visualization,"
     " diagram, a chart of, a graph of, show it as a chart, show this as a chart,"
     " show that as a chart, with a chart, and a chart, as an image, picture, make a chart,"
     " chart of, plot of, graph of"),
    ("chart", "bar", "bar chart, as a bar chart, bar graph, bars, column chart, as bars"),
    ("chart", "line", "line chart, as a line chart, line graph, as a line, as lines"),
    ("chart", "arc", "pie chart, as a pie chart, pie, as a pie, donut chart, donut"),
    ("chart", "point", "scatter plot, scatter chart, as points"),
    ("table_format", "", "as a table, as table, in a table, a table of, no chart,"
     " without a chart"),
    ("compare", "", "compare, compared to, compared with, versus, vs, against, comparison,"
     " comparison of, difference between"),
    ("verb", "buy", "bought, buy, buys, purchased, purchase, buying, purchases made by"),
    ("verb", "sell", "sold, sell, were sold, been sold, was sold"),
    ("trade", "sell desc", "best selling, bestselling, best seller, bestseller, top selling,"
     " topselling, top seller, most selling, selling best, selling most, selling the most,"
     " selling the best"),
    ("trade", "sell asc", "worst selling, least selling, selling worst, selling least,"
     " selling the least, selling the worst, worst seller"),
    ("trade", "sell", "selling"),
    ("measure", "sales", "sales, revenue, revenues, turnover, sales amount,"
     " sales volume in money, sales revenue, sales total, sales figures, money made, spend,"
     " spent, spending, pay, paid, spends, amount spent, money spent, sales value,"
     " income from sales"),
    ("measure", "units", "units sold, quantity sold, units, copies sold, items sold,"
     " pieces sold, quantities sold, number of units sold, number of units,"
     " number of copies sold, sales quantity, unit sales, number of items sold"),
    ("op", "gt", "more than, greater than, over, above, higher than, larger than, exceeding,"
     " exceeds, longer than, bigger than"),
    ("op", "ge", "at least, no less than, not less than, or more"),
    ("op", "lt", "less than, fewer than, under, below, lower than, smaller than, shorter than"),
    ("op", "le", "at most, no more than, not more than, up to, or less"),
    ("op", "eq", "equal to, equals, exactly equal to"),
    ("between", "", "between"),
    ("not", "", "not, except, except for, excluding, other than, not in, not from, apart from,"
     " outside, outside of, but not, exclude"),
    ("range", "ge", "since, starting in, starting, from the beginning of"),
    ("range", "gt", "after"),
    ("range", "lt", "before, prior to"),
    ("range", "le", "until, through, till"),
    ("to", "", "to"),
    ("schema", "tables", "table, tables, which tables, what tables, data sources, data source"),
    ("schema", "columns", "column, columns, field, fields, schema, structure, describe,"
     " attributes"),
    ("follow", "", "for all, in all, across all, what about, how about, only, only for, just,"
     " just for, instead, also, now, then, too, but, it, this, that, them, these, those, same,"
     " the same, again, and what about, and how about, and only, and only for, and just,"
     " make it, make that, limit to, limit it to, restrict to, filter to, filter by,"
     " filter for, same for, the same for, narrow it down to, narrow to, change it to,"
     " switch to"),
    ("refused", "relative", "today, yesterday, tomorrow, this year, last year, next year,"
     " this month, last month, next month, this week, last week, this quarter, last quarter,"
     " ago, recently, recent, currently, year to date, ytd, past year, past month,"
     " previous year, previous month, last few, past few, the last, last, past, previous, next"),
    ("refused", "calendar", "week, weeks, weekly, weekend, weekends, weekday, weekdays,"
     " summer, winter, spring, autumn, season, seasons, morning, evening, hour,"
     " hours of the day, hourly"),
    ("refused", "by_what", "popular, most popular, most successful, successful,"
     " best performing, performance, important, most important, good, better, bad, worse,"
     " hottest, favourite, favorite, loyal, most valuable"),
    ("refused", "statistics", "median, percentile, percentiles, quartile, standard deviation,"
     " stddev, variance, correlation, correlate, correlated, regression, outlier, outliers,"
     " mode, cumulative, running total, moving average, rolling, distribution, histogram"),
    ("refused", "ratio", "percent, percentage, share, shares, ratio, proportion, fraction,"
     " rate, growth, growth rate, grow, grew, grown, increase, increased, decrease, decreased,"
     " change, changed, decline, declined, drop, dropped, rise, rose, year over year,"
     " month over month"),
    ("refused", "reason", "why, because, reason, reasons, explain, cause, causes, should,"
     " recommend, suggest, forecast, predict, prediction, projected, expect, expected,"
     " trend line, insight, insights, analyse, analyze, analysis, summarise, summarize,"
     " summary, if"),
    ("refused", "absence", "without, never, no, none, nobody, lack, lacks, lacking, missing,"
     " empty, null, neither, nor, didn't, doesn't, don't, haven't, hasn't, isn't, aren't,"
     " wasn't, unsold"),
)  # fmt: skip

_CHINESE: Final[tuple[tuple[Role, str, str], ...]] = (
    ("noise", "", "的, 了, 啊, 吧, 呀, 是, 为, 有, 在, 我们, 我, 咱们, 你, 您, 请, 请问, 帮,"
     " 帮我, 麻烦, 给, 给我, 一下, 看, 看看, 查, 查询, 查一下, 查看, 统计, 统计一下, 计算,"
     " 算一下, 显示, 告诉我, 想, 想知道, 我想知道, 知道, 一共, 总共, 共, 合计, 都, 里, 里面,"
     " 中, 内, 当中, 来自, 位于, 属于, 住在, 情况, 数据, 数据库, 数据库里, 数据库中, 分别,"
     " 各自, 进行, 被, 目前为止, 来, 做, 期间, 时间段, 出, 时, 等, 吗, 这, 记录, 我要, 要, 能,"
     " 能不能, 可以, 方面, 上, 所在, 地, 之间, 公司里, 系统里, 展示, 获取, 求, 的是, 排序,"
     " 排列, 排名, 分组, 划分, 来看, 产生, 产生的, 贡献, 带来, 参与, 工作, 信息, 下的, 下"),
    ("noise", "classifier", "个, 位, 名, 首, 张, 家, 条, 种, 款, 件, 项, 笔, 只, 次, 支, 份,"
     " 台"),
    ("ask", "number", "是多少, 多少, 为多少"),
    ("ask", "", "有多大, 多大, 多高, 多长, 是什么, 几何"),
    ("all", "", "所有, 全部, 所有的, 全部的, 全体, 任何"),
    ("and", "", "和, 与, 及, 以及, 还有, 或, 或者, 跟, 同"),
    ("with", "", "拥有, 具有"),
    ("count", "", "有多少, 多少个, 多少位, 多少名, 多少首, 多少张, 多少家, 多少条, 多少种,"
     " 多少笔, 多少件, 多少款, 多少项, 几个, 几位, 几名, 几首, 几张, 几家, 几种, 几条, 几笔,"
     " 个数, 数目, 数量, 总数, 数, 有几个, 有几位, 有几种, 有几张, 有几首, 总数量, 的数量,"
     " 有多少个, 有多少位, 有多少首, 有多少张, 有多少种, 有多少家, 有多少名, 有多少条,"
     " 有多少笔, 有几家, 有几名, 有几条"),
    ("people", "count", "多少人, 人数, 有多少人, 几个人, 总人数"),
    ("how_much", "", "多少钱"),
    ("agg", "sum", "总, 总和, 总计, 总额, 求和, 总量, 合计值, 累计总"),
    ("agg", "avg", "平均, 均值, 平均值, 平均数"),
    ("agg", "avg person", "人均"),
    ("agg", "min", "最小值, 最低值"),
    ("agg", "max", "最大值, 最高值"),
    ("take", "desc", "前, 排名前, 排前, 排名前列, 前列"),
    ("take", "asc", "后, 倒数, 排名后, 末, 最后"),
    ("order", "desc", "最高, 最大, 最多, 最高的, 最多的, 最大的"),
    ("order", "asc", "最低, 最小, 最少, 最低的, 最少的, 最小的"),
    ("order", "desc all", "从高到低, 从大到小, 从多到少, 降序, 倒序"),
    ("order", "asc all", "从低到高, 从小到大, 从少到多, 升序"),
    ("extreme", "desc duration", "最长, 最长的"),
    ("extreme", "asc duration", "最短, 最短的"),
    ("extreme", "desc price", "最贵, 最贵的"),
    ("extreme", "asc price", "最便宜, 最便宜的"),
    ("extreme", "desc date", "最新, 最新的, 最晚, 最近的"),
    ("extreme", "asc date", "最早, 最早的"),
    ("by", "", "按, 按照, 每, 每个, 每位, 每名, 每家, 每张, 每首, 每种, 每一个, 每一位, 各,"
     " 各个, 各类, 依, 根据, 分, 不同, 各种, 每条, 每笔, 按每个, 按各"),
    ("bucket", "month", "月, 月份, 按月, 每月, 每个月, 逐月, 各月, 月度, 按月份, 各个月, 分月"),
    ("bucket", "year", "年, 年份, 按年, 每年, 逐年, 各年, 年度, 按年份, 按年度, 分年, 历年"),
    ("bucket", "quarter", "季度, 按季度, 每季度, 每个季度, 各季度, 按季, 每季, 季, 分季度"),
    ("bucket", "day", "日, 天, 按天, 按日, 每天, 每日, 逐日, 各天"),
    ("trend", "", "趋势, 走势, 变化趋势, 随时间, 变化"),
    ("list", "", "列出, 有哪些, 哪些, 有什么, 都有哪些, 都有什么, 分别有哪些, 清单, 列表, 名单"),
    ("which", "", "哪个, 哪位, 哪一个, 哪家, 哪种, 哪首, 哪张, 哪名, 哪一位, 哪一, 什么, 哪"),
    ("people", "who", "谁"),
    ("distinct", "", "不重复, 去重"),
    ("chart", "", "图, 图表, 画图, 画成图, 作图, 绘图, 画出来, 画成图表, 图形, 可视化, 做成图,"
     " 画个图, 用图表, 用图表示, 画, 绘制, 绘制图表, 用图, 画一下, 画张图, 用图表显示, 出图,"
     " 生成图表, 图表展示"),
    ("chart", "bar", "柱状图, 条形图, 柱形图, 画成柱状图, 用柱状图, 画柱状图"),
    ("chart", "line", "折线图, 线图, 曲线图, 画成折线图, 趋势图, 用折线图, 画折线图, 折线"),
    ("chart", "arc", "饼图, 饼状图, 画成饼图, 用饼图, 画饼图"),
    ("table_format", "", "用表格, 表格, 做成表格, 以表格显示, 不要图"),
    ("compare", "", "对比, 比较, 相比, 比较一下, 对比一下"),
    ("verb", "buy", "购买, 买, 买过, 买了, 购买过, 购买了, 下单"),
    ("verb", "sell", "卖, 卖出, 售出, 卖了, 卖出了, 卖掉, 销售了, 卖过"),
    ("trade", "sell desc", "畅销, 最畅销, 热销, 最热销, 卖得最好, 卖的最好, 卖得最多, 卖的最多"),
    ("trade", "sell asc", "滞销, 最滞销, 卖得最差, 卖的最差, 卖得最少, 卖的最少"),
    ("trade", "buy desc", "买得最多, 买的最多, 购买得最多, 购买的最多"),
    ("trade", "buy asc", "买得最少, 买的最少, 购买得最少, 购买的最少"),
    ("measure", "sales", "销售额, 销售总额, 总销售额, 营收, 营业额, 销售金额, 销售收入, 销售,"
     " 成交额, 消费额, 消费金额, 花费, 消费, 消费总额, 总收入, 收入, 销售总金额, 业绩, 流水,"
     " 花了, 总消费"),
    ("measure", "units", "销量, 销售量, 销售数量, 售出数量, 总销量, 卖出数量, 销售件数"),
    ("op", "gt", "超过, 大于, 高于, 多于, 长于"),
    ("op", "ge", "至少, 不少于, 不低于, 大于等于, 不小于, 以上"),
    ("op", "lt", "小于, 低于, 少于, 不到, 不足, 短于"),
    ("op", "le", "至多, 最多不超过, 不超过, 不高于, 不多于, 小于等于, 不大于, 以下, 以内"),
    ("op", "eq", "等于"),
    ("between", "", "介于"),
    ("not", "", "除了, 除去, 不包括, 不含, 不是, 非, 除, 排除, 除开, 不在, 以外, 之外"),
    ("range", "ge", "以来, 自, 从, 起, 开始, 自从, 至今, 及以后"),
    ("range", "gt", "之后, 以后"),
    ("range", "lt", "之前, 以前"),
    ("range", "le", "截至, 截止"),
    ("to", "", "到, 至, 直到"),
    ("schema", "tables", "表, 数据表, 张表, 个表, 哪些表, 什么表, 数据源"),
    ("schema", "columns", "列, 字段, 结构, 表结构, 哪些列, 哪些字段, 属性"),
    ("follow", "", "呢, 那, 那么, 只看, 仅看, 只, 仅, 只要, 只有, 换成, 改成, 改为, 再, 也,"
     " 同样, 它, 他们, 这些, 这个, 那个, 如果只看, 只统计, 限定, 筛选, 只显示, 只算, 就看,"
     " 单看, 换, 只保留"),
    ("refused", "relative", "今天, 昨天, 明天, 今年, 去年, 明年, 前年, 本月, 上个月, 上月,"
     " 下个月, 本周, 上周, 本季度, 上季度, 最近, 近期, 目前, 当前, 现在, 同期, 近一年,"
     " 近三个月, 这个月, 过去, 近"),
    ("refused", "calendar", "周, 每周, 按周, 周末, 工作日, 星期, 季节, 春季, 夏季, 秋季, 冬季,"
     " 小时"),
    ("refused", "by_what", "最受欢迎, 受欢迎, 热门, 最热门, 最火, 最好, 最差,"
     " 优秀, 表现, 重要, 最重要, 最佳, 最成功, 好, 差, 最有价值, 忠诚"),
    ("refused", "statistics", "中位数, 分位数, 标准差, 方差, 相关, 相关性, 回归, 异常值, 众数,"
     " 累计, 累积, 移动平均, 滚动, 分布"),
    ("refused", "ratio", "占比, 比例, 百分比, 比率, 率, 份额, 增长, 增长率, 同比, 环比, 增加,"
     " 减少, 下降, 上升, 涨, 跌, 增幅, 降幅, 占, 差额, 相差, 差异"),
    ("refused", "reason", "为什么, 为何, 原因, 怎么, 如何, 预测, 建议, 分析, 总结, 应该,"
     " 怎么样, 预计, 解释, 假如, 如果"),
    ("refused", "absence", "没有, 没, 从未, 从来没, 未, 无, 缺少, 缺失, 为空, 不"),
)  # fmt: skip

NUMBERS: Final[Mapping[str, int]] = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "一": 1, "两": 2, "二": 2,
    "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "十二": 12, "十五": 15,
    "二十": 20, "五十": 50, "一百": 100, "百": 100,
}  # fmt: skip


@lru_cache(maxsize=1)
def fixed_words() -> Mapping[tuple[str, ...], tuple[Word, ...]]:
    """Keys of a phrase → the parts it can play."""
    found: dict[tuple[str, ...], list[Word]] = {}
    for role, value, phrases in (*_ENGLISH, *_CHINESE):
        for phrase in phrases.split(","):
            words = found.setdefault(keys(phrase), [])
            if not any(word.role == role for word in words):
                words.append(Word(role, value))
    return {phrase: tuple(words) for phrase, words in found.items()}


@lru_cache(maxsize=1)
def number_words() -> Mapping[tuple[str, ...], int]:
    """Keys of a number in words → the number."""
    return {keys(text): number for text, number in NUMBERS.items()}


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
