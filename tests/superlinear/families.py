"""Texts that make a bad reader slow: a unit that is repeated, with a beginning and an end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Texts of any size that differ only in how often a unit is repeated."""

    before: str
    unit: str
    behind: str = ""

    def text(self, size: int) -> str:
        """The text of about so many characters."""
        times = max(1, (size - len(self.before) - len(self.behind)) // len(self.unit))
        return self.before + self.unit * times + self.behind


def families(
    tokens: Sequence[str],
    *,
    count: int,
    seed: str,
    frames: Sequence[tuple[str, str]] = (("", ""),),
) -> Iterator[Family]:
    """So many families of these tokens: tokens alone, then what the seed gives.

    Texts made of tokens have a frame: a beginning and an end.
    """
    choose = random.Random(seed)

    def some(most: int) -> str:
        return "".join(choose.choices(tokens, k=choose.randint(0, most)))

    units = [*tokens]
    choose.shuffle(units)
    for at in range(count):
        begin, end = choose.choice(frames)
        if at < count // 2 and at < len(units):
            yield Family(begin + some(1), units[at], some(1) + end)
        else:
            yield Family(begin + some(2), some(2) + choose.choice(tokens), some(1) + end)
