"""What a row of a table is called: the columns a reader would recognise it by."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from dataagent_offline.data.schema import SchemaTable
from dataagent_offline.data.words import keys

_WHOLE: Final = tuple(
    keys(name) for name in ("name", "title", "full name", "名称", "姓名", "名字", "标题", "label")
)
_MANY_ROWS: Final = 100
_FIRST: Final = tuple(keys(name) for name in ("first name", "given name"))
_LAST: Final = tuple(keys(name) for name in ("last name", "surname", "family name"))


@lru_cache(maxsize=4096)
def label_columns(table: SchemaTable) -> tuple[str, ...]:
    """One column, first and last name, or the key; all columns if there is no key."""
    texts = {name: keys(name) for name, column in table.columns.items() if column.kind == "text"}
    first = [name for name, words in texts.items() if words in _FIRST]
    last = [name for name, words in texts.items() if words in _LAST]
    if first and last:
        return (first[0], last[0])
    for wanted in _WHOLE:
        for name, words in texts.items():
            if words == wanted:
                return (name,)
    for wanted in _WHOLE:
        for name, words in texts.items():
            if words[-len(wanted) :] == wanted or _is_commented(table, name, wanted):
                return (name,)
    return table.primary_key or tuple(table.columns)


def is_title(table: SchemaTable, column: str) -> bool:
    """Whether the column holds the names of many rows: titles of songs, not names of countries."""
    return (table.row_count or 0) > _MANY_ROWS and column in label_columns(table)


def _is_commented(table: SchemaTable, column: str, wanted: tuple[str, ...]) -> bool:
    return wanted in {keys(part) for part in table.columns[column].comment.split()}
