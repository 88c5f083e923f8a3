"""Which functions a query may call: pure ones, by name; or by class where syntax is special.

A function is allowed when it is on a list: what reads files, settings, other statements or who is
connected, waits, locks, or changes a session is on none. Each dialect has its names.
Below `parse.py`; it knows nothing of tables.
"""

from __future__ import annotations

import difflib
import re

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.refusals import refusal

MAX_REPEAT = 10_000

_SYNTAX = (
    "And Or Xor Case If Cast TryCast Exists Extract Trim Substring StrPosition Overlay Normalize "
    "Concat Sqrt Cbrt "
    "GroupConcat MatchAgainst JSONTable Collate Convert Unnest Explode Pow Abs"
)
_CLOCK = "CurrentDate CurrentTime CurrentTimestamp CurrentDatetime Localtime Localtimestamp"
_LISTS = (
    "Array List Map ToMap VarMap Struct ArrayContains ArrayContainsAll ArrayContainedBy "
    "ArrayOverlaps ArrayConcat ArrayFilter ArraySlice StructExtract"
)
_JSON = (
    "JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBExists "
    "JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBContainsTopKey JSONBDeleteAtPath "
    "JSONBPathExists JSONArrayContains JSONCast"
)
_PATTERNS = "RegexpLike RegexpILike RegexpFullMatch StartsWith"

CLASSES: frozenset[type[exp.Expr]] = frozenset(
    getattr(exp, name)
    for group in (_SYNTAX, _CLOCK, _LISTS, _JSON, _PATTERNS)
    for name in group.split()
)

_GROWING = {"repeat": (1,), "space": (0,), "lpad": (1,), "rpad": (1,), "bar": (3,)}
_WIDE = re.compile(r"%[^a-zA-Z%]{0,30}(?:\*|\d{4})|%[^a-zA-Z%]{31}|\{[^{}]{0,30}\d{4}|\{[^{}]{31}")


def check_function(node: exp.Func, dialect: Dialect) -> None:
    """Raise `QueryRefused` unless the function is on a list, with arguments in bounds."""
    if isinstance(node.parent, exp.Table | exp.Lateral) and node.arg_key == "this":
        check_table_function(node, dialect)
        return
    name = name_of(node)
    if isinstance(node, exp.Anonymous):
        is_allowed = isinstance(node.this, str) and name in dialect.functions
    else:
        is_allowed = type(node) in CLASSES
    if not is_allowed:
        raise _refused(name, dialect)
    _check_growth(node, name, dialect)


def check_table_function(node: exp.Func, dialect: Dialect) -> None:
    """Raise `QueryRefused` unless the function may stand in FROM."""
    name = name_of(node)
    known = dialect.table_functions
    if isinstance(node, exp.JSONTable) or (isinstance(node.this, str) and name in known):
        return
    names = ", ".join(sorted(known)) or "none"
    raise refusal(
        "table_function",
        f"The table function {name[:60]} is not allowed.",
        hint=f"Query the tables of the catalogue. Allowed in FROM: {names}.",
    )


def name_of(node: exp.Func) -> str:
    """The function's name in lower case, as a query of the dialect would write it."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower()


def _refused(name: str, dialect: Dialect) -> Exception:
    near = difflib.get_close_matches(name, sorted(dialect.functions), n=3, cutoff=0.6)
    hint = f"Nearest that are: {', '.join(near)}." if near else "Use a built-in, pure function."
    return refusal("function_not_allowed", f"The function {name[:60]} is not allowed.", hint=hint)


def _check_growth(node: exp.Func, name: str, dialect: Dialect) -> None:
    """A constant size must be a small number: one call could else fill the server's memory."""
    if name in dialect.format_functions:
        _check_format(node, name)
    for position in _GROWING.get(name, ()):
        if position < len(node.expressions):
            _check_size(node.expressions[position], name)


def _check_size(size: exp.Expr, name: str) -> None:
    if size.find(exp.Column):
        return
    is_plain = isinstance(size, exp.Literal) and re.fullmatch(r"\d{1,5}", size.name)
    if is_plain and int(size.name) <= MAX_REPEAT:
        return
    raise refusal(
        "too_large",
        f"{name} is asked for a text of unbounded size.",
        hint=f"Give a plain number of at most {MAX_REPEAT:,}.",
    )


def _check_format(node: exp.Func, name: str) -> None:
    first = next(iter(node.expressions), None)
    if isinstance(first, exp.Literal) and first.is_string and not _WIDE.search(first.name):
        return
    raise refusal(
        "too_large",
        f"The format of {name} is not a plain text, or is wider than 999.",
        hint="Write the format as a text with fixed widths of at most 999.",
    )
