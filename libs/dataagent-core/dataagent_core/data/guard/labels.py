"""What an output without an alias is called."""

from __future__ import annotations

import re

from sqlglot import exp

from dataagent_core.data.guard.items import SelectItems
from dataagent_core.data.guard.names import Naming
from dataagent_core.data.guard.render import write
from dataagent_core.data.guard.statement import Statement

_NAMING = Naming("postgres")
_UNNAMED = "?column?"  # PostgreSQL's word for a value with no name of its own
_CALL = re.compile(r"(\w+)\(")
_THROUGH = (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup, exp.Bracket, exp.Cast)


class Labels:
    """The names that an engine gives to the outputs of a statement."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._items: SelectItems | None = None  # most statements never ask

    def of(self, node: exp.Expr) -> str:
        """The expression as written; in PostgreSQL the name the server would choose."""
        if self._statement.dialect == "postgres":
            return _postgres(node)
        self._items = self._items or SelectItems(self._statement)
        place = self._items.place(node)
        if place is None:
            return write(node, self._statement.dialect)
        return self._statement.text[place[0] : place[1] + 1]


def _postgres(node: exp.Expr) -> str:
    while isinstance(node, _THROUGH):
        node = node.this
    if isinstance(node, exp.Column | exp.Dot):
        return _NAMING.stored(node.this if isinstance(node, exp.Column) else node.expression)
    if isinstance(node, exp.Case):
        return "case"
    if isinstance(node, exp.Exists):
        return "exists"
    call = _CALL.match(write(node, "postgres"))
    return call[1].lower() if call and isinstance(node, exp.Func) else _UNNAMED
