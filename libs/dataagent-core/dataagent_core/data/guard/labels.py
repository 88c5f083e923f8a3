"""What an output without an alias is called."""

from __future__ import annotations

import re

from sqlglot import exp

from dataagent_core.data.guard.render import write
from dataagent_core.data.guard.statement import Statement

_UNNAMED = "?column?"  # PostgreSQL's word for a value with no name of its own
_CALL = re.compile(r"(\w+)\(")
_THROUGH = (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup, exp.Bracket, exp.Cast)


class Labels:
    """The names that an engine gives to the outputs of a statement."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement

    def of(self, node: exp.Expr) -> str:
        """The expression as written; in PostgreSQL the name the server would choose."""
        if self._statement.dialect == "postgres":
            return _postgres(node)
        written = next((each for each in node.walk() if "start" in each.meta), None)
        if written is None:
            return write(node, self._statement.dialect)
        first, last = self._statement.item_at(written.meta["start"])
        return self._statement.text[first : last + 1]


def _postgres(node: exp.Expr) -> str:
    while isinstance(node, _THROUGH):
        node = node.this
    if isinstance(node, exp.Column | exp.Dot):
        return node.name
    if isinstance(node, exp.Case):
        return "case"
    if isinstance(node, exp.Exists):
        return "exists"
    call = _CALL.match(write(node, "postgres"))
    return call[1].lower() if call and isinstance(node, exp.Func) else _UNNAMED
