"""Rewritten nodes of a tree: each remembers the place of the text it stands for.

The parser notes the place of every name. A node made here carries on the place of what its author
wrote; `render.py` writes it there, and leaves the rest of the text alone. A node without a place is
for the checks alone, such as the table that a bare column belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

PLACE = "place"
"""The key under which a node's `meta` has the first and last character it replaces."""

GROUPED_TOO = "grouped_too"
"""The key under which a GROUP BY has columns that are added to it."""

SAMPLED_INSIDE = "sampled_inside"
"""The key that marks a sub-query whose table is sampled in it: TABLESAMPLE leaves the text."""

HAS_SCHEMA = "has_schema"
"""The key that marks a function whose schema stands in the text."""


def place_of(nodes: Iterable[exp.Expr | None]) -> tuple[int, int] | None:
    """From the first to the last character that the author wrote for these names."""
    written = [node.meta for node in nodes if node is not None and "start" in node.meta]
    if not written:
        return None
    return min(meta["start"] for meta in written), max(meta["end"] for meta in written)


def is_written(node: exp.Expr | None) -> bool:
    """Whether the node stands in the author's text."""
    return node is not None and "start" in node.meta


def rewrite(node: exp.Expr, place: tuple[int, int] | None) -> None:
    """Have the node written over a place of the text."""
    if place is not None:
        node.meta[PLACE] = place


def quoted(name: str) -> exp.Identifier:
    """An identifier that means this stored name and no other."""
    return exp.Identifier(this=name, quoted=True)


def renamed(written: exp.Expr, name: str) -> exp.Identifier:
    """An identifier of another name, in place of the one that was written."""
    identifier = quoted(name)
    identifier.meta.update(written.meta)
    rewrite(identifier, place_of([written]))
    return identifier
