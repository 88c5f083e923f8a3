"""PostgreSQL's SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dataagent_core.data.dialects.base import (
    Dialect,
    TimeStep,
    ascii_lower,
    call,
    function_names,
    quarter_by_extract,
)

if TYPE_CHECKING:
    from sqlglot import exp

_FUNCTIONS = (
    "current_time current_timestamp localtime localtimestamp "
    "abbrev acosd acosh age any_value array array_agg array_append array_cat array_dims "
    "array_fill array_length array_lower array_ndims array_position array_positions array_prepend "
    "array_remove array_replace array_to_json array_to_string array_upper ascii asind asinh "
    "atan2d atand atanh bit_and bit_count bit_length bit_or bit_xor bool_and bool_or btrim "
    "cardinality cbrt char_length character_length chr clock_timestamp convert_from convert_to "
    "corr cosd cosh cot cotd covar_pop covar_samp date_bin date_part date_trunc daterange decode "
    "div encode every extract factorial format gcd gen_random_uuid generate_series "
    "generate_subscripts get_bit get_byte grouping initcap int4range int8range isempty isfinite "
    "json_agg json_array_elements json_array_elements_text json_array_length json_build_array "
    "json_build_object json_each json_each_text json_extract_path json_extract_path_text "
    "json_object json_object_agg json_object_keys json_strip_nulls json_typeof jsonb_agg "
    "jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array "
    "jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text "
    "jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists "
    "jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty "
    "jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours justify_interval lcm "
    "lower_inc lower_inf make_date make_interval make_time make_timestamp make_timestamptz "
    "min_scale mode normalize now num_nonnulls num_nulls numrange octet_length percentile_cont "
    "percentile_disc pg_typeof phraseto_tsquery plainto_tsquery quote_ident quote_literal "
    "quote_nullable random range_agg range_merge regexp_count regexp_instr regexp_like "
    "regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table "
    "regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx "
    "regr_sxy regr_syy row row_to_json scale sha224 sha256 sha384 sha512 sind sinh split_part "
    "starts_with statement_timestamp string_agg string_to_array string_to_table strpos tand tanh "
    "timezone to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery "
    "to_tsvector transaction_timestamp translate trim_array trim_scale trunc ts_rank ts_rank_cd "
    "tsrange tstzrange unistr unnest upper_inc upper_inf websearch_to_tsquery width_bucket "
    "array_to_tsvector broadcast datemultirange family host hostmask inet_merge inet_same_family "
    "int4multirange int8multirange json_to_tsvector jsonb_path_exists_tz jsonb_path_match_tz "
    "jsonb_path_query_array_tz jsonb_path_query_first_tz jsonb_path_query_tz jsonb_set_lax "
    "jsonb_to_tsvector masklen multirange netmask network nummultirange numnode querytree "
    "range_intersect_agg setweight strip ts_delete ts_filter ts_headline tsmultirange "
    "tsquery_phrase tstzmultirange tsvector_to_array"
)
_SYNTAX = (
    "any_value array coalesce current_time current_timestamp greatest grouping json_array "
    "json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize "
    "json_value least localtime localtimestamp nullif row trim xmlagg xmlconcat xmlelement "
    "xmlforest"
)
"""What is read as syntax, or is there in new versions only."""
_CALL = re.compile(r"(\w+)\(")
_STEP_FORMATS = {"day": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}


@dataclass(frozen=True)
class Postgres(Dialect):
    """PostgreSQL, since 12."""

    url_names = ("postgresql", "postgres")
    engine = "postgres"
    read_only = ("BEGIN TRANSACTION READ ONLY",)

    is_case_sensitive = True
    default_schema = "public"
    system_schemas = frozenset({"pg_catalog", "information_schema", "pg_toast"})
    system_tables = re.compile(r"pg_")

    nests_comments = True
    extra_types = frozenset(
        (
            *("box", "cidr", "circle", "jsonpath", "line", "lseg", "macaddr", "macaddr8", "path"),
            *("point", "polygon", "tsquery", "tsvector"),
        )
    )

    functions = function_names(_FUNCTIONS)
    table_functions: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "json_array_elements": ("value",),
        "json_array_elements_text": ("value",),
        "json_each": ("key", "value"),
        "json_each_text": ("key", "value"),
        "json_object_keys": (),
        "json_to_record": (),
        "json_to_recordset": (),
        "jsonb_array_elements": ("value",),
        "jsonb_array_elements_text": ("value",),
        "jsonb_each": ("key", "value"),
        "jsonb_each_text": ("key", "value"),
        "jsonb_object_keys": (),
        "jsonb_path_query": (),
        "jsonb_to_record": (),
        "jsonb_to_recordset": (),
        "generate_series": (),
        "generate_subscripts": (),
        "regexp_matches": (),
        "regexp_split_to_table": (),
        "string_to_table": (),
    }
    special_functions = frozenset({"NORMALIZE"})
    function_schema = "pg_catalog"
    functions_without_schema = frozenset(_SYNTAX.split())

    has_row_values = True
    merges_columns_first = True
    names_columns_after_alias = True

    labels = "name"

    groups_by_primary_key = True
    samples_subqueries = False

    def fold_case(self, name: str) -> str:
        """In lower case."""
        return ascii_lower(name)

    def label(self, node: exp.Expr, write: Callable[[exp.Expr], str]) -> str | None:
        """The column's or function's name, or `?column?`."""
        from sqlglot import exp  # which takes long to load

        while isinstance(
            node, (exp.Paren, exp.Window, exp.Filter, exp.WithinGroup, exp.Bracket, exp.Cast)
        ):
            node = node.this
        match node:
            case exp.Column():
                return self.stored_name(node.this)
            case exp.Dot():
                return self.stored_name(node.expression)
            case exp.Case():
                return "case"
            case exp.Exists():
                return "exists"
            case _:
                called = _CALL.match(write(node)) if isinstance(node, exp.Func) else None
                return called[1].lower() if called else "?column?"

    def with_barrier(self, query: exp.Select) -> exp.Select:
        """The query with OFFSET 0."""
        return query.offset(0, copy=False)

    def hmac_sha256(self, text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr | None:
        """By `sha256`, which takes and gives bytes."""
        from sqlglot import exp  # which takes long to load

        hexadecimal = exp.Literal.string("hex")

        def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
            start = call("pg_catalog.decode", pad, hexadecimal.copy())
            return call("pg_catalog.sha256", exp.DPipe(this=start, expression=value))

        value = call("pg_catalog.convert_to", text, exp.Literal.string("UTF8"))
        return call("pg_catalog.encode", keyed(outer, keyed(inner, value)), hexadecimal)

    def time_step(self, column: str, step: TimeStep, *, is_text: bool) -> str | None:
        """By TO_CHAR of a timestamp."""
        column = f"CAST({column} AS TIMESTAMP)" if is_text else column
        if step == "quarter":
            return quarter_by_extract(column)
        return f"TO_CHAR({column}, '{_STEP_FORMATS[step]}')"
