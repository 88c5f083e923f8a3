"""The mark of an acceptance test: where a requirement document states what, to the letter."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

F = TypeVar("F", bound=Callable[..., object])
_FOLDER = Path(__file__).parent


def states(place: str, *stated: str) -> Callable[[F], F]:
    """Mark a test with a place ("R2.4", "001 §MCP Connection Manager") and what is stated there.

    Each of `stated` is one name, field, default, path, status or behaviour, as the document has it.
    """
    # a mark returns what it decorates
    return pytest.mark.states(place, *stated)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True, slots=True)
class Line:
    """One statement and the test that holds the product to it."""

    place: str
    stated: str
    test: str


def lines() -> Iterator[Line]:
    """Every marked statement, read from the source."""
    for path in sorted(_FOLDER.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _marked(node, path.name)


def _marked(test: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Iterator[Line]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "states":
            place, *stated = (str(ast.literal_eval(argument)) for argument in mark.args)
            yield from (Line(place, one, f"{file}::{test.name}") for one in stated)
