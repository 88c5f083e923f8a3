"""Columns that say yes or no: `active`, `is_paid`, `是否启用`. Whoever is active has a yes in it.

Known by the column's type, by its name, or by all of its values.
"""

from __future__ import annotations

import re
from typing import Final

from dataagent_core.data.dialects import Dialect
from dataagent_offline.data.schema import SchemaColumn
from dataagent_offline.data.words import keys

_BOOLEAN: Final = re.compile(r"BOOL")
_ONE_DIGIT: Final = re.compile(r"TINYINT\(1\)|\bBIT(\(1\))?$")
_PAIRS: Final = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"), ("on", "off"),
    ("是", "否"), ("真", "假"),
)  # fmt: skip
_PREFIXES: Final = (("is",), ("has",), keys("是否"))
_STATE_NAMES: Final = (
    "active, activated, enabled, disabled, deleted, archived, verified, confirmed, valid,"
    " subscribed, published, approved, closed, locked, blocked, visible, hidden, featured,"
    " discontinued, paid, shipped, refunded, cancelled, canceled, completed, premium, vip,"
    " 活跃, 启用, 激活, 有效, 停用, 删除, 已删除, 已付款, 已支付, 已发货, 已完成, 已取消"
)
_STATES: Final = frozenset(keys(name) for name in _STATE_NAMES.split(","))


def yes_values(column: SchemaColumn, dialect: Dialect) -> tuple[str | int | bool, ...]:
    """What stands for yes in the column, as it is stored; nothing if it is no yes-or-no column."""
    kind = column.type.upper()
    words = {sample.strip().casefold() for sample in column.samples}
    if _BOOLEAN.search(kind) and (dialect.types_bind_values or not words or words <= {"0", "1"}):
        return (True,)
    if column.kind == "number" or _ONE_DIGIT.search(kind):
        is_named = bool(_ONE_DIGIT.search(kind)) or bool(state_of(column)) or _is_state(column)
        return (1,) if is_named and words <= {"0", "1"} else ()
    if not words or column.are_samples_truncated:
        return ()
    for yes, no in _PAIRS:
        if words <= {yes, no}:
            seen = [sample for sample in column.samples if sample.strip().casefold() == yes]
            return tuple(seen) or ((yes.upper() if column.samples[0].isupper() else yes),)
    return ()


def state_of(column: SchemaColumn) -> tuple[str, ...]:
    """What a yes says of a row, where the name is a question: `active` of `is_active`."""
    words = keys(column.name)
    for prefix in _PREFIXES:
        if len(words) > len(prefix) and words[: len(prefix)] == prefix:
            return words[len(prefix) :]
    return ()


def needs_check(column: SchemaColumn) -> bool:
    """Whether it is a number by its declaration, and only its name says that it is yes or no."""
    return column.kind == "number" and not column.samples


def _is_state(column: SchemaColumn) -> bool:
    return keys(column.name) in _STATES
