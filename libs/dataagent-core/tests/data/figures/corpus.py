"""The corpus of answers: `corpus.json`, read into results and texts with marked claims.

A claim stands between ⟦ and ⟧ in the file. Everything else that has digits is no claim.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from dataagent_core.data.figures import ResultTable
from dataagent_core.data.types import ResultColumn

Span = tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """An answer with where its claims stand."""

    language: str
    question: str
    text: str
    claims: tuple[Span, ...]
    tables: tuple[str, ...]

    def results(self) -> list[ResultTable]:
        return [table(name) for name in self.tables]


@cache
def _file() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("corpus.json").read_text(encoding="utf-8"))


@cache
def table(name: str) -> ResultTable:
    described = _file()["tables"][name]
    columns = [ResultColumn(label, label, kind) for label, kind in described["columns"]]
    rows = [
        [_cell(cell, column.type) for cell, column in zip(row, columns, strict=True)]
        for row in described["rows"]
    ]
    return ResultTable(name, columns, rows, len(rows))


def _cell(cell: Any, kind: str) -> Any:
    if kind.startswith("decimal"):
        return Decimal(cell)
    return date.fromisoformat(cell) if kind.startswith("date") else cell


def answers() -> list[Answer]:
    return [
        Answer(one["lang"], one["question"], *_unmarked(one["text"]), tuple(one["tables"]))
        for one in _file()["answers"]
    ]


def _unmarked(marked: str) -> tuple[str, tuple[Span, ...]]:
    text, start = "", 0
    claims: list[Span] = []
    for char in marked:
        if char == "⟦":
            start = len(text)
        elif char == "⟧":
            claims.append((start, len(text)))
        else:
            text += char
    return text, tuple(claims)
