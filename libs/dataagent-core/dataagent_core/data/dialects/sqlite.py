"""SQLite's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dataagent_core.data.dialects.base import (
    JSON_ROWS,
    STEP_FORMATS,
    Dialect,
    TimeStep,
    function_names,
)

if TYPE_CHECKING:
    from sqlglot import exp

_FUNCTIONS = (
    "acosh asinh atanh char cosh datetime format glob group_concat hex ifnull iif instr json "
    "json_array json_array_length json_error_position json_extract json_group_array "
    "json_group_object json_insert json_object json_patch json_pretty json_quote json_remove "
    "json_replace json_set json_type json_valid julianday like likelihood likely log2 median "
    "octet_length percentile percentile_cont percentile_disc printf quote random sinh soundex "
    "strftime string_agg tanh time timediff total trunc typeof unhex unicode unixepoch unlikely"
)


@dataclass(frozen=True)
class Sqlite(Dialect):
    """SQLite, since 3.38."""

    url_names = ("sqlite",)
    engine = "sqlite"
    is_file = True
    file_endings = (".sqlite", ".sqlite3", ".db")
    file_start = (0, b"SQLite format 3\x00")
    read_only = (
        "PRAGMA query_only = ON",
        "PRAGMA trusted_schema = OFF",
    )

    default_schema = "main"
    system_tables = re.compile(r"sqlite_|pragma_|dbstat\b|temp\.sqlite_")

    has_fixed_operators = True
    # a cast is by affinity: no type may move to another
    cast_types: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("BOOLEAN", "DECIMAL", "DATE", "DATETIME", "TIMESTAMP", "TIMESTAMPNTZ", "TIME"), "NUMERIC"
    )

    functions = function_names(_FUNCTIONS)
    table_functions: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("json_each", "json_tree"), JSON_ROWS
    )

    alias_clauses = frozenset({"order", "group", "having", "where"})
    row_ids = ("rowid", "_rowid_", "oid")
    reads_names_as_text = True
    orders_by_every_arm = True
    recurses_without_word = True
    recurses_in_every_arm = True

    labels = "text"
    labels_hold_comments = True

    text_type = "TEXT"
    types_bind_values = False

    def with_barrier(self, query: exp.Select) -> exp.Select:
        """The query with a LIMIT that sets none."""
        return query.limit(-1, copy=False)

    def time_step(self, column: str, step: TimeStep, *, is_text: bool) -> str | None:
        """By STRFTIME, which takes the format first and knows no quarters."""
        if step == "quarter":
            quarter = f"(CAST(STRFTIME('%m', {column}) AS INTEGER) + 2) / 3"
            return f"STRFTIME('%Y', {column}) || '-Q' || CAST({quarter} AS TEXT)"
        return f"STRFTIME('{STEP_FORMATS[step]}', {column})"
