"""What differs between SQL dialects, and the defaults for a dialect that says nothing else.

A dialect is a subclass in a module of its own, and the only place where its rules are written. Its
fields are facts about the database; its methods take and return parts of sqlglot's trees. sqlglot
is loaded by the first method that needs it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = (
    "all alter analyse analyze and any array as asc between both by case cast check column"
    " columns condition constraint create cross current current_date current_user database default"
    " delete desc describe distinct div do drop else end except exists explain false fetch filter"
    " for foreign from full function grant group groups having if in index inner insert intersect"
    " interval into is join key keys lateral leading left like limit lock match mod natural not"
    " null of off offset on only option or order outer over partition pivot primary procedure"
    " qualify range rank read references release rename repeat replace return right row rows"
    " sample schema select set show some symmetric system table tables then to trailing trigger"
    " true union unique unpivot update usage use user using values varying view when where while"
    " window with write year_month"
)
_RESERVED_WORDS = frozenset(_RESERVED.split())

Direction = Literal["asc", "desc"]
TimeStep = Literal["day", "month", "quarter", "year"]
Labels = Literal["text", "expression", "name"]
"""Of outputs: the text; the expression in the database's spelling; a name without its details."""
STEP_FORMATS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
JSON_ROWS = ("key", "value", "type", "atom", "id", "parent", "fullkey", "path")
"""The columns of `json_each` and `json_tree`, in SQLite and DuckDB."""
COMMON_FUNCTIONS = (
    "abs acos asin atan atan2 avg ceil ceiling coalesce concat concat_ws cos count cume_dist date "
    "degrees dense_rank exp first_value floor greatest lag last_value lead least left length ln "
    "log log10 lower lpad ltrim max md5 min mod nth_value ntile nullif percent_rank pi pow power "
    "radians rank repeat replace reverse right round row_number rpad rtrim sign sin sqrt stddev "
    "stddev_pop stddev_samp substr substring sum tan trim upper var_pop var_samp variance"
)


@dataclass(frozen=True)
class Dialect:
    """One SQL dialect. `name` is sqlglot's."""

    name: str

    # -- where it is found --------------------------------------------------------------------

    url_names: ClassVar[tuple[str, ...]] = ()
    """What stands before `://` in addresses of such databases, without the driver."""
    engine: ClassVar[str] = "generic"
    """The module of `engines/` that opens it."""
    is_file: ClassVar[bool] = False
    file_endings: ClassVar[tuple[str, ...]] = ()
    file_start: ClassVar[tuple[int, bytes] | None] = None
    """What such a file has near its beginning: where, and which bytes."""
    shares_processes: ClassVar[bool] = False
    """Whether all sources of the kind are read by one set of processes."""
    read_only: ClassVar[tuple[str, ...]] = ()
    """The statements that keep what follows on a connection from writing."""

    # -- names --------------------------------------------------------------------------------

    quote: ClassVar[str] = '"'
    other_quotes: ClassVar[tuple[str, ...]] = ()
    """What else a name may be quoted with."""
    is_case_sensitive: ClassVar[bool] = False
    """Whether two names that differ in case are never the same."""
    default_schema: ClassVar[str | None] = None
    """The schema that needs no naming."""
    system_schemas: ClassVar[frozenset[str]] = frozenset()
    system_tables: ClassVar[re.Pattern[str] | None] = None
    """How the names of system tables begin, in lower case."""

    def stored_name(self, identifier: exp.Expr) -> str:
        """The name as the database stores what is written."""
        name = identifier.name
        return name if identifier.args.get("quoted") else self.fold_case(name)

    def fold_case(self, name: str) -> str:
        """The name as the database stores it when it is written without quotes."""
        return name

    def column_key(self, name: str) -> str:
        """Equal for two stored names of columns exactly if the database takes them for one."""
        return name if self.is_case_sensitive else ascii_lower(name)

    def table_key(self, name: str) -> str:
        """Equal for two stored names of tables or aliases if the database takes them for one."""
        return name if self.is_case_sensitive else ascii_lower(name)

    def quoted(self, name: str) -> str:
        """The name in quotes."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    # -- text ---------------------------------------------------------------------------------

    line_comments: ClassVar[tuple[str, ...]] = ("--",)
    nests_comments: ClassVar[bool] = False
    executable_comment: ClassVar[re.Pattern[str] | None] = None
    """How a comment begins that the database runs."""
    has_fixed_operators: ClassVar[bool] = False
    """Whether no operator but the sign of a comment ends in `+`, `-` or `~`."""
    regexp_operator: ClassVar[str | None] = None
    """How a match by pattern is written, where sqlglot would write a call."""
    extra_types: ClassVar[frozenset[str]] = frozenset()
    """Built-in types that sqlglot's parser does not know."""
    cast_types: ClassVar[Mapping[str, str]] = {}
    """sqlglot's names of types → what a cast to them is written with."""

    def tokens_to_parse(self, tokens: list[Token]) -> list[Token]:
        """The tokens without those that sqlglot's parser does not know."""
        return tokens

    # -- functions ----------------------------------------------------------------------------

    functions: ClassVar[frozenset[str]] = frozenset()
    """What a query may call: what depends on arguments, clock or chance, and does nothing else."""
    table_functions: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What may stand in FROM, with its columns; none: one column named after its alias or it."""
    special_functions: ClassVar[frozenset[str]] = frozenset()
    """What has a syntax of its own, beside what has it everywhere."""
    format_functions: ClassVar[frozenset[str]] = frozenset({"printf", "format"})
    """What takes a format with widths."""
    unit_functions: ClassVar[frozenset[str]] = frozenset()
    """What takes a unit of time, as a bare word, for its first argument."""
    function_schema: ClassVar[str | None] = None
    """Where built-in functions are, if a function of the same name elsewhere could be preferred."""
    functions_without_schema: ClassVar[frozenset[str]] = frozenset()
    """What takes no schema before it."""

    # -- what names mean ----------------------------------------------------------------------

    alias_clauses: ClassVar[frozenset[str]] = frozenset({"order", "group"})
    """Where an output can be named by its alias."""
    output_clauses: ClassVar[frozenset[str]] = frozenset({"order"})
    """Where a column's name can mean an output rather than a column of the sources."""
    row_ids: ClassVar[tuple[str, ...]] = ()
    """Columns that each table has, unlisted."""
    has_row_values: ClassVar[bool] = False
    """Whether a table's name stands for its row."""
    has_fields: ClassVar[bool] = False
    """Whether a column may have fields, named after a dot."""
    has_dual: ClassVar[bool] = False
    """Whether `FROM DUAL` is no FROM at all."""
    reads_names_as_text: ClassVar[bool] = False
    """Whether a name in quotes is a text where no column has it."""
    in_takes_a_column: ClassVar[bool] = False
    """Whether `x IN name` looks into a column of that name."""
    merges_columns_first: ClassVar[bool] = False
    """Whether `*` lists the columns of USING before all others."""
    merges_columns_in_table_order: ClassVar[bool] = False
    """Whether it lists them as the first table has them."""
    is_every_subquery_lateral: ClassVar[bool] = False
    names_columns_after_alias: ClassVar[bool] = False
    """Whether the one column of a function in FROM is called like the function's alias."""
    orders_by_every_arm: ClassVar[bool] = False
    """Whether ORDER BY after UNION takes a name of any arm."""
    recurses_without_word: ClassVar[bool] = False
    """Whether a WITH query may name itself without RECURSIVE."""
    recurses_in_every_arm: ClassVar[bool] = False
    """Whether it may do so in each arm of its UNION but the first."""

    def values_columns(self, count: int) -> list[str]:
        """What the columns of VALUES without an alias are called."""
        return [f"column{number}" for number in range(1, count + 1)]

    # -- labels -------------------------------------------------------------------------------

    labels: ClassVar[Labels] = "expression"
    """What an output without an alias is called."""
    labels_hold_comments: ClassVar[bool] = False
    """Whether such a text goes on to the next token."""
    longest_label: ClassVar[int | None] = None

    def label(self, node: exp.Expr, write: Callable[[exp.Expr], str]) -> str | None:
        """What an output is called; None where that is its text. `write` gives a node's text."""
        return None

    # -- policies -----------------------------------------------------------------------------

    comparisons_can_fail: ClassVar[bool] = False
    """Whether a plain comparison converts text, and fails on what is no number."""
    groups_by_primary_key: ClassVar[bool] = False
    """Whether a primary key in GROUP BY stands for all columns of its table."""
    samples_subqueries: ClassVar[bool] = True

    def with_barrier(self, query: exp.Select) -> exp.Select:
        """The query with a clause that means nothing and that is not optimised across."""
        return query

    def hmac_sha256(self, text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr | None:
        """The HMAC-SHA256 of a text, by its keys in hexadecimal; None if there is no such thing."""
        return None

    # -- statements of our own ----------------------------------------------------------------

    text_type: ClassVar[str] = "VARCHAR"
    """What a cast to text names."""
    has_backslash_escapes: ClassVar[bool] = False
    types_bind_values: ClassVar[bool] = True
    """Whether a column holds values of its declared type alone."""

    def quote_if_needed(self, name: str) -> str:
        """The name, in quotes where it must be."""
        is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _RESERVED_WORDS
        return name if is_plain and self.fold_case(name) == name else self.quoted(name)

    def literal(self, text: str) -> str:
        """A text value."""
        if self.has_backslash_escapes:
            text = text.replace("\\", "\\\\")
        return "'" + text.replace("'", "''") + "'"

    def time_step(self, column: str, step: TimeStep, *, is_text: bool) -> str | None:
        """The step of time a date falls into, as text that sorts: `2023-04`, `2023-Q2`.

        None if it is not known how. `is_text`: the column holds dates as text.
        """
        return None

    def nulls_last(self, name: str, direction: Direction, expression: str) -> str:
        """An order in which rows without a value come last. `name` stands for `expression`."""
        return f"{name} {direction.upper()} NULLS LAST"


def ascii_lower(name: str) -> str:
    """The name with the letters of ASCII in lower case, and no others."""
    return name.translate(_LOWER)


def function_names(own: str) -> frozenset[str]:
    """The names in a text, with those that every dialect has."""
    return frozenset(f"{COMMON_FUNCTIONS} {own}".split())


def quarter_by_extract(column: str) -> str:
    """The quarter of a date, in standard SQL."""
    return f"CONCAT(EXTRACT(YEAR FROM {column}), '-Q', EXTRACT(QUARTER FROM {column}))"


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a function, as it is written."""
    from sqlglot import exp  # which takes long to load

    return exp.Anonymous(this=name, expressions=list(arguments))
