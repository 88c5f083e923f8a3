"""Every regular expression of our packages, and how each is used."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

PACKAGES = (
    "dataagent_protocol",
    "dataagent_core",
    "dataagent_offline",
    "dataagent_cli",
    "dataagent_server",
    "dataagent_client",
    "dataagent_harbor",
    "dataagent_server_demo",
)
_AT_START = frozenset({"match", "fullmatch"})
_METHODS = _AT_START | {"search", "sub", "subn", "findall", "finditer", "split"}
_LEFT_OUT = ("._shipped", ".migrations", "__main__", "dataagent_server_demo.app")
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression and its place in the source."""

    place: str
    pattern: re.Pattern[Any]  # of texts or bytes
    methods: frozenset[str]

    def read(self, text: str) -> None:
        """Use it on a text as the code does."""
        subject = text.encode() if isinstance(self.pattern.pattern, bytes) else text
        for method in self.methods & _AT_START:
            getattr(self.pattern, method)(subject)
        if self.methods - _AT_START:
            for _ in self.pattern.finditer(subject):
                pass


def expressions(package: str) -> list[Expression]:
    """Those in constants of a package's modules, and those written where they are used."""
    found: dict[str, Expression] = {}
    for module in _modules(package):
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        tree = ast.parse(source)
        for name, pattern in _constants(module):
            constant = name.partition(" ")[0]
            methods = _methods_of(constant, tree) or _METHODS
            found.setdefault(
                f"{pattern.pattern!r} {pattern.flags}",
                Expression(f"{module.__name__} {name}", pattern, methods),
            )
        for line, method, pattern in _written(tree):
            found.setdefault(
                f"{pattern.pattern!r} {pattern.flags}",
                Expression(f"{module.__name__}:{line}", pattern, frozenset({method})),
            )
    return sorted(found.values(), key=lambda one: one.place)


def _modules(package: str) -> Iterator[ModuleType]:
    paths = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(paths, f"{package}."):
        if not any(part in found.name for part in _LEFT_OUT):
            module = importlib.import_module(found.name)
            if module.__file__:
                yield module


def _constants(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in list(vars(module).items()):
        if not name.startswith("__"):
            yield from _patterns_in(value, name, _DEEPEST)


def _patterns_in(value: object, name: str, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for at, item in enumerate(cast("list[object]", value)):
            yield from _patterns_in(item, f"{name} {at}", depth - 1)
    elif depth and isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            yield from _patterns_in(item, f"{name} {key}", depth - 1)


def _methods_of(constant: str, tree: ast.Module) -> frozenset[str]:
    """The methods that a module calls on one of its constants, whichever of its items it is."""
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == constant
    }
    return frozenset(called & _METHODS)


def _written(tree: ast.Module) -> Iterator[tuple[int, str, re.Pattern[Any]]]:
    """Calls such as `re.sub(r"…", …)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                args=[ast.Constant(value=str() | bytes() as pattern), *_],
            ) if method in _METHODS:
                yield node.lineno, method, re.compile(pattern)
            case _:
                pass
