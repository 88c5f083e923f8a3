"""DuckDB's SQL."""

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
    call,
    function_names,
    quarter_by_extract,
)

if TYPE_CHECKING:
    from sqlglot import exp

_FUNCTIONS = (
    "aggregate apply approx_top_k arg_max_null arg_max_nulls_last arg_min_null arg_min_nulls_last "
    "array_aggr binom bitstring can_cast_implicitly enum_code enum_first enum_last enum_range "
    "enum_range_boundary flatten formatreadabledecimalsize formatreadablesize from_json_strict "
    "get_current_time get_type histogram_exact is_histogram_other_bin json_deep_merge json_insert "
    "json_normalize json_remove json_replace json_set json_strip_nulls list_aggr list_bit_and "
    "list_bit_or list_bit_xor list_cosine_distance list_kurtosis list_kurtosis_pop "
    "list_negative_dot_product list_negative_inner_product list_sem list_skewness lttb "
    "make_timestamp_ms make_timestamp_ns map_contains_entry map_contains_value md5_number_lower "
    "md5_number_upper nanosecond normalized_interval overlay parse_dirname parse_dirpath "
    "parse_path path_join percentile_cont percentile_disc pg_typeof right_grapheme set_bit "
    "struct_contains struct_extract_at struct_has struct_indexof struct_position "
    "struct_update timezone_hour timezone_minute union_extract union_tag union_value "
    "uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 variant_typeof "
    "acosh add age ago any_value approx_count_distinct approx_quantile arbitrary arg_max arg_min "
    "argmax argmin array_agg array_aggregate array_append array_apply array_cat array_concat "
    "array_contains array_cosine_distance array_cosine_similarity array_cross_product "
    "array_distance array_distinct array_dot_product array_extract array_filter array_grade_up "
    "array_has array_has_all array_has_any array_indexof array_inner_product array_intersect "
    "array_length array_pop_back array_pop_front array_position array_prepend array_push_back "
    "array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select "
    "array_slice array_sort array_to_json array_to_string array_transform array_unique "
    "array_value array_where array_zip ascii asinh atanh bar base64 bin bit_and bit_count "
    "bit_length bit_or bit_position bit_xor bitstring_agg bool_and bool_or cardinality cbrt "
    "century char_length character_length chr contains corr cosh cot count_if count_star countif "
    "covar_pop covar_samp current_date current_localtime current_localtimestamp current_timestamp "
    "damerau_levenshtein date_add date_diff date_part date_sub date_trunc datediff datepart "
    "datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade decode "
    "divide editdist3 element_at encode ends_with entropy epoch epoch_ms epoch_ns epoch_us "
    "equi_width_bins era even factorial favg fdiv filter first fmod format format_bytes "
    "from_base64 from_binary from_hex from_json fsum gamma gcd gen_random_uuid generate_series "
    "generate_subscripts geomean geometric_mean get_bit get_current_timestamp grade_up "
    "greatest_common_divisor group_concat grouping grouping_id hamming hash hex histogram hour if "
    "ifnull instr isfinite isinf isnan isodow isoyear jaccard jaro_similarity "
    "jaro_winkler_similarity json json_array json_array_length json_contains json_exists "
    "json_extract json_extract_path json_extract_path_text json_extract_string json_group_array "
    "json_group_object json_group_structure json_keys json_merge_patch json_object json_pretty "
    "json_quote json_structure json_transform json_transform_strict json_type json_valid "
    "json_value julian kahan_sum kurtosis kurtosis_pop last last_day lcase lcm "
    "least_common_multiple left_grapheme len length_grapheme levenshtein lgamma list "
    "list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg "
    "list_bool_and list_bool_or list_cat list_concat list_contains list_cosine_similarity "
    "list_count list_distance list_distinct list_dot_product list_element list_entropy "
    "list_extract list_filter list_first list_grade_up list_has list_has_all list_has_any "
    "list_histogram list_indexof list_inner_product list_intersect list_last list_mad list_max "
    "list_median list_min list_mode list_pack list_position list_prepend list_product list_reduce "
    "list_resize list_reverse list_reverse_sort list_select list_slice list_sort list_stddev_pop "
    "list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop "
    "list_var_samp list_where list_zip listagg log2 mad make_date make_time make_timestamp "
    "make_timestamptz map map_concat map_contains map_entries map_extract map_extract_value "
    "map_from_entries map_keys map_values max_by md5_number mean median microsecond millennium "
    "millisecond min_by minute mismatches mode month monthname multiply nextafter nfc_normalize "
    "now octet_length ord parse_filename position prefix printf product quantile quantile_cont "
    "quantile_disc quarter random range reduce regexp_escape regexp_extract regexp_extract_all "
    "regexp_full_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table "
    "regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy "
    "reservoir_quantile round_even roundbankers row row_to_json second sem sha1 sha256 signbit "
    "sinh skewness split split_part starts_with str_split str_split_regex strftime string_agg "
    "string_split string_split_regex string_to_array strip_accents strlen strpos strptime "
    "struct_concat struct_extract struct_insert struct_keys struct_pack struct_values "
    "substring_grapheme subtract suffix sumkahan tanh time_bucket timezone to_base to_base64 "
    "to_binary to_centuries to_days to_decades to_hex to_hours to_json to_microseconds "
    "to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp "
    "to_weeks to_years today transaction_timestamp translate trunc try_strptime typeof ucase "
    "unbin unhex unicode unnest url_decode url_encode uuid wavg week weekday weekofyear "
    "weighted_avg xor year yearweek array fill json_merge_patch_diff parse_formatted_bytes "
    "st_asgeojson st_astext try variant_array_length variant_contains variant_exists "
    "variant_extract variant_extract_string variant_group_array variant_keys variant_type"
)


@dataclass(frozen=True)
class Duckdb(Dialect):
    """DuckDB, whose engine opens files read-only."""

    url_names = ("duckdb",)
    engine = "duckdb"
    is_file = True
    file_endings = (".duckdb",)
    file_start = (8, b"DUCK")
    shares_processes = True

    other_quotes = ("`",)
    default_schema = "main"
    system_schemas = frozenset({"information_schema", "pg_catalog"})
    system_tables = re.compile(r"duckdb_|pragma_|sqlite_(master|schema|temp)|pg_")

    nests_comments = True
    regexp_operator = "~"  # which is not its regexp_matches

    functions = function_names(_FUNCTIONS)
    table_functions: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "generate_series": ("generate_series",),
        "json_each": JSON_ROWS,
        "json_tree": JSON_ROWS,
        "range": ("range",),
        "regexp_split_to_table": (),
    }

    alias_clauses = frozenset({"order", "group", "having", "where", "qualify", "select", "window"})
    row_ids = ("rowid",)
    has_row_values = True
    has_fields = True
    in_takes_a_column = True
    is_every_subquery_lateral = True

    comparisons_can_fail = True

    def values_columns(self, count: int) -> list[str]:
        """`col0`, `col1`, …"""
        return [f"col{number}" for number in range(count)]

    def with_barrier(self, query: exp.Select) -> exp.Select:
        """The query with OFFSET 0."""
        return query.offset(0, copy=False)

    def hmac_sha256(self, text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr | None:
        """By `sha256`, which gives hexadecimal."""
        from sqlglot import exp  # which takes long to load

        def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
            return call("sha256", exp.DPipe(this=call("unhex", pad), expression=value))

        return keyed(outer, call("unhex", keyed(inner, call("encode", text))))

    def time_step(self, column: str, step: TimeStep, *, is_text: bool) -> str | None:
        """By STRFTIME of a timestamp."""
        column = f"CAST({column} AS TIMESTAMP)" if is_text else column
        if step == "quarter":
            return quarter_by_extract(column)
        return f"STRFTIME({column}, '{STEP_FORMATS[step]}')"
