"""Text → the words a catalogue is searched by, in English and Chinese. Pure functions.

Names are split where CamelCase, snake_case and digits change; English words lose their endings;
Chinese, which has no spaces, becomes single characters and pairs. `synonyms` gives business words
that mean about the same, across both languages. Above: `search.py`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from dataagent_core.data.catalogue.vocabulary import STOP_WORDS, SYNONYMS

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
