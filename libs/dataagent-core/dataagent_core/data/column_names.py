"""Unique names for the columns of a result, whatever the engine called them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def unique_names(labels: Sequence[str]) -> tuple[str, ...]:
    """A name for each label: the label itself, or `label_2`, `label_3` where it is taken.

    Names that differ in case alone count as the same, because SQL over them would.
    """
    wanted = [_CONTROL.sub("_", label) or f"column_{i}" for i, label in enumerate(labels, 1)]
    taken = {name.casefold() for name in wanted}
    last: dict[str, int] = {}  # the number that each name was given last
    names: list[str] = []
    for name in wanted:
        folded, free = name.casefold(), name
        if folded in last:
            number = last[folded] + 1
            while f"{folded}_{number}" in taken:
                number += 1
            last[folded], free = number, f"{name}_{number}"
        else:
            last[folded] = 1
        taken.add(free.casefold())
        names.append(free)
    return tuple(names)
