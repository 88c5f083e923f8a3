"""Numbers written in Chinese characters: 三百二十, 一千五百万, 十二."""

from __future__ import annotations

from decimal import Decimal

DIGITS = {
    char: value
    for value, chars in enumerate(
        ("零〇", "一壹", "二两贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for char in chars
}
SMALL = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
LARGE = {"万": 10_000, "亿": 100_000_000}
CHARACTERS = "".join((*DIGITS, *SMALL, *LARGE))


def parse_numeral(text: str) -> Decimal | None:
    """The value of a numeral, or None when the characters are not a well-formed one."""
    if not set(text) <= set(CHARACTERS) or not set(text) & {*SMALL, *LARGE}:
        return None
    total, section, digit = 0, 0, None
    for char in text:
        if char in DIGITS:
            if digit:
                return None
            digit = DIGITS[char]
        elif char in SMALL:
            if digit is None and not (SMALL[char] == 10 and section == 0):
                return None
            section += (digit if digit is not None else 1) * SMALL[char]
            digit = None
        else:
            counted = _counted(total, section + (digit or 0), LARGE[char])
            if counted is None:
                return None
            total, section, digit = counted, 0, None
    return Decimal(total + section + (digit or 0))


def _counted(total: int, section: int, unit: int) -> int | None:
    """The value up to 万 or 亿: 万 counts what stands since 亿, 亿 all before it (三万亿)."""
    if unit == LARGE["亿"]:
        return (total + section) * unit if 0 < total + section < unit else None
    return total + section * unit if section and total % LARGE["亿"] == 0 else None
