"""What an output without an alias is called."""

from __future__ import annotations

import re

from sqlglot import exp

from dataagent_core.data.guard.render import render

MAX_LABEL = 60
_UNNAMED = "?column?"  # PostgreSQL's word for a value with no name of its own
_CALL = re.compile(r"(\w+)\(")
_THROUGH = (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup, exp.Bracket, exp.Cast)


def label_of(node: exp.Expr, dialect: str) -> str:
    """The expression as text, cut to fit; in PostgreSQL the name the server would choose."""
    if dialect == "postgres":
        return _postgres(node)
    text = render(node, dialect)
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"


def _postgres(node: exp.Expr) -> str:
    while isinstance(node, _THROUGH):
        node = node.this
    if isinstance(node, exp.Column | exp.Dot):
        return node.name
    if isinstance(node, exp.Case):
        return "case"
    if isinstance(node, exp.Exists):
        return "exists"
    call = _CALL.match(render(node, "postgres"))
    return call[1].lower() if call and isinstance(node, exp.Func) else _UNNAMED
