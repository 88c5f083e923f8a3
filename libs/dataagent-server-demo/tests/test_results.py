"""Rows become columns that a page can draw, and captions that say how much of a table it is."""

from __future__ import annotations

import pytest

from dataagent_client import ArtifactEvent, Rows
from dataagent_server_demo.blocks import FileBlock, TableBlock, artifact_block, columns_of


def test_rows_are_turned_into_columns_of_one_kind_each() -> None:
    rows = Rows(
        ("name", "sales", "id", "flag", "more"),
        [
            ["a", 1, 2**53, True, {"k": "é"}],
            ["b", 2.5, "9007199254740993", None, [1]],
            [None, None, 3, False, None],
        ],
    )
    assert columns_of(rows) == {
        "name": ["a", "b", None],
        "sales": [1, 2.5, None],
        "id": ["9007199254740992", "9007199254740993", "3"],
        "flag": [True, None, False],
        "more": ['{"k": "é"}', "[1]", None],
    }


def test_a_table_without_rows_keeps_its_columns() -> None:
    assert columns_of(Rows(("a", "b"), [])) == {"a": [], "b": []}
    assert columns_of(Rows((), [])) == {}


@pytest.mark.parametrize(
    ("count", "rows", "caption"),
    [
        (5, 5, "5 行 · shop"),
        (12_000, 1_000, "前 1,000 行，共 12,000 行 · shop"),
        (None, 3, "3 行 · shop"),
        (0, 0, "0 行 · shop"),
        (1, 1, "1 行 · shop"),
    ],
)
def test_a_caption_says_how_much_is_shown(count: int | None, rows: int, caption: str) -> None:
    assert TableBlock("t", "T", Rows((), []), count, None, "shop").caption(rows) == caption


def test_a_table_that_the_source_has_more_of_says_so() -> None:
    preview = {
        "row_count": 2,
        "truncated": "at the row limit: the source has more rows than these 2",
        "columns": [{"name": "a"}],
        "rows": [[1], [2]],
        "other_columns": {"count": 3, "first_names": ["b", "c"]},
    }
    event = ArtifactEvent(artifact_id="t", kind="table", title="T", url="/t", preview=preview)
    block = artifact_block(event)
    assert isinstance(block, TableBlock)
    assert block.caption(2) == "2 行 · at the row limit: the source has more rows than these 2"
    assert block.only_first == " · 另有 3 列"


@pytest.mark.parametrize("preview", [None, [], {}, {"columns": None, "rows": None}])
def test_a_table_without_a_preview_is_a_table_all_the_same(preview: object) -> None:
    event = ArtifactEvent(artifact_id="t", kind="table", title="T", url="/t", preview=preview)
    assert artifact_block(event) == TableBlock("t", "T", Rows((), []), None, None, None)


def test_rows_that_lack_columns_are_not_shown() -> None:
    preview = {"columns": [{"name": "a"}, {"name": "b"}], "rows": [[1], [1, 2]]}
    event = ArtifactEvent(artifact_id="t", kind="table", title="T", url="/t", preview=preview)
    block = artifact_block(event)
    assert isinstance(block, TableBlock)
    assert block.first == Rows(("a", "b"), [[1, 2]])


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "a.csv"),
        (12, "a.csv · 12 字节"),
        (2_500, "a.csv · 2.5 kB"),
        (3 * 10**6, "a.csv · 3.0 MB"),
    ],
)
def test_a_file_says_how_large_it_is(size: int | None, text: str) -> None:
    assert FileBlock("f", "a.csv", size).text == text
