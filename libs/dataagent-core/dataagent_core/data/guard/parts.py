"""The parts of a node by the name the parser gives them, as lists of nodes."""

from __future__ import annotations

from typing import cast

from sqlglot import exp


def parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    """The nodes under a name; none if there are none."""
    return cast(
        "list[exp.Expr]", node.args.get(name) or []
    )  # the parser types its parts as Any; these names hold lists of nodes
