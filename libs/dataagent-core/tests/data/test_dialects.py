"""Each dialect is one module, and nothing else knows a dialect by its name."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import dataagent_core
from dataagent_core.data.dialects import DIALECTS, Dialect, dialect_of

LIBS = Path(dataagent_core.__file__).parents[2]
NAMES = {name for each in DIALECTS for name in (each.name, *each.url_names)}
PACKAGES = ("dataagent_core/data", "dataagent_core/tools", "dataagent_offline", "dataagent_cli")


def test_a_dialect_is_known_by_its_name_and_by_those_of_addresses() -> None:
    assert [dialect_of(each.name) for each in DIALECTS] == list(DIALECTS)
    assert dialect_of("mariadb") is dialect_of("mysql")
    assert dialect_of("postgresql") is dialect_of("postgres")


def test_one_that_is_not_listed_allows_no_function() -> None:
    assert dialect_of("teradata") == Dialect("teradata")
    assert dialect_of("teradata").functions == frozenset()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
def test_its_engine_opens_addresses(dialect: Dialect) -> None:
    module = import_module(f"dataagent_core.data.engines.{dialect.engine}")
    assert callable(module.open_source)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
def test_it_goes_to_another_process_as_its_name(dialect: Dialect) -> None:
    packed = pickle.dumps(dialect)
    assert len(packed) < 200
    assert pickle.loads(packed) == dialect


def compared(path: Path) -> Iterator[str]:
    """Texts that a module compares something with, or looks something up by."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Compare | ast.Dict | ast.MatchValue | ast.Subscript):
            yield from (
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_decided_by_a_dialects_name(package: str) -> None:
    paths = [
        path
        for path in sorted(LIBS.glob(f"*/{package}/**/*.py"))
        if not {"dialects", "engines"} & {*path.parts}
    ]
    assert paths
    assert [(path.name, name) for path in paths for name in compared(path) if name in NAMES] == []
