"""Which parts a query may be made of: node types and, where a type has risky options, its options.

Lists of what is allowed; what a new version of the parser adds is refused until it is listed.
Functions have lists of their own (`functions.py`). Nothing here looks at names of tables.
"""

from __future__ import annotations

import re

from sqlglot import exp

from dataagent_core.data.guard.refusals import refusal

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
_JSON = (
    "JSON JSONPath JSONPathFilter JSONPathKey JSONPathPart JSONPathRecursive JSONPathRoot "
    "JSONPathScript JSONPathSelector JSONPathSlice JSONPathSubscript JSONPathUnion "
    "JSONPathWildcard JSONKeyValue JSONValue JSONExtractQuote JSONSchema JSONColumnDef "
    "FormatJson OnCondition"
)

NODES: frozenset[type[exp.Expr]] = frozenset(
    getattr(exp, name)
    for group in (_SELECT_PARTS, _VALUES, _OPERATORS, _JSON)
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
_MORE_TYPES = frozenset(
    (
        *("box", "cidr", "circle", "jsonpath", "line", "lseg", "macaddr", "macaddr8", "path"),
        *("point", "polygon", "tsquery", "tsvector"),
    )
)
"""Built-in types of PostgreSQL that the parser does not know."""
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


def check_node(node: exp.Expr) -> None:
    """Raise `QueryRefused` unless the node, and each option it uses, is on the list."""
    kind = type(node)
    if kind not in NODES:
        raise _refused(node)
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
        _check_type(node)
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


def _refused(node: exp.Expr) -> Exception:
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
        hint = "Results are kept for you; leave INTO out."
        return refusal("statement_writes", f"{what} writes.", hint=hint)
    if option == "locks":
        return refusal("locking", f"The query takes {what}.", hint="Leave the lock out.")
    return refusal("node_not_allowed", f"The query uses {what}.", hint=f"Leave it out. {_PLAIN}")


def _check_type(node: exp.Expr) -> None:
    if node.this != exp.DType.USERDEFINED:
        return
    kind = node.args.get("kind")
    if not isinstance(kind, exp.Identifier) or kind.name.lower() not in _MORE_TYPES:
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
