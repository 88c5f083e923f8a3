"""Finds the figures in a text: what each is worth, where it stands and how exactly it is given.

Understands thousands separators, full-width digits, 万 and 亿, `k`, `M` and `bn`, percent, currency
signs and Chinese numerals. Dates and times, list numbers, ranks, versions, identifiers, code and
quoted text are no claims about data: they are blanked out first, so that every position stays what
it was.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

CHINESE_DIGITS = {
    char: value
    for value, chars in enumerate(
        ("零〇", "一壹", "二两贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for char in chars
}
SMALL_MULTIPLIERS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
LARGE_MULTIPLIERS = {"万": 10_000, "亿": 100_000_000}
NUMERAL_CHARACTERS = "".join((*CHINESE_DIGITS, *SMALL_MULTIPLIERS, *LARGE_MULTIPLIERS))


def parse_numeral(text: str) -> Decimal | None:
    """The value of a numeral, or None when the characters are not a well-formed one."""
    if not set(text) <= set(NUMERAL_CHARACTERS) or not set(text) & {
        *SMALL_MULTIPLIERS,
        *LARGE_MULTIPLIERS,
    }:
        return None
    total, section, digit = 0, 0, None
    for char in text:
        if char in CHINESE_DIGITS:
            if digit:
                return None
            digit = CHINESE_DIGITS[char]
        elif char in SMALL_MULTIPLIERS:
            if digit is None and not (SMALL_MULTIPLIERS[char] == 10 and section == 0):
                return None
            section += (digit if digit is not None else 1) * SMALL_MULTIPLIERS[char]
            digit = None
        else:
            counted = _counted(total, section + (digit or 0), LARGE_MULTIPLIERS[char])
            if counted is None:
                return None
            total, section, digit = counted, 0, None
    return Decimal(total + section + (digit or 0))


def _counted(total: int, section: int, unit: int) -> int | None:
    """The value up to 万 or 亿: 万 counts what stands since 亿, 亿 all before it (三万亿)."""
    if unit == LARGE_MULTIPLIERS["亿"]:
        return (total + section) * unit if 0 < total + section < unit else None
    return total + section * unit if section and total % LARGE_MULTIPLIERS["亿"] == 0 else None


BLANK = "\x00"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d{2}"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NUMBERED = (
    r"top|bottom|first|last|past|previous|next|rank(?:ed|s)?|no\.|number|step|table|figure|fig\.|"
    r"chart|chapter|section|page|row|column|note|item|option|part|phase|level|tier|version|week|"
    r"day|quarter|python|showing|shows?|displaying|limit"
)
_CODE = (
    r"```.*?(?:```|\Z)",
    r"~~~.*?(?:~~~|\Z)",
    r"`[^`\n]+`",
)
_QUOTED = (
    r'"[^"\n]{1,200}"',
    r"“[^”\n]{1,200}”",
    r"「[^」\n]{1,200}」",
    r"『[^』\n]{1,200}』",
    r"《[^》\n]{1,200}》",
    r"(?<!\w)'[^'\n]{1,200}'(?!\w)",
    r"‘[^’\n]{1,200}’(?!\w)",
    r"^[ \t]*>.*$",
)
_ADDRESSES = (
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>()\"']+",
    r"\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]+",
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    r"(?:\./|~/|/)[\w./-]{0,200}[a-z_][\w./-]{0,200}",
)
_DATES = (
    rf"\b{_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?)?Z?\b",
    rf"\b\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR}\b",
    rf"\b{_YEAR}[-/](?:0?[1-9]|1[0-2])\b(?![-/,.]?\d)",
    rf"\b{_YEAR}\s*[-/–—~至到]\s*(?:{_YEAR}|\d{{2}})\b(?!\s?[%％])",
    rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?\b",
    rf"\b{_MONTH}\s+{_DAY}\b(?!,\d)(?![.,:]?\d|\s?[%％])(?:,?\s+{_YEAR}\b)?",
    rf"\b{_MONTH},?\s+{_YEAR}\b",
    r"(?:\d{2}|\d{4}|[〇零一二三四五六七八九]{4})\s*年(?:度|底|初|末|间)?"
    r"(?:\s*\d{1,2}\s*月份?)?(?:\s*\d{1,2}\s*[日号])?",
    r"\d{1,2}\s*+(?:[月日]\s*+)?[-–—~～至到]\s*\d{1,2}\s*[月日]",
    r"\d{1,2}\s*月份?\s*(?:\d{1,2}\s*[日号])?(?!\d)",
    r"(?<!\d)\d{1,2}\s*[日号](?!\w)",
    r"[一二三四五六七八九十]{1,3}月(?:份|[一二三四五六七八九十]{1,3}[日号])?",
    r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?",
    r"\b\d{1,2}\s*[ap]\.?m\b\.?",
    r"\d{1,2}\s*[点时]\s*(?:\d{1,2}\s*分)?(?!间)",
    rf"\b(?:{_YEAR}\s*)?[QH]\d\b(?:\s*(?:of\s+)?{_YEAR}\b)?",
    rf"\b(?:fy|cy)\s?'?(?:{_YEAR}|\d{{2}})\b",
    rf"\b{_YEAR}s\b",
    rf"\b(?:in|since|during|until|till|by|through|year|years|before|after|end of|start of|from)\s+"
    rf"{_YEAR}\b(?![,.]?\d|\s?[%％万亿]|\s+[a-z]+s\b)(?:\s*(?:-|–|to|and|through|vs\.?)\s*{_YEAR}\b)?",
    rf"\b{_YEAR}\s+(?:to|vs\.?|versus|through)\s+{_YEAR}\b",
)
_ORDER = (
    r"^[ \t]*(?:#{1,6}[ \t]+)?(?:[-*+][ \t]+)?(?:\*\*)?\(?\d{1,3}(?:[.)、．:：](?!\d)|）)",
    r"[①-⑳]",
    r"\b\d+(?:st|nd|rd|th)\b",
    r"第\s*(?:\d+|[一二三四五六七八九十百]+)\s*(?:名|位|季度|个|周|天|行|列|章|节|步|次|条)?",
    r"[前后首末]\s*(?:\d+|[一二三四五六七八九十]+)(?!\d)(?![,.]\d)(?:名|位|大|个|条|行)?",
    r"(?:过去|最近|近|未来|排名|显示|展示|列出|步骤|图|表)\s*\d++(?![\d.,]*\d|\s?[%％万亿])",
    rf"\b(?:{_NUMBERED})\s+(?:the\s+)?(?:first\s+|top\s+)?#?\d+\b(?![.,]\d|\s?[%％])",
    r"#\s?\d+",
    r"\b\d+[-–]?(?:year|month|day|week|hour|quarter|digit|row|column|point)s?[-–][a-z]+",
    r"\b\d+-(?:year|month|day|week|hour|quarter|digit|row|column|star|track|item)s?\b",
    r"\b24/7\b",
)
_IDENTIFIERS = (
    r"\b(?:v\.?|version|python)\s?\d+(?:\.\d+)*\b",
    r"(?:版本|版)\s*\d+(?:\.\d+)*",
    r"(?<![\d,.])\d+(?:\.\d+){2,}(?!,?\d)",
    r"\b(?:[a-z_]{0,64}id|ISBN|SKU|code|zip|phone|tel)\b\s*+(?:(?:is|[:：#=])\s*+)?\d[\d-]*",
    r"(?:编号|工号|单号|代码|电话|邮编|序号|账号)\s*+(?:[为是:：]\s*+)?\d[\d-]*",
    r"(?<![\w.])\+?\d{2,4}(?:-\d{2,4}){2,}(?![\w])",
    r"\b[^\W\d]{1,64}[-_]\d[\w-]*",
    r"\b\w{0,64}_\w*\b",
)
# Text comes from anyone, so the time must grow with its length alone. Two runs of spaces side by
# side, or digits that a check behind them can shorten, would square it: `*+` and `++` give nothing
# back.
_ALL = (*_CODE, *_QUOTED, *_ADDRESSES, *_DATES, *_ORDER, *_IDENTIFIERS)
_FLAGS = re.IGNORECASE | re.MULTILINE | re.ASCII  # ASCII: a word may end where Chinese begins
_PATTERNS = tuple(
    re.compile(pattern, _FLAGS | (re.DOTALL if pattern in _CODE else 0)) for pattern in _ALL
)


def blank_non_claims(text: str) -> str:
    """The text, as long as before, with everything that is no claim blanked out."""
    for pattern in _PATTERNS:
        text = pattern.sub(lambda found: BLANK * len(found.group()), text)
    return text


FigureKind = Literal["plain", "percent", "points", "multiple"]
Hedge = Literal["about", "over", "under"]
MAX_TEXT = 50_000
MAX_DIGITS = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a text. `value` has its scale applied; a percentage stays as written."""

    text: str
    value: Decimal
    start: int
    end: int
    kind: FigureKind = "plain"
    unit: str | None = None  # a currency sign or a unit of measure
    scale: Decimal = Decimal(1)
    decimals: int = 0  # shown after the point, before the scale
    hedge: Hedge | None = None

    @property
    def step(self) -> Decimal:
        """The last place shown: 0.1万 is 1000. A hedged round number is as coarse as its zeros."""
        if self.hedge is not None and self.decimals == 0:
            return self.scale.scaleb(_trailing_zeros(self.value / self.scale))
        return self.scale.scaleb(-self.decimals)

    @property
    def significant_digits(self) -> int:
        """How many digits carry information: 3 for 12.5 and for 0.0125."""
        digits = str(abs(self.value) / self.step if self.step else 0).split(".")[0]
        return len(digits.lstrip("0")) or 1


_FULL_WIDTH = str.maketrans("０１２３４５６７８９．％＄－", "0123456789.%$-")
_FULL_COMMA = re.compile(r"(?<=[０-９])，(?=[０-９]{3}(?![０-９]))")
_SCALES = {
    "万亿": 12, "千亿": 11, "百亿": 10, "亿": 8, "千万": 7, "百万": 6, "十万": 5, "万": 4, "千": 3,
    "百": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "mm": 6, "bn": 9,
    "k": 3, "m": 6, "b": 9, "t": 12,
}  # fmt: skip
_UNITS = r"kg|km|cm|mm|gb|mb|kb|tb|ms|usd|eur|gbp|cny|rmb|jpy|min|hrs?|h|s|g"
_NUMBER = re.compile(
    rf"""
    (?<![\w.])(?<!\d[,'’])                                 # not inside a word or a number
    (?P<sign>(?<![\w%)\]])[-−+]|负)?
    (?P<currency>(?:US|HK|A|C)?[$€£¥￥₹]|(?:USD|EUR|GBP|CNY|RMB)\s?)?
    (?P<inner>[-−])?
    (?P<digits>
        \d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?             # 1,234.5
      | \d{{1,3}}(?:\.\d{{3}})+,\d{{1,2}}(?!\d)            # 1.234,5
      | \d+(?:,\d{{4,}})+(?:\.\d+)?                       # 1,2345: grouped wrong, one number still
      | \d{{1,3}}(?:[\u00a0\u202f\u2009 ’']\d{{3}})+(?!\d)(?:\.\d+)?   # 1 234.5
      | \d+(?:\.\d+)?(?:e[+-]?\d{{1,2}}(?![\w]))?
      | \.\d+
    )
    (?:亿(?P<rest>\d+(?:\.\d+)?)(?=万))?
    (?P<scale>
        \s?(?:万亿|千亿|百亿|亿|千万|百万|十万|万|千|百(?!分))
      | \s?(?:thousand|million|billion|trillion|mn|bn)\b
      | (?:mm|k|m|b|t)(?![\w])
    )?
    (?P<after>
        \s?(?:percentage\ points?|pp|ppts?)\b | \s?个?百分点
      | \s?[%‰] | \s?(?:percent|per\ cent|pct)\b
      | \s?倍 | \s?(?:×|x)(?![\w]) | \s?-?fold\b
      | \s?times(?=\s+(?:as|more|the|that|of|larger|higher|bigger|greater)\b)
      | \s?(?:{_UNITS})(?![\w])
    )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NUMERAL = re.compile(
    rf"(?P<percent>百分之)?"
    rf"(?P<numeral>[{NUMERAL_CHARACTERS}]{{1,12}}(?:点[{NUMERAL_CHARACTERS}]{{1,4}})?)"
    r"(?P<classifier>个百分点|[个名位条张首人次件元块家笔单部台种天行项国倍款座])?"
)
_ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|some|~|≈|约|大约|约为|左右|大概|差不多)"
    r"\s*(?:of\s*)?(?:US|HK)?[$€£¥￥]?$",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"(?:over|more than|above|at least|exceed(?:s|ed|ing)?|超过|超|多于|逾|突破)\s*[$€£¥￥]?$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:under|less than|below|nearly|almost|close to|接近|近|将近|不到|不足)\s*[$€£¥￥]?$",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:-|–|—|~|～|至|到|to)\s?")
_AFTER_ABOUT = re.compile(r"\s*(?:左右|上下|or so)", re.IGNORECASE)
_AFTER_OVER = re.compile(r"\s*(?:多(?!于|\s*[\d$¥￥])|余|\+(?!\d))")


def find_figures(text: str) -> list[Figure]:
    """Every figure of a text, in order. Of a very long text only the beginning is read."""
    text = text[:MAX_TEXT]
    narrow = _FULL_COMMA.sub(",", text).translate(_FULL_WIDTH)
    clear = blank_non_claims(narrow)
    figures = [
        figure for found in _NUMBER.finditer(clear) if (figure := _figure(found, clear, text))
    ]
    ends = [figure.end for figure in figures]
    starts = [figure.start for figure in figures]
    for found in _NUMERAL.finditer(clear):
        figure = _written_out(found, clear, text)
        # Figures do not overlap: one that does this numeral would end behind its start.
        if figure and bisect_right(ends, figure.start) == bisect_left(starts, figure.end):
            figures.append(figure)
    return _ranges(sorted(figures, key=lambda figure: figure.start), clear)


def _ranges(figures: list[Figure], clear: str) -> list[Figure]:
    """In `10–20%` and `3到5万` the first number is meant as the second is written."""
    for at in range(len(figures) - 1):
        one, two = figures[at], figures[at + 1]
        is_bare = (
            one.kind == "plain" and one.scale == 1 and two.unit is not None
        ) or two.scale != 1
        if is_bare and one.scale == 1 and _RANGE.fullmatch(clear[one.end : two.start]):
            value = one.value * two.scale
            unit = one.unit or two.unit
            figures[at] = replace(one, value=value, kind=two.kind, scale=two.scale, unit=unit)
    return figures


def _figure(found: re.Match[str], clear: str, text: str) -> Figure | None:
    if _is_glued(clear, found.end()) or len(found["digits"]) > MAX_DIGITS:
        return None
    digits = _plain_digits(found["digits"])
    try:
        value = Decimal(digits)
    except ArithmeticError:
        return None
    scale = Decimal(10) ** _SCALES.get((found["scale"] or "").strip().lower(), 0)
    value *= scale
    if found["rest"]:
        value = Decimal(digits) * 10**8 + Decimal(found["rest"]) * scale
        digits = found["rest"]
    if found["sign"] in ("-", "−", "负") or found["inner"]:
        value = -value
    kind, unit = _after(found["after"], found["currency"])
    mantissa, _, exponent = digits.lower().partition("e")
    return Figure(
        text=text[found.start() : found.end()],
        value=value,
        start=found.start(),
        end=found.end(),
        kind=kind,
        unit=unit,
        scale=scale,
        decimals=len(mantissa.partition(".")[2]) - int(exponent or 0),
        hedge=_hedge(clear, found.start(), found.end()),
    )


def _plain_digits(digits: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d{1,2}", digits):
        return digits.replace(".", "").replace(",", ".")
    return re.sub(r"[,\s\u00a0\u202f\u2009’']", "", digits)


def _is_glued(clear: str, end: int) -> bool:
    """A letter right after the digits makes it a name (3D, 747A), not a figure."""
    following = clear[end : end + 1]
    return bool(following) and (following == "_" or (following.isascii() and following.isalnum()))


def _after(after: str | None, currency: str | None) -> tuple[FigureKind, str | None]:
    unit = (after or "").strip().lower()
    if unit in ("%", "‰", "percent", "per cent", "pct"):
        return "percent", "‰" if unit == "‰" else "%"
    if unit.startswith(("percentage", "pp")) or unit.endswith("百分点"):
        return "points", "pp"
    if unit in ("倍", "×", "x", "times", "fold", "-fold"):
        return "multiple", unit
    return "plain", (currency or "").strip() or unit or None


def _hedge(clear: str, start: int, end: int) -> Hedge | None:
    before, after = clear[max(0, start - 24) : start], clear[end : end + 8]
    if _ABOUT.search(before) or _AFTER_ABOUT.match(after):
        return "about"
    if _OVER.search(before) or _AFTER_OVER.match(after):
        return "over"
    return "under" if _UNDER.search(before) else None


def _written_out(found: re.Match[str], clear: str, text: str) -> Figure | None:
    """A figure in Chinese characters: only where a percentage or a classifier makes it one."""
    characters, is_percent = found["numeral"], bool(found["percent"])
    classifier = found["classifier"] or ""
    if not is_percent and not classifier:
        return None
    if clear[max(0, found.start() - 1) : found.start()] in ("第", "几", "数", "前", "后", "每"):
        return None
    whole, _, fraction = characters.partition("点")
    value = (
        Decimal(CHINESE_DIGITS[whole])
        if is_percent and whole in CHINESE_DIGITS
        else parse_numeral(whole)
    )
    if (
        value is None
        or (fraction and not is_percent)
        or any(c not in CHINESE_DIGITS for c in fraction)
    ):
        return None
    value += Decimal("0." + "".join(str(CHINESE_DIGITS[c]) for c in fraction)) if fraction else 0
    end = found.end("numeral") if is_percent else found.start("classifier")
    return Figure(
        text=text[found.start() : end],
        value=value,
        start=found.start(),
        end=end,
        kind="percent" if is_percent else "plain",
        unit="%" if is_percent else None,
        decimals=len(fraction),
        hedge=_hedge(clear, found.start(), end),
    )


def _trailing_zeros(value: Decimal) -> int:
    digits = str(abs(int(value)))
    return len(digits) - len(digits.rstrip("0")) if digits != "0" else 0
