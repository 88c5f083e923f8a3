"""From a statement to the only SQL that a driver gets: the author's tokens, without comments.

What the resolver and a policy changed (`edits.py`) is written over its place in the text by the
library's generator; everything else is sent as it was written, so it means what it meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

from dataagent_core.data.guard.edits import GROUPED_TOO, HAS_SCHEMA, PLACE, is_written
from dataagent_core.data.guard.function_names import OUTSIDE_PG_CATALOG
from dataagent_core.data.guard.refusals import refusal
from dataagent_core.data.guard.statement import (
    Statement,
    gaps,
    selected_items,
    too_deep,
    unparsable,
)

_MAX_LABEL = 200  # MySQL takes 256 characters


def render(statement: Statement) -> str:
    """The statement as text for the driver. Raises `QueryRefused` if it cannot be written."""
    edits = {start: (end, text) for start, end, text in _edits(statement)}
    before, after = _insertions(statement)
    written: list[str] = []
    skipped_to = -1
    tokens = list(gaps(statement))
    for index, (token, gap) in enumerate(tokens):
        if token.start > skipped_to:
            written.append(gap)
            if token.token_type == TokenType.TABLE and _follows(tokens, index) in edits:
                written.append("SELECT * FROM")  # TABLE takes a name alone
            elif token.start in edits:
                skipped_to, text = edits.pop(token.start)
                written.append(text)
            else:
                text = statement.text[token.start : token.end + 1]
                written += (before.get(token.start, ""), text)
        written.append(after.get(token.end, ""))
    if edits:  # a policy's sub-query would be missing
        raise unparsable("a name stands where none was expected.")
    return "".join(written)


def _follows(tokens: list[tuple[Token, str]], index: int) -> int | None:
    """Where the next token begins."""
    return tokens[index + 1][0].start if index + 1 < len(tokens) else None


def write(node: exp.Expr, dialect: str) -> str:
    """A node as text of the dialect. Raises `QueryRefused` if the dialect has no words for it."""
    try:
        return _generator(dialect).generate(node)
    except UnsupportedError as error:
        raise refusal(
            "node_not_allowed",
            f"The statement has a part this source's SQL does not: {error}",
            hint="Write it with what the dialect has.",
        ) from error
    except RecursionError:
        raise too_deep() from None


def _edits(statement: Statement) -> Iterator[tuple[int, int, str]]:
    """The places that are written anew, each with its text; none lies within another."""
    nodes = [node for node in statement.tree.walk() if PLACE in node.meta]
    nodes.sort(key=lambda node: (node.meta[PLACE][0], -node.meta[PLACE][1]))
    last = -1
    for node in nodes:
        start, end = node.meta[PLACE]
        if start > last:
            yield start, end, write(_without_what_follows(node), statement.dialect)
            last = end


def _without_what_follows(node: exp.Expr) -> exp.Expr:
    """The node without its alias, joins and sample, where those stand in the text after it."""
    if not isinstance(node, exp.Table | exp.Subquery):
        return node
    parts = {name: value for name, value in node.args.items() if name in ("this", "db") and value}
    bare = type(node)(**{name: part.copy() for name, part in parts.items()})
    alias = node.args.get("alias")
    if alias is not None and not is_written(alias.this):
        bare.set("alias", alias.copy())
    return bare


def _insertions(statement: Statement) -> tuple[dict[int, str], dict[int, str]]:
    """What is added before a token, by its first character, and after one, by its last.

    An output without a name gets the one that its author sees: most engines call it as it is
    written, and would show the sub-query of a policy. PostgreSQL does not, but it chooses among
    functions of one name by their arguments, wherever they are: one that somebody put into another
    schema could be preferred to the built-in one that was checked.
    """
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    if statement.dialect != "postgres":
        return before, dict(_names(statement))
    for node in statement.tree.walk():
        if isinstance(node, exp.Anonymous) and is_written(node):
            if node.name.lower() not in OUTSIDE_PG_CATALOG and HAS_SCHEMA not in node.meta:
                before[node.meta["start"]] = "pg_catalog."
        elif isinstance(node, exp.Group) and GROUPED_TOO in node.meta:
            added = [write(each, "postgres") for each in node.meta[GROUPED_TOO]]
            _, last = statement.item_at(_last_written(node))
            after[last] = "".join(f", {each}" for each in added)
    return before, after


def _names(statement: Statement) -> Iterator[tuple[int, str]]:
    """The name of each output without one that reads a policy's sub-query, by its last character.

    A sub-query stands in as many items of SELECT lists as lists are on its way up the tree.
    """
    policies = [
        node for node in statement.tree.find_all(exp.Subquery) if node.meta.get(PLACE) is not None
    ]
    items = list(selected_items(statement)) if policies else []
    for policy in policies:
        place = policy.meta[PLACE][0]
        around = sorted(
            (last - first, first, last) for first, last in items if first <= place <= last
        )
        node: exp.Expr = policy
        while node.parent is not None:
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                if not around:
                    raise unparsable("an item of a SELECT list cannot be told. Name it with AS.")
                _, first, last = around.pop(0)
                if not isinstance(node, exp.Alias | exp.Star) and not node.args.get("alias"):
                    label = statement.text[first : last + 1].strip()[:_MAX_LABEL].rstrip()
                    yield (
                        last,
                        f" AS {write(exp.to_identifier(label, quoted=True), statement.dialect)}",
                    )
            node = node.parent


def _last_written(group: exp.Group) -> int:
    starts = [node.meta["start"] for node in group.walk() if is_written(node)]
    return max(starts)


def _generator(dialect: str) -> Generator:
    return _generator_class(dialect)(
        dialect=dialect,
        comments=False,
        normalize_functions=False,
        unsupported_level=ErrorLevel.RAISE,
    )


@lru_cache(maxsize=32)
def _generator_class(dialect: str) -> type[Generator]:
    base = Dialect.get_or_raise(dialect).generator_class
    own: dict[str, Any] = {"MULTI_ARG_DISTINCT": True}  # else DISTINCT a, b is rewritten
    if dialect in _REGEXP:
        own["TRANSFORMS"] = {**base.TRANSFORMS, exp.RegexpLike: _infix(_REGEXP[dialect])}
    if dialect == "sqlite":  # a cast there is by affinity: no type may move to another
        own["TYPE_MAPPING"] = {**base.TYPE_MAPPING, **_NUMERIC}
        own["cast_sql"] = Generator.cast_sql
    return type("PlainGenerator", (base,), own)


def _infix(operator: str) -> Callable[[Generator, exp.Binary], str]:
    return lambda generator, node: generator.binary(node, operator)


_REGEXP = {"mysql": "REGEXP", "duckdb": "~"}
"""As written: MariaDB has no REGEXP_LIKE, and DuckDB's `~` is not its regexp_matches."""
_NUMERIC = dict.fromkeys(
    (
        exp.DType.BOOLEAN,
        exp.DType.DECIMAL,
        exp.DType.DATE,
        exp.DType.DATETIME,
        exp.DType.TIMESTAMP,
        exp.DType.TIMESTAMPNTZ,
        exp.DType.TIME,
    ),
    "NUMERIC",
)
