"""The SQL of MySQL and MariaDB."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataagent_core.data.dialects.base import (
    STEP_FORMATS,
    Dialect,
    Direction,
    TimeStep,
    call,
    function_names,
    quarter_by_extract,
)

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_FUNCTIONS = (
    "adddate addtime any_value ascii bin bit_and bit_count bit_length bit_or bit_xor char "
    "char_length character_length chr conv convert_tz cot crc32 curdate current_date current_time "
    "current_timestamp curtime date_add date_format date_sub datediff day dayname dayofmonth "
    "dayofweek dayofyear elt export_set field find_in_set format from_base64 from_days "
    "from_unixtime grouping hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert "
    "instr is_ipv4 is_ipv6 isnull json_array json_array_append json_array_insert json_arrayagg "
    "json_compact json_contains json_contains_path json_depth json_detailed json_equals "
    "json_exists json_extract json_insert json_keys json_length json_loose json_merge "
    "json_merge_patch json_merge_preserve json_normalize json_object json_objectagg json_overlaps "
    "json_pretty json_query json_quote json_remove json_replace json_search json_set json_type "
    "json_unquote json_valid json_value last_day lcase localtime localtimestamp locate log2 "
    "make_set makedate maketime median microsecond mid minute month monthname natural_sort_key "
    "now nvl nvl2 oct octet_length ord percentile_cont percentile_disc period_add period_diff "
    "quarter quote rand regexp_instr regexp_like regexp_replace regexp_substr row sec_to_time "
    "second sformat sha sha1 sha2 soundex space std str_to_date strcmp subdate substring_index "
    "subtime sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff "
    "to_base64 to_char to_days to_seconds truncate ucase unhex unix_timestamp utc_date utc_time "
    "utc_timestamp uuid week weekday weekofyear weight_string year yearweek "
    "charset coercibility collation st_asgeojson st_astext st_aswkt st_distance "
    "st_distance_sphere st_geomfromtext st_x st_y"
)
_INTEGERS = {"INT", "INTEGER"}
_LARGEST_LIMIT = 18446744073709551615


@dataclass(frozen=True)
class Mysql(Dialect):
    """MySQL 8 and MariaDB."""

    url_names = ("mysql", "mariadb")
    engine = "mysql"
    read_only = (
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION READ ONLY",
    )

    quote = "`"
    system_schemas = frozenset({"mysql", "information_schema", "performance_schema", "sys"})

    line_comments = ("--", "#")
    executable_comment = re.compile(r"/\*M?!")
    has_fixed_operators = True
    regexp_operator = "REGEXP"  # MariaDB has no REGEXP_LIKE

    functions = function_names(_FUNCTIONS)
    special_functions = frozenset({"CONVERT", "GROUP_CONCAT", "MATCH"})
    format_functions = frozenset()  # `format` rounds a number
    unit_functions = frozenset({"timestampdiff", "timestampadd"})

    alias_clauses = frozenset({"order", "group", "having"})
    output_clauses = frozenset({"order", "group", "having"})
    has_dual = True
    merges_columns_first = True
    merges_columns_in_table_order = True
    recurses_in_every_arm = True

    labels = "text"
    longest_label = 255  # of MariaDB, which cuts

    text_type = "CHAR"
    has_backslash_escapes = True

    def column_key(self, name: str) -> str:
        """In lower case, beyond ASCII too."""
        return name.lower()

    def table_key(self, name: str) -> str:
        """The name itself: where the server has files for tables, case counts."""
        return name

    def tokens_to_parse(self, tokens: list[Token]) -> list[Token]:
        """The tokens without the INT of `SIGNED INT`."""
        words = [token.text.upper() for token in tokens]
        return [
            token
            for at, token in enumerate(tokens)
            if not (words[at] in _INTEGERS and at and words[at - 1] in {"SIGNED", "UNSIGNED"})
        ]

    def values_columns(self, count: int) -> list[str]:
        """`column_0`, `column_1`, …"""
        return [f"column_{number}" for number in range(count)]

    def with_barrier(self, query: exp.Select) -> exp.Select:
        """The query with the largest LIMIT there is."""
        return query.limit(_LARGEST_LIMIT, copy=False)

    def hmac_sha256(self, text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr | None:
        """By `SHA2`, which gives hexadecimal."""
        from sqlglot import exp  # which takes long to load

        def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
            joined = call("CONCAT", call("UNHEX", pad), value)
            return call("SHA2", joined, exp.Literal.number(256))

        return keyed(outer, call("UNHEX", keyed(inner, text)))

    def time_step(self, column: str, step: TimeStep, *, is_text: bool) -> str | None:
        """By DATE_FORMAT, which takes a text, too."""
        if step == "quarter":
            return quarter_by_extract(column)
        return f"DATE_FORMAT({column}, '{STEP_FORMATS[step]}')"

    def nulls_last(self, name: str, direction: Direction, expression: str) -> str:
        """NULL is the least value; a name of an aggregate may not stand inside an expression."""
        return f"{expression} IS NULL, {name} ASC" if direction == "asc" else f"{name} DESC"
