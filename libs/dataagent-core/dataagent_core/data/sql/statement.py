"""A statement as its author wrote it: text, tokens, and the tree that was parsed from them.

What reaches the driver is the author's own tokens (`render.py`); the tree says what they mean. So
two readings of one text must agree, ours and the engine's. The checks here keep them together:
between tokens there is only white space and comments, which are not sent; a number is a number in
every engine; and each word of the text is a name or function that the tree holds, or a keyword that
is known to be harmless. What writes, locks, reads files, changes settings or hints to an optimiser
is not among the keywords.

sqlglot knows hundreds of functions and rewrites many so that they mean the same in another dialect.
A query here stays in its own: `mod(7.5, 2)` must not become `7.5 % 2`, `x -> 'a.b'` not
`x -> '$.a.b'`, and no argument may get lost. So the parser keeps a call's name and arguments,
except where its syntax is special (`CAST(x AS t)`), and a JSON path stays the text it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.refusals import Reason, refusal

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
    parsers_to_keep = {name: parsers[name] for name in special if name in parsers}
    own: dict[str, Any] = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": parsers_to_keep,
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


_CLAUSES = (
    "SELECT DISTINCT DISTINCTROW ALL FROM WHERE GROUP BY HAVING QUALIFY WINDOW ORDER LIMIT OFFSET "
    "FETCH FIRST NEXT ROW ROWS ONLY TIES PERCENT WITH RECURSIVE AS MATERIALIZED NOT UNION "
    "INTERSECT EXCEPT MINUS NAME VALUES TABLE LATERAL UNNEST ORDINALITY TABLESAMPLE SAMPLE USING "
    "REPEATABLE BERNOULLI SYSTEM RESERVOIR DUAL"
)
_JOINS = "JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL SEMI ANTI ASOF POSITIONAL ON STRAIGHT_JOIN"
_EXPRESSIONS = (
    "AND OR XOR IN IS NULL TRUE FALSE UNKNOWN BETWEEN SYMMETRIC ASYMMETRIC LIKE ILIKE SIMILAR TO "
    "ESCAPE GLOB MATCH AGAINST REGEXP RLIKE SOUNDS EXISTS ANY SOME CASE WHEN THEN ELSE END CAST "
    "TRY_CAST CONVERT COLLATE AT ZONE LOCAL ARRAY LIST MAP STRUCT ROW INTERVAL DIV MOD ISNULL "
    "NOTNULL LAMBDA FOR IF EXTRACT TRIM BOTH LEADING TRAILING SUBSTRING POSITION OVERLAY PLACING "
    "NORMALIZE NORMALIZED GROUP_CONCAT NFC NFD NFKC NFKD DOCUMENT VARIADIC BINARY ORDINAL OVERLAPS"
)
_WINDOWS = (
    "OVER PARTITION RANGE GROUPS UNBOUNDED PRECEDING FOLLOWING CURRENT EXCLUDE OTHERS NO IGNORE "
    "RESPECT NULLS LAST FILTER WITHIN SEPARATOR ASC DESC NOTHING"
)
_GROUPS = "GROUPING SETS SET CUBE ROLLUP"
_STARS = "REPLACE RENAME COLUMNS"
_SEARCH = "QUERY EXPANSION LANGUAGE MODE BOOLEAN NATURAL"
_JSON = (
    "JSON JSON_TABLE NESTED PATH ORDINALITY ERROR EMPTY DEFAULT COLUMNS FORMAT KEY VALUE ABSENT "
    "WRAPPER CONDITIONAL UNCONDITIONAL KEEP OMIT QUOTES SCALAR RETURNING UNIQUE KEYS PASSING"
)
_TYPES = (
    "BIT BOOL BOOLEAN TINYINT SMALLINT MEDIUMINT INT INT1 INT2 INT4 INT8 INT16 INT32 INT64 INT128 "
    "HUGEINT UHUGEINT INTEGER BIGINT SIGNED UNSIGNED UTINYINT USMALLINT UINTEGER UBIGINT UINT8 "
    "UINT16 UINT32 UINT64 SHORT LONG DECIMAL DEC NUMERIC NUMBER MONEY FIXED FLOAT FLOAT4 FLOAT8 "
    "REAL DOUBLE PRECISION CHAR NCHAR CHARACTER VARYING VARCHAR NVARCHAR BPCHAR TEXT TINYTEXT "
    "MEDIUMTEXT LONGTEXT STRING CLOB NATIONAL BLOB TINYBLOB MEDIUMBLOB LONGBLOB BYTEA BYTES "
    "BINARY VARBINARY DATE TIME DATETIME TIMESTAMP TIMESTAMPTZ TIMETZ TIMESTAMP_S TIMESTAMP_MS "
    "TIMESTAMP_NS TIMESTAMP_US WITHOUT INTERVAL UUID JSON JSONB XML INET CIDR MACADDR TSVECTOR "
    "TSQUERY POINT LINE LSEG BOX PATH POLYGON CIRCLE GEOMETRY ENUM INT4RANGE INT8RANGE NUMRANGE "
    "TSRANGE TSTZRANGE DATERANGE INT4MULTIRANGE INT8MULTIRANGE NUMMULTIRANGE TSMULTIRANGE "
    "TSTZMULTIRANGE DATEMULTIRANGE UNION VARINT BIGNUM OID CHARSET ANY NAME VARIANT TIME_NS"
)
_UNITS = (
    "MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS MINUTE MINUTES HOUR HOURS "
    "DAY DAYS WEEK WEEKS MONTH MONTHS QUARTER QUARTERS YEAR YEARS DECADE DECADES CENTURY CENTURIES "
    "MILLENNIUM MILLENNIUMS MILLENNIA EPOCH DOW DOY ISODOW ISOYEAR YEARWEEK JULIAN TIMEZONE "
    "TIMEZONE_HOUR TIMEZONE_MINUTE DAYOFWEEK DAYOFYEAR WEEKDAY WEEKOFYEAR ERA NANOSECOND "
    "NANOSECONDS US MS S M H D SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND "
    "HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR "
    "YEAR_MONTH SQL_TSI_SECOND SQL_TSI_MINUTE SQL_TSI_HOUR SQL_TSI_DAY SQL_TSI_WEEK "
    "SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR"
)
_CLOCK = (
    "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP UTC_DATE UTC_TIME "
    "UTC_TIMESTAMP"
)
_SCHEMAS = "PG_CATALOG"
_CHARACTER_SETS = "_UTF8 _UTF8MB3 _UTF8MB4 _LATIN1 _BINARY _ASCII UTF8 UTF8MB3 UTF8MB4 LATIN1 ASCII"

KEYWORDS: frozenset[str] = frozenset(
    word
    for group in (
        *(_CLAUSES, _JOINS, _EXPRESSIONS, _WINDOWS, _GROUPS, _STARS, _SEARCH, _JSON, _TYPES),
        *(_UNITS, _CLOCK, _SCHEMAS, _CHARACTER_SETS),
    )
    for word in group.split()
)


MAX_BYTES = 100_000
MAX_TOKENS = 10_000
MAX_INDEXES = 200  # the parser takes quadratic time for a[1][1]…
MAX_NESTING = 30
MAX_BARE_JOINS = 6  # the parser takes twice as long for each JOIN that has no ON or USING

_FENCE = re.compile(r"\A```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<sql>.*)```\Z", re.DOTALL)
_ONE_QUERY = "Send one SELECT, WITH or VALUES query."
OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_BEFORE_AN_ITEM = {
    *(TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.COMMA, TokenType.GROUP_BY)
}
AFTER_AN_ITEM = {
    *(TokenType.COMMA, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING),
    *(TokenType.WINDOW, TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET),
    *(TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.FETCH),
}
_JOIN_SIDES = {*(TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.OUTER)}
_QUERY_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}
_AFTER_A_KEY = {TokenType.COLON, TokenType.FARROW}
_LITERALS = {
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.IDENTIFIER,
    TokenType.BIT_STRING,
    TokenType.HEX_STRING,
    TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
}
_NUMBER = re.compile(r"(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[^\W\d][\w$]*")
_PLAIN_SPACE = re.compile(r"[ \t\r\n]+")  # what every engine takes for white space
_SIGNS = re.compile(r"[-+*/<>=~!@#%^&|?]+")
_OPERATORS = (
    "<> != <= >= == || << >> ** // && @@ @> <@ ~* ~~ ~~* !~ !~* !~~ !~~* ^@ -> ->> #> #>> |/ ||/ "
    "!! ?- ?| ?-| ?|| ?# @-@ ## <-> &< &> <<| |>> &<| |&> <^ >^ -|- @@@ ~="
)
_TWO_STEPS = frozenset(_OPERATORS.split())
_WRITING = (
    "INSERT UPDATE DELETE REPLACE MERGE TRUNCATE CREATE DROP ALTER RENAME GRANT REVOKE COPY "
    "EXPORT IMPORT LOAD INSTALL ATTACH DETACH VACUUM REINDEX CLUSTER COMMENT REFRESH CHECKPOINT "
    "OPTIMIZE REPAIR PURGE"
)
_REASONS: dict[str, Reason] = {
    **dict.fromkeys(_WRITING.split(), "statement_writes"),
    "LOCK": "locking",
}


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """One query: `tree` is what `tokens`, which are places in `text`, mean in the dialect."""

    text: str
    dialect: Dialect
    tokens: tuple[Token, ...]
    tree: exp.Query
    notes: tuple[str, ...] = ()
    """What the reader should know about how it was read."""
    spaces: tuple[int, ...] = ()
    """Where `text` has a space that its author did not write."""

    def item_at(self, start: int) -> tuple[int, int]:
        """The first and last character of the item of a list that has a token at `start`."""
        tokens = self.tokens
        first = last = bisect_right(tokens, start, key=lambda token: token.start) - 1
        depth = 0
        while first > 0:
            kind = tokens[first - 1].token_type
            depth += (kind in CLOSING) - (kind in OPENING)
            if depth < 0 or (depth == 0 and kind in _BEFORE_AN_ITEM):
                break
            first -= 1
        depth = 0
        while last < len(tokens) - 1:
            kind = tokens[last + 1].token_type
            depth += (kind in OPENING) - (kind in CLOSING)
            if depth < 0 or (depth == 0 and kind in AFTER_AN_ITEM):
                break
            last += 1
        return tokens[first].start, tokens[last].end


def clean(sql: str) -> str:
    """The statement without white space, a Markdown fence and semicolons around it.

    Raises `QueryRefused` for text that no statement needs: too long, NUL, half characters, nothing.
    """
    if "\x00" in sql:
        raise refusal("nul_byte", "The statement holds a NUL character.", hint="Remove it.")
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise refusal(
            "bad_text", "The statement holds half of a character.", hint="Send valid Unicode."
        ) from None
    if size > MAX_BYTES:
        raise _too_long(f"{size:,} bytes, more than the {MAX_BYTES:,} allowed")
    text = sql.strip().removeprefix("\ufeff")
    fenced = _FENCE.match(text)
    text = (fenced["sql"] if fenced else text).strip()
    while text.endswith(";"):
        text = text[:-1].rstrip()
    if not text:
        raise refusal("empty", "There is no statement.", hint=_ONE_QUERY)
    return text


def tokenize(text: str, dialect: Dialect) -> tuple[str, list[Token], tuple[int, ...]]:
    """The statement's tokens, the text they are places in, and where that has spaces of ours.

    The text differs from what was passed in by those alone: the tokenizer takes `1e3+1` for one
    number, and is helped by a space. Raises `QueryRefused` by what tokens alone can tell.
    """
    try:
        tokens = tokens_of(text, dialect)
        spaces: tuple[int, ...] = ()
        if ends := _ends_of_numbers(text, tokens):
            bounds = zip([0, *ends], [*ends, None], strict=True)
            text = " ".join(text[start:end] for start, end in bounds)
            tokens = tokens_of(text, dialect)
            spaces = tuple(end + number for number, end in enumerate(ends))
    except TokenError as error:
        raise unparsable(str(error)) from error
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:  # and a comment after it
        text = text[: tokens.pop().start]
    if not tokens:
        raise refusal("empty", "There is only a comment.", hint=_ONE_QUERY)
    _check_start(tokens)
    _check_amounts(tokens)
    _check_gaps(text, tokens, dialect)
    _check_nesting(tokens)
    for token in tokens:
        if token.token_type == TokenType.NUMBER and not _NUMBER.fullmatch(_slice(text, token)):
            raise unparsable(f"{_slice(text, token)[:60]!r} is not a number.")
    return text, tokens, spaces


def check_words(text: str, tokens: list[Token], tree: exp.Expr) -> None:
    """Raise `QueryRefused` for a word that is neither in the tree nor a harmless keyword.

    The parser passes over some words without leaving a trace in the tree; the engine would not.
    """
    known = {
        node.meta["start"] for node in tree.walk() if "start" in node.meta
    }  # of names and of functions
    for index, token in enumerate(tokens):
        if token.token_type in _LITERALS or token.start in known:
            continue
        if index and tokens[index - 1].text.upper() == "COLLATE":
            continue
        if index + 1 < len(tokens) and tokens[index + 1].token_type in _AFTER_A_KEY:
            continue  # as in {a: 1}, or f(a => 1)
        for word in _WORD.findall(_slice(text, token)):
            if word.upper() not in KEYWORDS:
                raise refusal(
                    "not_parsable",
                    f"The word {word[:60]} is not understood where it stands.",
                    hint="Leave it out, or put a name in quotes.",
                )


def unparsable(why: str) -> Exception:
    """The refusal of a text that is no statement of the dialect."""
    plain = re.sub(r"\x1b\[\d+m", "", why).split("\n")[0]
    hint = "Correct the syntax for this source's SQL dialect, and send one query."
    return refusal("not_parsable", f"The statement cannot be read: {plain}", hint=hint)


def too_deep() -> Exception:
    """The refusal of a statement whose parts are nested too deep to be checked."""
    hint = "Name inner queries in a WITH clause instead of nesting them."
    return refusal("too_deep", f"The statement nests more than {MAX_NESTING} levels.", hint=hint)


def _too_long(what: str) -> Exception:
    hint = "Ask for less in one statement; join with a table instead of listing values."
    return refusal("too_long", f"The statement has {what}.", hint=hint)


def _slice(text: str, token: Token) -> str:
    return text[token.start : token.end + 1]


def _ends_of_numbers(text: str, tokens: list[Token]) -> list[int]:
    """Where a number ends that the tokenizer reads on from."""
    return [
        token.start + number.end()
        for token in tokens
        if token.token_type in {TokenType.NUMBER, TokenType.VAR}
        and (number := _NUMBER.match(_slice(text, token)))
        and token.start + number.end() <= token.end
        and text[token.start + number.end()] in "+-"
    ]


def _check_amounts(tokens: list[Token]) -> None:
    """Bounds on what the parser is given: some shapes take it more than linear time."""
    if len(tokens) > MAX_TOKENS:
        raise _too_long(f"{len(tokens):,} words and signs, more than the {MAX_TOKENS:,} allowed")
    indexes = sum(token.token_type == TokenType.L_BRACKET for token in tokens)
    if indexes > MAX_INDEXES:
        raise _too_long(f"{indexes:,} square brackets, more than the {MAX_INDEXES} allowed")
    if (joins := _bare_joins(tokens)) > MAX_BARE_JOINS:
        raise refusal(
            "too_large",
            f"There are {joins} JOINs without ON or USING.",
            hint="Write ON after each JOIN, or CROSS JOIN.",
        )


def _bare_joins(tokens: list[Token]) -> int:
    """How many JOINs have no condition, and are not CROSS or NATURAL."""
    bare = 0
    waiting = [0]  # for a condition, by depth of brackets
    before: TokenType | None = None
    side: TokenType | None = None  # the word before LEFT, RIGHT, INNER, OUTER
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            waiting.append(0)
        elif kind == TokenType.R_PAREN and len(waiting) > 1:
            bare += waiting.pop()
        elif kind == TokenType.JOIN:
            waiting[-1] += not {before, side} & {TokenType.CROSS, TokenType.NATURAL}
        elif kind in {TokenType.ON, TokenType.USING}:
            waiting[-1] = max(waiting[-1] - 1, 0)
        side = side if kind in _JOIN_SIDES and before in _JOIN_SIDES else before
        before = kind
    return bare + sum(waiting)


def _check_gaps(text: str, tokens: list[Token], dialect: Dialect) -> None:
    """Between tokens there is white space and comments as the engine knows them, nothing else."""
    end = 0
    for token in tokens:
        _check_gap(text[end : token.start], dialect)
        end = token.end + 1
    _check_gap(text[end:], dialect)


def _check_gap(gap: str, dialect: Dialect) -> None:
    at = 0
    while at < len(gap):
        if gap[at].isspace():
            at += 1
        elif gap.startswith(dialect.line_comments, at):
            at = min(_find(gap, "\n", at), _find(gap, "\r", at))
        elif gap.startswith("/*", at):
            at = _comment_end(gap, at, dialect)
        else:
            raise unparsable(f"{gap[at : at + 20]!r} is neither a word nor a comment.")


def _comment_end(gap: str, at: int, dialect: Dialect) -> int:
    if dialect.executable_comment and dialect.executable_comment.match(gap, at):
        raise refusal(
            "executable_comment",
            "The statement holds a comment that the server would run (/*! … */).",
            hint="Write the statement without it.",
        )
    depth, position = 1, at + 2
    while depth and position < len(gap):
        if gap.startswith("*/", position):
            depth, position = depth - 1, position + 2
        elif gap.startswith("/*", position):
            if not dialect.nests_comments:
                raise unparsable("a comment stands inside a comment.")
            depth, position = depth + 1, position + 2
        else:
            position += 1
    if depth:  # the tokenizer takes `/*/*/` for a whole one
        raise unparsable("a comment has no end.")
    return position


def _find(text: str, part: str, start: int) -> int:
    found = text.find(part, start)
    return len(text) if found < 0 else found


def _check_nesting(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in OPENING:
            depth += 1
            if depth > MAX_NESTING:
                raise too_deep()
        elif token.token_type in CLOSING:
            depth = max(depth - 1, 0)


def _check_start(tokens: list[Token]) -> None:
    """Whether it begins as a query does; what does not is never given to the parser."""
    first = next((one for one in tokens if one.token_type != TokenType.L_PAREN), tokens[0])
    word = first.text.upper().split()[0] if first.text.strip() else first.text
    if first.token_type in _QUERY_STARTS or word in {"FROM", "TABLE"}:
        return
    reason = _REASONS.get(word, "not_a_query")
    what = "changes data or the schema" if reason == "statement_writes" else "is not a query"
    shown = word[:40]
    raise refusal(reason, f"A statement that starts with {shown} {what}.", hint=_ONE_QUERY)


def gaps(statement: ParsedStatement) -> Iterator[tuple[Token, str]]:
    """Each token with what separates it from the one before: white space as written, no comment.

    SQLite and MySQL call an output by its text, so a second space counts.
    Signs that the tokenizer took apart are sent apart, unless together they are an operator that it
    reads in two steps: an engine would take `@` and `#` for an operator of that name.
    """
    end: int | None = None
    before = ""
    for token in statement.tokens:
        gap = "" if end is None else statement.text[end : token.start]
        written = _slice(statement.text, token)
        if gap:
            is_plain = _PLAIN_SPACE.fullmatch(gap)
            yield token, gap if is_plain else "\n" if "\n" in gap else " "
        elif _SIGNS.fullmatch(before) and _SIGNS.fullmatch(written):
            yield token, "" if _may_touch(before, written, statement.dialect) else " "
        else:
            yield token, ""
        end, before = token.end + 1, written


def _may_touch(before: str, written: str, dialect: Dialect) -> bool:
    if dialect.has_fixed_operators and written in {"+", "-", "~"}:
        return before[-1] + written != "--"
    return before + written in _TWO_STEPS
