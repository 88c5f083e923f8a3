"""The layout of the repository: packages, exports, and tests that mirror them."""

from __future__ import annotations

import ast
import asyncio
import importlib
import os
import socket
from pathlib import Path

import pytest
from langchain.agents.middleware import AgentMiddleware

from tests.requirements import requirement
from tests.source import (
    CLI,
    CORE,
    LIBS,
    PACKAGES,
    ROOT,
    SERVER,
    folders,
    nodes,
    project,
    sources_of_tests,
    top_packages,
    tree,
)

ALL_PACKAGES = [package for package in PACKAGES for package in top_packages(package)]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@requirement("R1.1")
@pytest.mark.parametrize(
    "package", ["engine", "events", "middleware", "tools", "hitl", "config", "session"]
)
def test_the_core_has_the_package(package: str) -> None:
    assert CORE / package in top_packages(CORE)


@requirement("R1.2")
@pytest.mark.parametrize("package", ["ui", "input", "hitl", "commands"])
def test_the_terminal_has_the_package(package: str) -> None:
    assert CLI / package in top_packages(CLI)


@requirement("R15.1")
@pytest.mark.parametrize("package", ["api", "ws", "hitl", "models", "deps"])
def test_the_server_has_the_package(package: str) -> None:
    assert SERVER / package in top_packages(SERVER)


@requirement("R15.4")
def test_terminal_and_server_depend_on_the_core() -> None:
    for package in (CLI, SERVER):
        needed = project(package.parent)["project"]["dependencies"]
        assert any(each.startswith("dataagent-core") for each in needed)


@requirement("R7.1")
def test_all_middleware_is_langchains() -> None:
    found = [
        (path.stem, node.name)
        for path in (CORE / "middleware").glob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Middleware")
    ]
    made = [
        getattr(importlib.import_module(f"dataagent_core.middleware.{module}"), name)
        for module, name in found
    ]
    assert len(made) >= 5
    assert [each for each in made if not issubclass(each, AgentMiddleware)] == []


@requirement("R1.3")
def test_every_folder_of_modules_says_what_it_is() -> None:
    inits = [folder / "__init__.py" for package in PACKAGES for folder in folders(package)]
    missing = [relative(init) for init in inits if not init.exists()]
    silent = [relative(init) for init in inits if init.exists() and not has_docstring(init)]
    assert (missing, silent) == ([], [])


def has_docstring(path: Path) -> bool:
    return (ast.get_docstring(tree(path)) or "TBD.") != "TBD."


@requirement("R1.3")
@pytest.mark.parametrize("package", ALL_PACKAGES, ids=relative)
def test_every_package_exports_its_public_interface(package: Path) -> None:
    module = importlib.import_module(f"{package.parent.name}.{package.name}")
    names = getattr(module, "__all__", [])
    assert names, f"{relative(package)}/__init__.py has no __all__"
    assert [name for name in names if not hasattr(module, name)] == []


@requirement("R1.4", "R15.3")
@pytest.mark.parametrize("lib", LIBS, ids=relative)
def test_every_package_is_complete(lib: Path) -> None:
    data = project(lib)
    metadata = data["project"]
    assert metadata["name"] == lib.name
    assert metadata["requires-python"] == ">=3.11"
    assert {"version", "description", "dependencies"} <= set(metadata)
    assert data["build-system"]["build-backend"] == "hatchling.build"
    assert (lib / lib.name.replace("-", "_") / "py.typed").exists()
    assert list((lib / "tests").rglob("test_*.py"))
    assert len((lib / metadata["readme"]).read_text(encoding="utf-8").splitlines()) > 3


def test_there_are_nine_packages() -> None:
    assert [lib.name for lib in LIBS] == [
        "dataagent",
        "dataagent-cli",
        "dataagent-client",
        "dataagent-core",
        "dataagent-harbor",
        "dataagent-offline",
        "dataagent-protocol",
        "dataagent-server",
        "dataagent-server-demo",
    ]


def test_only_the_module_that_a_requirement_names_is_called_common() -> None:
    vague = {"utils", "util", "common", "helpers", "misc"}
    named = [path for package in PACKAGES for path in package.rglob("*") if path.stem in vague]
    assert [path.parts[-3:] for path in named] == [("dataagent_server", "models", "common.py")]


@pytest.mark.slow
@requirement("R12.1")
def test_tests_are_pytest_tests() -> None:
    imports = [
        where
        for where, node in nodes(sources_of_tests())
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "unittest" in ast.unparse(node)
        and ast.unparse(node) != "from unittest.mock import ANY"  # a matcher, not a mock
    ]
    assert imports == []


@requirement("R12.2")
@pytest.mark.parametrize("lib", LIBS, ids=relative)
def test_every_test_folder_mirrors_a_package(lib: Path) -> None:
    """A folder `attacks` has the attacks on the package of its parent."""
    tests, package = lib / "tests", lib / lib.name.replace("-", "_")
    strays = [
        relative(folder)
        for folder in tests.rglob("*")
        if folder.is_dir()
        and any(folder.glob("test_*.py"))
        and not (package / folder.relative_to(tests)).is_dir()
        and folder.name != "attacks"
    ]
    assert strays == []


@requirement("R12.2")
def test_every_package_has_tests_in_the_folder_that_mirrors_it() -> None:
    assert [relative(package) for package in ALL_PACKAGES if not has_tests(package)] == []


def has_tests(package: Path) -> bool:
    tests = package.parents[1] / "tests"
    return any(tests.glob(f"{package.name}/**/test_*.py")) or any(
        tests.glob(f"test_{package.name}*.py")
    )


@requirement("R12.3")
async def test_asynchronous_tests_run_in_pytest_asyncio(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.has_plugin("asyncio")
    assert request.config.getini("asyncio_mode") == "auto"
    assert asyncio.current_task() is not None


@requirement("R12.3")
def test_no_test_drives_a_loop_of_its_own() -> None:
    drives = {"run_until_complete", "new_event_loop"}
    found = [
        where
        for where, node in nodes(sources_of_tests())
        if isinstance(node, ast.Attribute) and node.attr in drives
    ]
    assert found == []


@requirement("R12.4")
def test_a_connection_to_another_machine_is_refused() -> None:
    with (
        socket.socket() as other,
        pytest.raises(RuntimeError, match=r"this machine only, not 192\.0\.2\.1"),
    ):
        other.connect(("192.0.2.1", 9))


@requirement("R12.4")
def test_keys_and_files_of_the_user_are_out_of_reach() -> None:
    provided = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TAVILY_API_KEY", "LANGSMITH_API_KEY"}
    assert not provided & set(os.environ)
    assert "dataagent-tests-" in str(Path.home())
