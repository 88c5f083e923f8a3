"""Names of the functions a query may call, by dialect; and of those that give rows in FROM.

Data only. Taken from the manuals of SQLite, PostgreSQL, MySQL/MariaDB and DuckDB: functions whose
value depends on their arguments, the clock or chance, and that do nothing else.
"""

from __future__ import annotations

_COMMON = (
    "abs acos asin atan atan2 avg ceil ceiling coalesce concat concat_ws cos count cume_dist date "
    "degrees dense_rank exp first_value floor greatest lag last_value lead least left length ln "
    "log log10 lower lpad ltrim max md5 min mod nth_value ntile nullif percent_rank pi pow power "
    "radians rank repeat replace reverse right round row_number rpad rtrim sign sin sqrt stddev "
    "stddev_pop stddev_samp substr substring sum tan trim upper var_pop var_samp variance"
)
_SQLITE = (
    "acosh asinh atanh char cosh datetime format glob group_concat hex ifnull iif instr json "
    "json_array json_array_length json_error_position json_extract json_group_array "
    "json_group_object json_insert json_object json_patch json_pretty json_quote json_remove "
    "json_replace json_set json_type json_valid julianday like likelihood likely log2 median "
    "octet_length percentile percentile_cont percentile_disc printf quote random sinh soundex "
    "strftime string_agg tanh time timediff total trunc typeof unhex unicode unixepoch unlikely"
)
_POSTGRES = (
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
_MYSQL = (
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
_DUCKDB = (
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

NAMES: dict[str, frozenset[str]] = {
    dialect: frozenset(f"{_COMMON} {own}".split())
    for dialect, own in {
        "sqlite": _SQLITE,
        "postgres": _POSTGRES,
        "mysql": _MYSQL,
        "duckdb": _DUCKDB,
    }.items()
}

_JSON_ROWS = ("key", "value", "type", "atom", "id", "parent", "fullkey", "path")
_PAIR = ("key", "value")

TABLE_FUNCTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "sqlite": {"json_each": _JSON_ROWS, "json_tree": _JSON_ROWS},
    "postgres": {
        "json_array_elements": ("value",),
        "json_array_elements_text": ("value",),
        "json_each": _PAIR,
        "json_each_text": _PAIR,
        "json_object_keys": (),
        "json_to_record": (),
        "json_to_recordset": (),
        "jsonb_array_elements": ("value",),
        "jsonb_array_elements_text": ("value",),
        "jsonb_each": _PAIR,
        "jsonb_each_text": _PAIR,
        "jsonb_object_keys": (),
        "jsonb_path_query": (),
        "jsonb_to_record": (),
        "jsonb_to_recordset": (),
        "generate_series": (),
        "generate_subscripts": (),
        "regexp_matches": (),
        "regexp_split_to_table": (),
        "string_to_table": (),
    },
    "mysql": {},
    "duckdb": {
        "generate_series": ("generate_series",),
        "json_each": _JSON_ROWS,
        "json_tree": _JSON_ROWS,
        "range": ("range",),
        "regexp_split_to_table": (),
    },
}
"""The columns each gives; none: one column, named after its alias, or the function."""

_SYNTAX = (
    "any_value array coalesce current_time current_timestamp greatest grouping json_array "
    "json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize "
    "json_value least localtime localtimestamp nullif row trim xmlagg xmlconcat xmlelement "
    "xmlforest"
)
OUTSIDE_PG_CATALOG = frozenset(_SYNTAX.split())
"""What PostgreSQL reads as syntax, or has in new versions only: it takes no schema before it."""
