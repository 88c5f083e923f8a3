"""Parses text into one plain query, or refuses it with the reason.

Looks at form alone: which statement, which nodes and options, which functions, no system tables.
All of these are lists of what is allowed; what a new version of the parser adds is refused until it
is listed. A function that reads files, settings, other statements or who is connected, waits,
locks, or changes a session is on no list. Whether tables and columns exist is `resolve.py`'s
question.
"""

from __future__ import annotations

import difflib
import re
from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from dataagent_core.data.dialects import Dialect, dialect_of
from dataagent_core.data.sql.edits import HAS_SCHEMA
from dataagent_core.data.sql.refusals import refusal
from dataagent_core.data.sql.statement import (
    ParsedStatement,
    check_words,
    clean,
    parser_of,
    tokenize,
    too_deep,
    unparsable,
)

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
_JSON_FUNCTIONS = (
    "JSONExtract JSONExtractScalar JSONBExtract JSONBExtractScalar JSONBContains JSONBExists "
    "JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBContainsTopKey JSONBDeleteAtPath "
    "JSONBPathExists JSONArrayContains JSONCast"
)
_PATTERNS = "RegexpLike RegexpILike RegexpFullMatch StartsWith"

CLASSES: frozenset[type[exp.Expr]] = frozenset(
    getattr(exp, name)
    for group in (_SYNTAX, _CLOCK, _LISTS, _JSON_FUNCTIONS, _PATTERNS)
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
        raise _function_refusal(name, dialect)
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


def _function_refusal(name: str, dialect: Dialect) -> Exception:
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
        f"{name} would make a text of unbounded size.",
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


_SELECT_PARTS = (
    "Select From Join Where Group GroupingSets Cube Rollup Having Qualify Order Ordered Limit "
    "Offset Fetch LimitOptions Distinct With CTE Subquery Union Intersect Except Values Tuple "
    "Table TableAlias TableSample Lateral Alias Star Window WindowSpec Filter WithinGroup "
    "IgnoreNulls RespectNulls"
)
_VALUES = (
    "Column Identifier Literal Boolean Null Var Paren Dot Bracket Slice Interval IntervalSpan "
    "DataType DataTypeParam ByteString RawString HexString BitString UnicodeString National "
    "Introducer CharacterSet AtTimeZone Lambda Comprehension PropertyEQ Kwarg "
    "ColumnDef Variadic TimeUnit"
)
_OPERATORS = (
    "Add Sub Mul Div IntDiv Mod Neg DPipe BitwiseAnd BitwiseOr BitwiseXor BitwiseNot "
    "BitwiseLeftShift BitwiseRightShift EQ NEQ LT LTE GT GTE NullSafeEQ NullSafeNEQ Is Not In "
    "Between Like ILike SimilarTo Glob Match Escape Any All Overlaps Adjacent ExtendsLeft "
    "ExtendsRight Distance"
)
_JSON_NODES = (
    "JSON JSONPath JSONPathFilter JSONPathKey JSONPathPart JSONPathRecursive JSONPathRoot "
    "JSONPathScript JSONPathSelector JSONPathSlice JSONPathSubscript JSONPathUnion "
    "JSONPathWildcard JSONKeyValue JSONValue JSONExtractQuote JSONSchema JSONColumnDef "
    "FormatJson OnCondition"
)

NODES: frozenset[type[exp.Expr]] = frozenset(
    getattr(exp, name)
    for group in (_SELECT_PARTS, _VALUES, _OPERATORS, _JSON_NODES)
    for name in group.split()
    if hasattr(exp, name)
)

_OPTIONS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        [
            "with_",
            "expressions",
            "distinct",
            "from_",
            "joins",
            "where",
            "group",
            "having",
            "qualify",
            "windows",
            "order",
            "limit",
            "offset",
            "sample",
        ]
    ),
    exp.Table: frozenset(["this", "alias", "db", "joins", "sample", "ordinality"]),
    exp.Subquery: frozenset(
        ["this", "alias", "with_", "order", "limit", "offset", "joins", "sample"]
    ),
    exp.Join: frozenset(["this", "on", "side", "kind", "using", "method"]),
    exp.Lateral: frozenset(["this", "alias", "ordinality"]),
    exp.Unnest: frozenset(["expressions", "alias", "offset"]),
    exp.In: frozenset(["this", "expressions", "query", "field", "unnest"]),
    exp.CTE: frozenset(["this", "alias", "materialized"]),
    exp.With: frozenset(["expressions", "recursive"]),
    exp.Group: frozenset(["expressions", "grouping_sets", "cube", "rollup", "all"]),
    exp.TableSample: frozenset(["method", "percent", "rows", "size", "seed"]),
    exp.Star: frozenset(["except_", "replace", "rename"]),
}
_WRITES = (
    *(exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter),
    *(exp.Copy, exp.TruncateTable, exp.Into),
)
_WORDS = re.compile(r"[A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*")
_BARE = re.compile(r"[\w$#@]+")
_NUMBER = re.compile(r"[0-9A-Za-z_.+-]*")
_TEXTS: dict[type[exp.Expr], re.Pattern[str] | None] = {
    **dict.fromkeys((exp.RawString, exp.ByteString, exp.National, exp.UnicodeString)),
    exp.HexString: _NUMBER,
    exp.BitString: _NUMBER,
}
"""What the text of a node may be; None: it is always written in quotes."""
_NAMES = {
    "into": "SELECT … INTO",
    "locks": "a row lock (FOR UPDATE, FOR SHARE)",
    "hint": "an optimiser hint",
    "hints": "an index or table hint",
    "indexed": "an index hint",
    "operation_modifiers": "a modifier such as SQL_CALC_FOUND_ROWS",
    "pivots": "PIVOT",
    "version": "FOR SYSTEM_TIME",
    "when": "a past version of a table",
    "only": "ONLY",
    "rows_from": "ROWS FROM",
    "catalog": "a table of another database",
    "partition": "a named partition",
    "laterals": "LATERAL VIEW",
}
_PLAIN = "Write the query with plain SELECT clauses."


def is_writing(node: exp.Expr) -> bool:
    """Whether the node would change data or the schema."""
    return isinstance(node, _WRITES)


def check_plain_words(node: exp.Expr) -> None:
    """Raise `QueryRefused` if text of a node that stands for a keyword is more than a word.

    The parser takes a quoted name for a word in places (`EXTRACT("…" FROM d)`).
    """
    pattern = _TEXTS.get(type(node), _WORDS)
    for value in node.args.values():
        if isinstance(value, str) and not (pattern is None or pattern.fullmatch(value)):
            raise refusal(
                "node_not_allowed",
                f"{value[:60]!r} stands where a keyword should.",
                hint="Write a plain keyword there, without quotes.",
            )


def check_node(node: exp.Expr, dialect: Dialect) -> None:
    """Raise `QueryRefused` unless the node, and each option it uses, is on the list."""
    kind = type(node)
    if kind not in NODES:
        raise _node_refusal(node)
    if isinstance(node, exp.Identifier | exp.Literal):
        _check_bare(node)
    allowed = _OPTIONS.get(kind)
    if allowed is not None:
        for option, value in node.args.items():
            if option not in allowed and value not in (None, False, []):
                raise _option_refused(option, kind)
    if kind is exp.Table and node.args.get("indexed") is False:
        raise _option_refused("indexed", kind)
    if kind is exp.DataType:
        _check_type(node, dialect)
    if kind is exp.TableSample:
        _check_sample(node)


def _check_bare(node: exp.Identifier | exp.Literal) -> None:
    """An unquoted name is made of letters and digits; a number looks like one."""
    if isinstance(node, exp.Identifier):
        is_plain = node.quoted or _BARE.fullmatch(node.name)
    else:
        is_plain = node.is_string or _NUMBER.fullmatch(node.name)
    if not is_plain:
        raise refusal(
            "node_not_allowed",
            f"{node.name[:60]!r} is neither a name nor a number.",
            hint="Quote the name, or write the number with digits.",
        )


def _node_refusal(node: exp.Expr) -> Exception:
    name = type(node).__name__
    if is_writing(node):
        return refusal(
            "statement_writes",
            f"A part of the statement would write ({name}).",
            hint="Only queries that read are run: use SELECT alone.",
        )
    if isinstance(node, exp.Lock):
        return _option_refused("locks", exp.Select)
    if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
        return refusal(
            "node_not_allowed",
            "The statement has a parameter or variable.",
            hint="Write the value itself in the statement.",
        )
    if isinstance(node, exp.ObjectIdentifier | exp.PseudoType):
        return _type_refused(node)
    return refusal("node_not_allowed", f"{name} is not allowed in a query.", hint=_PLAIN)


def _option_refused(option: str, kind: type[exp.Expr]) -> Exception:
    what = _NAMES.get(option, f"{kind.__name__} with {option}")
    if option == "into":
        hint = "Results are stored for you; leave INTO out."
        return refusal("statement_writes", f"{what} writes.", hint=hint)
    if option == "locks":
        return refusal("locking", f"The query takes {what}.", hint="Leave the lock out.")
    return refusal("node_not_allowed", f"The query uses {what}.", hint=f"Leave it out. {_PLAIN}")


def _check_type(node: exp.Expr, dialect: Dialect) -> None:
    if node.this != exp.DType.USERDEFINED:
        return
    kind = node.args.get("kind")
    if not isinstance(kind, exp.Identifier) or kind.name.lower() not in dialect.extra_types:
        raise _type_refused(node)


def _check_sample(node: exp.Expr) -> None:
    """How much to take is a plain number: names in a query written there would not be looked up."""
    if all(isinstance(part, exp.Literal | exp.Var) for part in node.iter_expressions()):
        return
    raise refusal(
        "node_not_allowed",
        "The size of a sample is more than a number.",
        hint="Write the number of rows or the percentage itself.",
    )


def _type_refused(node: exp.Expr) -> Exception:
    return refusal(
        "type_not_allowed",
        f"The type {node.sql()[:60]} is not allowed.",
        hint="Cast to a built-in type: INTEGER, DECIMAL, DOUBLE, TEXT, DATE, TIMESTAMP, JSON.",
    )


MAX_DEPTH = 1_000  # of the tree; SQLite stops there, and others near it
_UNIT_NAMES = "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR"
_UNITS = frozenset(_UNIT_NAMES.split())


def parse(sql: str, dialect_name: str) -> ParsedStatement:
    """The query in `sql`, read as the dialect reads it. Raises `QueryRefused` otherwise."""
    dialect = dialect_of(dialect_name)
    text, tokens, spaces = tokenize(clean(sql), dialect)
    try:
        tree = _only_query(_trees(tokens, text, dialect))
        _check_depth(tree)
        if dialect.function_schema:
            _drop_function_schema(tree, dialect.function_schema)
        for node in tree.walk():
            _check(node, dialect)
    except RecursionError:
        raise too_deep() from None
    check_words(text, tokens, tree)
    return ParsedStatement(text, dialect, tuple(tokens), tree, spaces=spaces)


def _trees(tokens: list[Token], text: str, dialect: Dialect) -> list[exp.Expr]:
    try:
        trees = parser_of(dialect).parse(dialect.tokens_to_parse(tokens), text)
    except SqlglotError as error:
        raise unparsable(str(error)) from error
    except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
        # the parser trips over its own feet on some texts that are no SQL
        raise unparsable("it is no SQL the parser knows.") from error
    return [one for one in trees if one is not None]


def _only_query(trees: list[exp.Expr]) -> exp.Query:
    if len(trees) != 1:
        raise refusal(
            "several_statements",
            f"There are {len(trees)} statements.",
            hint="Send one query at a time.",
        )
    tree = trees[0]
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Values | exp.Select | exp.SetOperation | exp.Subquery):
        return cast(exp.Query, tree)  # Values is a query in all but its class
    raise refusal(
        "statement_writes" if is_writing(tree) else "not_a_query",
        f"The statement is {type(tree).__name__}, not a query.",
        hint="Send one SELECT, WITH or VALUES query.",
    )


def _drop_function_schema(tree: exp.Expr, name: str) -> None:
    """Take `pg_catalog.lower(x)` for `lower(x)`, which is sent in that form anyway."""
    for node in list(tree.find_all(exp.Dot, exp.Column, exp.Table)):
        schema, called = (
            (node.this, node.expression)
            if isinstance(node, exp.Dot)
            else (node.args.get("table") or node.args.get("db"), node.this)
        )
        if not isinstance(schema, exp.Identifier) or schema.name != name:
            continue
        function = called.this if isinstance(called, exp.Filter | exp.WithinGroup) else called
        if isinstance(function, exp.Anonymous):
            function.meta[HAS_SCHEMA] = True
            if isinstance(node, exp.Table):
                node.set("db", None)
            else:
                node.replace(called)


def _check_depth(tree: exp.Expr) -> None:
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise too_deep()


def _check(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node, exp.Identifier | exp.Literal):
        check_plain_words(node)
    if isinstance(node, exp.Func):
        check_function(node, dialect)
        _unit_is_a_word(node, dialect)
        return
    check_node(node, dialect)
    if isinstance(node, exp.Table):
        _check_table(node, dialect)
    elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        raise refusal(
            "function_not_allowed",
            f"The function {node.expression.name[:60]} is called through a schema or value.",
            hint="Call a built-in function by its plain name.",
        )
    elif isinstance(node, exp.In) and node.args.get("field") and not dialect.in_takes_a_column:
        raise refusal(
            "node_not_allowed",
            "IN is followed by a bare name.",
            hint="Write IN (SELECT … FROM …) or IN (value, …).",
        )


def _unit_is_a_word(node: exp.Func, dialect: Dialect) -> None:
    """Some functions take a unit of time where others have a value: it is no column."""
    if dialect.unit_functions and name_of(node) in dialect.unit_functions:
        unit = next(iter(node.expressions), None)
        if isinstance(unit, exp.Column) and unit.name.upper() in _UNITS:
            unit.replace(exp.Var(this=unit.name.upper()))


def _check_table(node: exp.Table, dialect: Dialect) -> None:
    if not isinstance(node.this, exp.Identifier):
        return  # a function, checked as such
    name, schema = node.name.lower(), node.db.lower()
    names = dialect.system_tables
    if schema in dialect.system_schemas or (names and names.match(name)):
        raise refusal(
            "system_table",
            f"{node.name[:60]} is a system table.",
            hint="Ask the catalogue for tables and columns; query only those.",
        )
