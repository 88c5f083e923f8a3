"""The parser, told to keep what is written.

The library knows hundreds of functions and rewrites many so that they mean the same in another
dialect. A query here stays in its own: `mod(7.5, 2)` must not become `7.5 % 2`, `x -> 'a.b'` not
`x -> '$.a.b'`, and no argument may get lost. So a call keeps its name and arguments, except where
its syntax is special (`CAST(x AS t)`), and a JSON path stays the text it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.errors import ErrorLevel
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from dataagent_core.data.dialects import Dialect

_SPECIAL = frozenset(
    {"CAST", "TRY_CAST", "EXTRACT", "JSON_TABLE", "OVERLAY", "POSITION", "SUBSTRING", "TRIM"}
)
_OPERATOR_TABLES = ("COLUMN_OPERATORS", "JSON_OPERATORS", "CONCAT_OPERATORS")

Operator = Callable[[Parser, exp.Expr, exp.Expr], exp.Expr]


def tokens_of(text: str, dialect: Dialect) -> list[Token]:
    """The tokens of a text. Raises `TokenError`."""
    grammar = Grammar.get_or_raise(dialect.name)
    if dialect.other_quotes:
        return _tokenizer_class(dialect)(dialect=grammar).tokenize(text)
    return grammar.tokenize(text)


@lru_cache(maxsize=32)
def _tokenizer_class(dialect: Dialect) -> type[Tokenizer]:
    base = Grammar.get_or_raise(dialect.name).tokenizer_class
    return type("PlainTokenizer", (base,), {"IDENTIFIERS": [dialect.quote, *dialect.other_quotes]})


def parser_of(dialect: Dialect) -> Parser:
    """A parser for one statement of the dialect; it raises at the first error."""
    grammar = Grammar.get_or_raise(dialect.name)
    return _parser_class(dialect)(dialect=grammar, error_level=ErrorLevel.IMMEDIATE)


@lru_cache(maxsize=32)
def _parser_class(dialect: Dialect) -> type[Parser]:
    base = Grammar.get_or_raise(dialect.name).parser_class
    special = _SPECIAL | dialect.special_functions
    parsers: Mapping[str, Any] = getattr(base, "FUNCTION_PARSERS")  # noqa: B009 untyped there
    kept = {name: parsers[name] for name in special if name in parsers}
    own: dict[str, Any] = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": kept,
        "ARRAY_CONSTRUCTORS": {"ARRAY": exp.Array},  # `list(x)[1]` is a call and an index
    }
    for table in _OPERATOR_TABLES:
        if hasattr(base, table):
            own[table] = _with_plain_paths(getattr(base, table))
    return type("PlainParser", (base,), own)


def _with_plain_paths(operators: Mapping[TokenType, Any]) -> dict[TokenType, Any]:
    plain: dict[TokenType, Operator] = {TokenType.ARROW: _extract, TokenType.DARROW: _extract_text}
    return {token: plain.get(token, operator) for token, operator in operators.items()}


def _extract(parser: Parser, this: exp.Expr, path: exp.Expr) -> exp.Expr:
    return parser.expression(exp.JSONExtract(this=this, expression=path, only_json_types=True))


def _extract_text(parser: Parser, this: exp.Expr, path: exp.Expr) -> exp.Expr:
    return parser.expression(
        exp.JSONExtractScalar(this=this, expression=path, only_json_types=True)
    )
