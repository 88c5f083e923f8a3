from __future__ import annotations

from collections.abc import Iterator
from cProfile import Profile
from decimal import Decimal
from typing import Any

from inline_snapshot import snapshot

from dataagent_core.data.figures import ResultTable, check_figures, find_figures, to_metadata
from dataagent_core.data.figures.extraction import MAX_TEXT
from dataagent_core.data.types import ResultColumn

from .corpus import table


def one_column(name: str, values: list[Any], kind: str = "int64") -> ResultTable:
    rows = [[value] for value in values]
    return ResultTable("a1", [ResultColumn(name, name, kind)], rows, len(rows))


def unbacked(text: str, *results: ResultTable, question: str = "") -> list[str]:
    return [one.figure.text for one in check_figures(text, question, results).unbacked]


REPORT = snapshot(
    {
        "verified": [
            {
                "text": "47",
                "value": "47",
                "start": 12,
                "end": 14,
                "kind": "plain",
                "artifact_id": "countries",
                "how": "cell",
                "row": 4,
                "column": "Customers",
            },
            {
                "text": "9.5%",
                "value": "9.5",
                "start": 26,
                "end": 30,
                "kind": "percent",
                "artifact_id": "countries",
                "how": "share",
                "column": "Customers",
                "expression": "Customers[4] / sum(Customers)",
            },
            {
                "text": "497",
                "value": "497",
                "start": 38,
                "end": 41,
                "kind": "plain",
                "artifact_id": "countries",
                "how": "sum",
                "column": "Customers",
                "expression": "sum(Customers)",
            },
        ],
        "unbacked": [
            {
                "text": "6",
                "value": "6",
                "start": 54,
                "end": 55,
                "kind": "plain",
                "reason": "not_found",
            }
        ],
        "unchecked": 0,
        "is_complete": True,
    }
)


def test_metadata_names_cell_or_expression_for_each_figure() -> None:
    text = "Germany has 47 customers, 9.5% of all 497; Norway has 6."
    report = check_figures(text, "customers by country?", [table("countries")])

    assert to_metadata(report) == REPORT


def test_a_rounded_figure_is_verified_only_when_rounded_rightly() -> None:
    results = one_column("销量", [12345, 3])

    assert unbacked("销量为1.2万", results) == []
    assert unbacked("销量为1.23万", results) == []
    assert unbacked("销量为1.24万", results) == ["1.24万"]
    assert unbacked("销量为1.3万", results) == ["1.3万"]
    assert unbacked("销量为12,346", results) == ["12,346"]


def test_a_tie_may_be_rounded_either_way() -> None:
    results = one_column("rate", [0.125, 7.5], "double")

    assert unbacked("a rate of 0.12 or 0.13", results) == []


def test_over_and_nearly_hold_on_one_side_only() -> None:
    results = one_column("n", [12345, 7])

    assert unbacked("over 12,000", results) == []
    assert unbacked("about 12,000", results) == []
    assert unbacked("over 13,000", results) == ["13,000"]
    assert unbacked("nearly 13,000", results) == []
    assert unbacked("nearly 12,000", results) == ["12,000"]


def test_small_whole_numbers_are_not_rounded_prices() -> None:
    results = one_column("price", [0.99, 1.29, 5.65], "double")

    assert unbacked("There are 6 of them", results) == ["6"]
    assert unbacked("There are 3 of them", results) == []  # rows


def test_a_figure_of_another_row_is_unbacked() -> None:
    report = check_figures("Germany has 54 customers.", "", [table("countries")])

    assert [(one.figure.text, one.reason) for one in report.unbacked] == [("54", "other_row")]


def test_a_figure_of_another_column_is_unbacked() -> None:
    assert unbacked("Germany has 290 customers.", table("countries")) == ["290"]


def test_the_questions_own_numbers_are_not_claims() -> None:
    results = one_column("n", [131, 82])

    assert (
        unbacked("5 customers above 250 bought", results, question="5 customers above 250?") == []
    )
    assert unbacked("5 tracks", results, question="top 5 customers above 250?") == ["5"]


def test_an_empty_result_backs_zero_and_nothing_else() -> None:
    assert unbacked("0 rows match", table("empty")) == []
    assert unbacked("3 rows match", table("empty")) == ["3"]


def test_without_results_every_figure_is_unbacked() -> None:
    assert unbacked("We sold 1,234 units to 56 people.") == ["1,234", "56"]


def test_a_threshold_and_a_figure_of_figures_are_unbacked() -> None:
    """Known limits: neither is in the results, nor one step of arithmetic from them."""
    text = "Three countries have fewer than 15 customers."
    assert unbacked(text, table("countries")) == ["15"]

    text = "The second half made $284,396.27, the first half $231,967.21: 22.6% better."
    assert unbacked(text, table("months")) == ["22.6%"]


def test_percentages_are_found_as_percent_or_as_fraction() -> None:
    fraction = one_column("share", [0.452, 0.548], "double")
    percent = one_column("退款率", [45.2, 54.8], "double")

    assert unbacked("It is 45.2%.", fraction) == []
    assert unbacked("It is 45.2%.", percent) == []
    assert unbacked("It is 45.3%.", fraction) == ["45.3%"]
    assert unbacked("It is 45%.", one_column("customers", [45, 3])) == ["45%"]


def test_rows_are_streamed_up_to_a_bound_and_statistics_stand_for_the_rest() -> None:
    read = 0

    def rows() -> Iterator[list[int]]:
        nonlocal read
        for value in range(1_000_000):
            read += 1
            yield [value]

    statistics = {
        "n": {"total": 499_999_500_000, "mean": 499_999.5, "maximum": 999_999, "distinct": "many"}
    }
    result = ResultTable("a", [ResultColumn("n", "n", "int64")], rows(), 1_000_000, statistics)
    report = check_figures(
        "1,000,000 rows, total 499,999,500,000, the highest is 999,999.", "", [result]
    )

    assert [one.evidence.how for one in report.verified] == ["row_count", "sum", "max"]
    assert report.unbacked == ()
    assert not report.is_complete
    assert read <= 100_001


def test_decimals_floats_and_large_integers_compare_exactly() -> None:
    big = one_column("n", [9_007_199_254_740_993])
    assert unbacked("n is 9,007,199,254,740,993", big) == []
    assert unbacked("n is 9,007,199,254,740,992", big) == ["9,007,199,254,740,992"]

    noisy = one_column("x", [0.1 + 0.2, 1e300, float("nan"), float("inf")], "double")
    assert unbacked("x is 0.3", noisy) == []

    money = one_column("total", [Decimal("1234.565")], "decimal128(10, 3)")
    assert unbacked("total 1,234.57", money) == []


def test_a_column_is_looked_through_once_however_many_cells_read_as_a_figure() -> None:
    columns = [ResultColumn("city", "city", "string"), ResultColumn("active", "active", "int64")]
    text = "In c7 100% of them were active, the flag was 1. 1999, 2001 and 2019 were good years."

    def steps(count: int) -> int:
        rows = [(f"c{row}", row % 2) for row in range(count)]
        profile = Profile()
        profile.runcall(check_figures, text, "", [ResultTable("a1", columns, rows, count)])
        return sum(entry.callcount for entry in profile.getstats())

    assert steps(2_000) < 5 * steps(500)


def test_figures_beyond_the_bound_are_neither_verified_nor_unbacked() -> None:
    report = check_figures("7 apples. " * 1_200, "", [one_column("apples", [7, 3])])

    assert len(report.verified) == 1_000
    assert report.unbacked == ()
    assert [one.start for one in report.unchecked] == [10 * at for at in range(1_000, 1_200)]
    assert not report.is_complete
    assert to_metadata(report)["unchecked"] == 200


def test_a_check_that_is_too_much_work_leaves_figures_unchecked() -> None:
    columns = [ResultColumn(f"sales {at}", f"sales {at}", "int64") for at in range(2_000)]
    rows = [[row * at for at in range(2_000)] for row in range(20)]
    text = "Sales grew by 17.3% to 77,777,777.\n" * 300
    report = check_figures(text, "", [ResultTable("a1", columns, rows, len(rows))])

    judged = [one.figure for one in (*report.verified, *report.unbacked)]
    assert report.unchecked
    assert not report.is_complete
    assert sorted([*judged, *report.unchecked], key=lambda one: one.start) == find_figures(text)
    assert set(judged).isdisjoint(report.unchecked)


def test_of_an_answer_that_is_too_long_the_sentence_that_was_cut_is_unchecked() -> None:
    results = one_column("n", [12, 13])
    end = "\nThere were 12. There are 13"
    begun = ("All is well. " * 5_000)[: MAX_TEXT - len(end)] + end

    whole = check_figures(begun, "", [results])
    cut = check_figures(f"{begun},456 now.", "", [results])

    assert [one.figure.text for one in whole.verified] == ["12", "13"]
    assert whole.is_complete
    assert [one.figure.text for one in cut.verified] == ["12"]
    assert [one.text for one in cut.unchecked] == ["13"]
    assert not cut.is_complete
