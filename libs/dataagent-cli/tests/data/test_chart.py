"""A kept result is drawn, explained and exported from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_cli.data.result_commands import figure_lines

from .shell import dataagent

STATEMENT = (
    "SELECT BillingCountry AS country, count(*) AS n FROM Invoice "
    "WHERE BillingCountry IN ('Canada', 'France') GROUP BY 1 ORDER BY 1"
)


@pytest.fixture(autouse=True)
def result() -> str:
    """The newest result."""
    return dataagent("sql", STATEMENT).artifact_id


@pytest.mark.slow
def test_a_chart_is_drawn_in_characters_and_kept_as_a_picture(home: Path) -> None:
    done = dataagent("chart", "bar", "country", "N")
    assert [line.split()[0] for line in done.lines[1:]] == ["Canada", "France"]
    assert "█" in done.out
    path = Path(done.err.partition("picture: ")[2].strip())
    assert path.parent == home / "outputs"
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_columns_are_guessed(tmp_path: Path) -> None:
    assert "(" in dataagent("chart", "pie").lines[1], "a share of the whole"
    assert dataagent("chart", "--output", "c.svg").code == 0
    assert "<svg" in (tmp_path / "c.svg").read_text()[:300]


def test_a_column_that_is_not_there_is_named() -> None:
    done = dataagent("chart", "bar", "city")
    assert (done.code, done.data) == (2, b"")
    assert "hint: it has: country, n." in done.err


def test_a_result_is_explained(result: str) -> None:
    lines = dataagent("explain").lines
    assert lines[0].startswith("Result ")
    assert "Source    chinook (sqlite), time zone UTC" in lines
    assert f"Artefact  {result}" in lines
    assert any(line.startswith("Tables    Invoice (table, ") for line in lines)
    assert any("SCAN Invoice" in line for line in lines)
    assert "Policy    none applied" in lines


def test_the_newest_result_is_exported_to_a_file_named_behind_it(tmp_path: Path) -> None:
    assert dataagent("export", "last", "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().startswith("country,n\n")


@pytest.mark.slow
def test_a_chart_that_a_run_makes_is_shown_beside_the_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "offline")
    done = dataagent("-p", "number of customers by country as a bar chart")
    assert done.code == 0
    assert "█" in done.err
    assert f"picture: {home / 'outputs'}" in done.err
    assert "█" not in done.out, "the answer is as it was said"


@pytest.mark.slow
def test_the_last_table_is_exported_though_a_chart_is_newer(tmp_path: Path) -> None:
    assert dataagent("chart").code == 0
    assert dataagent("export", "last", "t.xlsx").code == 0
    assert (tmp_path / "t.xlsx").read_bytes().startswith(b"PK")


def test_figures_are_explained_by_where_they_stand() -> None:
    figures = {
        "verified": [
            {"text": "12", "how": "cell", "row": 0, "column": "n"},
            {"text": "3", "how": "row_count", "expression": "row_count(*)"},
        ],
        "unbacked": [{"text": "42", "reason": "not_found"}],
    }
    assert figure_lines(figures) == [
        "Figures   ✓ 12: row 1, column n",
        "          ✓ 3: row_count(*)",
        "          ! 42: not found in the data",
    ]
