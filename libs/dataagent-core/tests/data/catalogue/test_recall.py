"""Strict recall of search on a schema of a thousand columns: all needed columns, or it counts not.

`company_questions.txt` was at hand when search was adjusted; `company_held_out.txt` was written
afterwards and search was not changed for it. Needed are all columns of a right statement, those it
joins by included.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dataagent_core.data.catalogue import Hit, search
from dataagent_core.data.types import Catalogue

from .company import company_catalogue

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    needed: frozenset[tuple[str, str]]

    @property
    def is_chinese(self) -> bool:
        return any("一" <= character <= "鿿" for character in self.text)


def questions(file: str) -> list[Question]:
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    found: list[Question] = []
    for line in lines:
        if line and not line.startswith("#"):
            text, _, columns = line.partition("|")
            needed = [column.strip().split(".") for column in columns.split(",")]
            found.append(Question(text.strip(), frozenset((t, c) for t, c in needed)))
    return found


def missing(question: Question, hits: list[Hit]) -> set[tuple[str, str]]:
    returned = {(hit.table_key, column) for hit in hits for column in hit.columns}
    return set(question.needed - returned)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return company_catalogue()


def strict_recall(
    catalogue: Catalogue, asked: list[Question], *, limit: int, max_columns: int = 40
) -> float:
    lacking = [
        (question.text, sorted(missed))
        for question in asked
        if (
            missed := missing(
                question, search(catalogue, question.text, limit, max_columns=max_columns)
            )
        )
    ]
    recall = 1 - len(lacking) / len(asked)
    print(f"{len(asked)} questions, {limit} tables, {max_columns} columns: {recall:.3f}", *lacking)
    return recall


def test_the_questions_are_about_the_schema(catalogue: Catalogue) -> None:
    known = {(table.key, column.name) for table in catalogue.tables for column in table.columns}
    assert len(known) >= 1000
    asked = questions("company_questions.txt") + questions("company_held_out.txt")
    assert [q.text for q in asked if q.needed - known] == []
    assert len({q.text for q in asked}) == len(asked) >= 120
    assert sum(q.is_chinese for q in asked) >= 60


@pytest.mark.parametrize(
    ("file", "limit", "max_columns", "floor"),
    [
        ("company_questions.txt", 8, 40, 0.95),
        ("company_questions.txt", 8, 10, 0.95),
        ("company_questions.txt", 5, 40, 0.90),
        ("company_held_out.txt", 8, 40, 0.90),
        ("company_held_out.txt", 8, 10, 0.90),
    ],
)
def test_search_finds_all_needed_columns(
    catalogue: Catalogue, file: str, limit: int, max_columns: int, floor: float
) -> None:
    asked = questions(file)
    recall = strict_recall(catalogue, asked, limit=limit, max_columns=max_columns)
    assert recall >= floor


@pytest.mark.parametrize("is_chinese", [False, True])
def test_both_languages_are_served(catalogue: Catalogue, *, is_chinese: bool) -> None:
    asked = [q for q in questions("company_questions.txt") if q.is_chinese is is_chinese]
    assert strict_recall(catalogue, asked, limit=8) >= 0.95
