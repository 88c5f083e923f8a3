"""What a reader is told about the rules that shaped an answer: one sentence each.

A sentence shows the reader's own attributes and the rule, never a column that is hidden from the
reader, nor a value that only names what is kept away. Above: `compiling.py`.
"""

from __future__ import annotations

from collections.abc import Container

from dataagent_core.data.policy.reading import OpenTable


def sentences(seen: OpenTable, columns: Container[str]) -> list[str]:
    """One for each rule on the table; masks only of the columns (in lower case) that are used."""
    key = seen.table.key
    shown = {column.name for column in seen.columns if column.name not in seen.masks}
    told = [
        f"{key}: {each.told if each.columns <= shown else 'only rows that a policy opens to you'}"
        for each in seen.filters
    ]
    told += [f"{key}.{name}: masked" for name in seen.masks if name.casefold() in columns]
    return told
