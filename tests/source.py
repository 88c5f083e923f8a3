"""The project's source as the repository tests look at it: packages and syntax trees."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIBS = sorted(path.parent for path in ROOT.glob("libs/*/pyproject.toml"))
PACKAGES = [lib / lib.name.replace("-", "_") for lib in LIBS]
CORE = ROOT / "libs/dataagent-core/dataagent_core"
CLI = ROOT / "libs/dataagent-cli/dataagent_cli"
SERVER = ROOT / "libs/dataagent-server/dataagent_server"
_RUN_BY_PATH = {"migrations", "__pycache__"}


def modules(package: Path) -> list[Path]:
    """The package's Python files."""
    return sorted(package.rglob("*.py"))


def sources_of_tests() -> list[Path]:
    """All Python files of all tests."""
    return sorted([*ROOT.glob("libs/*/tests/**/*.py"), *ROOT.glob("tests/**/*.py")])


def folders(package: Path) -> list[Path]:
    """The package and every folder of modules in it; Alembic runs its scripts by path."""
    below = [path for path in package.rglob("*") if path.is_dir() and any(path.glob("*.py"))]
    return [package, *(path for path in below if not _RUN_BY_PATH & set(path.parts))]


def top_packages(package: Path) -> list[Path]:
    """The package's first-level folders."""
    return [path for path in folders(package) if path.parent == package]


@cache
def tree(path: Path) -> ast.Module:
    """The file's syntax tree, as Python 3.11 reads it."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 11))


def nodes(paths: list[Path]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of every file, with `path:line` for the message."""
    for path in paths:
        name = path.relative_to(ROOT)
        for node in _walked(path):
            yield f"{name}:{getattr(node, 'lineno', 0)}", node


@cache
def _walked(path: Path) -> list[ast.AST]:
    """All nodes of a file: a dozen tests look at them."""
    return list(ast.walk(tree(path)))


def project(lib: Path) -> dict[str, Any]:
    """The package's pyproject.toml, as it is."""
    return tomllib.loads((lib / "pyproject.toml").read_text(encoding="utf-8"))
