from __future__ import annotations

from typing import Any

import pytest

from dataagent_core.data.charts import check_spec, default_spec
from dataagent_core.data.types import ResultColumn
from dataagent_core.errors import BadChart


def columns(**types: str) -> list[ResultColumn]:
    return [ResultColumn(name, name, kind) for name, kind in types.items()]


def test_time_and_a_number_make_a_line() -> None:
    spec = default_spec(columns(month="date32[day]", revenue="double"), row_count=12, title="收入")

    assert spec["mark"]["type"] == "line"
    assert spec["title"] == "收入"
    assert spec["encoding"]["x"]["field"] == "month"


def test_text_called_month_is_time() -> None:
    assert default_spec(columns(month="string", n="int64"), row_count=12)["mark"]["type"] == "line"
    assert default_spec(columns(月份="string", n="int64"), row_count=12)["mark"]["type"] == "line"


def test_a_category_and_a_number_make_sorted_bars() -> None:
    encoding = default_spec(columns(Country="string", n="int64"), row_count=5)["encoding"]

    assert encoding["x"]["sort"] == "-y"
    assert encoding["y"]["field"] == "n"


def test_many_or_long_categories_lie_down() -> None:
    many = default_spec(columns(Country="string", n="int64"), row_count=20)
    long = default_spec(
        columns(Country="string", n="int64"),
        row_count=4,
        statistics={"Country": {"distinct": 4, "max_length": 30}},
    )
    for spec in (many, long):
        assert spec["encoding"]["y"] == {"field": "Country", "type": "nominal", "sort": "-x"}


def test_two_categories_are_grouped_or_stacked() -> None:
    few = {"a": {"distinct": 3}, "b": {"distinct": 3}}
    more = {"a": {"distinct": 7}, "b": {"distinct": 8}}
    grouped = default_spec(columns(a="string", b="string", n="int64"), row_count=9, statistics=few)
    stacked = default_spec(
        columns(a="string", b="string", n="int64"), row_count=50, statistics=more
    )

    assert grouped["encoding"]["xOffset"]["field"] == "b"
    assert stacked["encoding"]["color"]["field"] == "b"
    assert "xOffset" not in stacked["encoding"]


def test_numbers_alone_make_a_scatter_or_a_histogram() -> None:
    assert default_spec(columns(a="int64", b="double"), row_count=9)["mark"]["type"] == "point"
    histogram = default_spec(columns(a="double"), row_count=900)
    assert histogram["encoding"]["x"]["bin"] == {"maxbins": 30}


def test_years_are_an_order_and_ids_are_not_measures() -> None:
    by_year = default_spec(columns(year="int64", total="double"), row_count=5)
    by_name = default_spec(columns(CustomerId="int64", Name="string", n="int64"), row_count=5)

    assert by_year["encoding"]["x"]["type"] == "ordinal"
    assert by_name["encoding"]["y"]["field"] == "n"


@pytest.mark.parametrize(
    ("types", "row_count"),
    [
        ({"n": "int64"}, 1),
        ({"n": "int64"}, 0),
        ({"a": "string", "b": "string"}, 9),
        ({"a": "string", "n": "int64"}, 5_000),
    ],
)
def test_what_a_table_says_better_is_no_chart(types: dict[str, Any], row_count: int) -> None:
    with pytest.raises(BadChart, match="table") as caught:
        default_spec(columns(**types), row_count=row_count)
    assert (caught.value.details or {})["reason"] == "better_as_table"


def test_a_default_chart_passes_the_check() -> None:
    cols = columns(**{"国家": "string", "销售额.元": "decimal128(10, 2)"})
    spec = default_spec(cols, row_count=5)

    assert check_spec(spec, cols) == spec


def test_lines_of_too_many_series_are_no_chart() -> None:
    """Without a colour each, one line would go up and down through all of them."""
    types = columns(month="string", country="string", n="double")
    few = {"month": {"distinct": 12}, "country": {"distinct": 3}}
    many = {"month": {"distinct": 12}, "country": {"distinct": 24}}
    one_each = {"month": {"distinct": 36}, "country": {"distinct": 36}}

    spec = default_spec(types, row_count=36, statistics=few)
    assert spec["encoding"]["color"]["field"] == "country"
    assert "color" not in default_spec(types, row_count=36, statistics=one_each)["encoding"]
    with pytest.raises(BadChart, match="table"):
        default_spec(types, row_count=288, statistics=many)


def test_a_third_grouping_has_lines_of_its_own() -> None:
    types = columns(month="string", country="string", genre="string", n="double")
    few = {"month": {"distinct": 12}, "country": {"distinct": 3}, "genre": {"distinct": 2}}

    encoding = default_spec(types, row_count=72, statistics=few)["encoding"]
    assert encoding["detail"] == [{"field": "genre", "type": "nominal"}]


@pytest.mark.parametrize(
    ("types", "statistics"),
    [
        ({"title": "string", "price": "double"}, {"title": {"distinct": 9}}),
        ({"country": "string", "genre": "string", "mean": "double"},
         {"country": {"distinct": 5}, "genre": {"distinct": 25}}),
    ],
)  # fmt: skip
def test_rows_that_would_be_added_up_in_one_bar_are_no_chart(
    types: dict[str, str], statistics: dict[str, Any]
) -> None:
    with pytest.raises(BadChart, match="table"):
        default_spec(columns(**types), row_count=40, statistics=statistics)
