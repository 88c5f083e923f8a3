"""What in a text has digits and is no claim about data.

Dates and times, list numbers, ranks, versions, identifiers, code and quoted text. They are blanked
out, so that `reading.py` sees only what may be a figure and every position stays what it was.
"""

from __future__ import annotations

import re

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
