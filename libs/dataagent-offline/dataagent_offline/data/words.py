"""Text → atoms: words, numbers and single Chinese characters, each with the key it is matched by.

The same cut is made of questions, of names in a schema and of values, so that `unit prices`,
`UnitPrice` and `unit_price` meet. It knows no vocabulary.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

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
