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


def numeral(text: str) -> Decimal | None:
    """The value of a numeral, or None when the characters are not a well-formed one."""
    if not any(char in SMALL or char in LARGE for char in text):
        return None
    total, section, digit = 0, 0, None
    for at, char in enumerate(text):
        if char in DIGITS:
            if digit:
                return None
            digit = DIGITS[char]
        elif char in SMALL:
            if digit is None and not (SMALL[char] == 10 and section == 0):
                return None
            section += (digit if digit is not None else 1) * SMALL[char]
            digit = None
        elif char in LARGE:
            section += digit or 0
            if section == 0 or at == 0:
                return None
            total, section, digit = (total + section) * LARGE[char], 0, None
        else:
            return None
    return Decimal(total + section + (digit or 0))
