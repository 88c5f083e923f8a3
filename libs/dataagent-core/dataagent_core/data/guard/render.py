"""From the tree to the only SQL that a driver gets: regenerated, without comments.

The library's generator for the dialect, with the few differences a real server needs. What it
cannot write for the dialect is refused, not approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generator import Generator

from dataagent_core.data.guard.refusals import refusal
from dataagent_core.data.guard.text import too_deep


def render(tree: exp.Expr, dialect: str) -> str:
    """The statement as text. Raises `QueryRefused` if the dialect has no words for it."""
    try:
        return _generator(dialect).generate(tree)
    except UnsupportedError as error:
        raise refusal(
            "node_not_allowed",
            f"The statement has a part this source's SQL does not: {error}",
            hint="Write it with what the dialect has.",
        ) from error
    except RecursionError:
        raise too_deep() from None


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
    own: dict[str, Any] = {
        "MULTI_ARG_DISTINCT": True,  # else DISTINCT a, b is rewritten
        "ignorenulls_sql": Generator.ignorenulls_sql,
        "respectnulls_sql": Generator.respectnulls_sql,
    }
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
