"""000 R1, R10, R12, R15: how the repository is laid out and written."""

from __future__ import annotations

import ast
import importlib
import inspect
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from tests.acceptance.states import states

ROOT = Path(__file__).parents[2]
LIBS = sorted(path for path in (ROOT / "libs").iterdir() if (path / "pyproject.toml").exists())
SOURCES = sorted(
    path
    for folder in ("libs", "tests", "scripts", "bench", "skills", "packages")
    for path in (ROOT / folder).rglob("*.py")
    if not {".venv", "node_modules"} & set(path.parts)
)
OLD_TYPING = {"List", "Dict", "Set", "FrozenSet", "Tuple", "Type", "Optional"}


def project(lib: Path) -> dict[str, Any]:
    return tomllib.loads((lib / "pyproject.toml").read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """The packages a module imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    names += [
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    ]
    return {name.partition(".")[0] for name in names}


@states("R1.1", "engine/", "events/", "middleware/", "tools/", "hitl/", "config/", "session/")
@pytest.mark.parametrize(
    "folder", ["engine", "events", "middleware", "tools", "hitl", "config", "session"]
)
def test_the_core_has_the_folder(folder: str) -> None:
    module = importlib.import_module(f"dataagent_core.{folder}")
    assert Path(module.__file__ or "").name == "__init__.py"


@states("R1.2", "ui/", "input/", "hitl/", "commands/")
@pytest.mark.parametrize("folder", ["ui", "input", "hitl", "commands"])
def test_the_terminal_has_the_folder(folder: str) -> None:
    module = importlib.import_module(f"dataagent_cli.{folder}")
    assert Path(module.__file__ or "").name == "__init__.py"


@states("R15.1", "api/", "ws/", "hitl/", "models/", "deps/")
@pytest.mark.parametrize("folder", ["api", "ws", "hitl", "models", "deps"])
def test_the_server_has_the_folder(folder: str) -> None:
    module = importlib.import_module(f"dataagent_server.{folder}")
    assert Path(module.__file__ or "").name == "__init__.py"


@states("R1.3", "every folder has __init__.py and exports its public names")
@pytest.mark.parametrize(
    "package",
    [
        *(f"dataagent_core.{name}" for name in ("engine", "events", "middleware", "tools")),
        *(f"dataagent_core.{name}" for name in ("hitl", "config", "session")),
        *(f"dataagent_cli.{name}" for name in ("ui", "input", "hitl", "commands")),
        *(f"dataagent_server.{name}" for name in ("api", "ws", "hitl", "models", "deps")),
    ],
)
def test_a_package_exports_its_public_names(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@states("R1.4", "pyproject.toml with dependencies and metadata")
def test_each_package_says_what_it_is_and_needs() -> None:
    assert LIBS
    for lib in LIBS:
        about = project(lib)["project"]
        assert about["name"] == lib.name
        assert about["description"]
        assert about["version"] or "version" in about["dynamic"]
        assert isinstance(about["dependencies"], list)


@states("R15.3", "the server has a pyproject.toml")
@states("R15.4", "the server depends on dataagent-core")
def test_the_server_depends_on_the_core() -> None:
    needed = project(ROOT / "libs/dataagent-server")["project"]["dependencies"]
    assert any(each.startswith("dataagent-core") for each in needed)


@states("R1.5", "core → cli and server, never back")
@states("P22", "the core imports neither cli nor server")
def test_the_core_imports_no_client() -> None:
    above = {"dataagent_cli", "dataagent_server", "dataagent_server_demo", "dataagent_harbor"}
    core = ROOT / "libs/dataagent-core/dataagent_core"
    assert [str(path) for path in core.rglob("*.py") if imported(path) & above] == []


@states("R15.2", "FastAPI")
def test_the_server_is_built_on_fastapi() -> None:
    needed = project(ROOT / "libs/dataagent-server")["project"]["dependencies"]
    assert any(each.startswith("fastapi") for each in needed)
    main = importlib.import_module("dataagent_server.main")
    assert FastAPI in vars(main).values()


@states("001 §Server Directory Structure", "main.py holds the FastAPI application")
def test_the_application_is_in_main() -> None:
    main = importlib.import_module("dataagent_server.main")
    assert isinstance(main.app, FastAPI)


@states("R10.1", "Python 3.11+")
def test_every_package_needs_python_3_11() -> None:
    assert {project(lib)["project"]["requires-python"] for lib in LIBS} == {">=3.11"}


@states("R10.2", "at most 100 characters a line")
def test_no_line_is_longer_than_100_characters() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if len(line) > 100
    ]
    assert long == []


@states("R10.2", "PEP 8")
def test_the_linter_holds_the_code_to_pep_8() -> None:
    lint = project(ROOT)["tool"]["ruff"]
    assert lint["line-length"] == 100
    assert {"E", "W", "N"} <= set(lint["lint"]["select"])


PUBLIC = {
    "dataagent_core.events": (
        *("ExecutionEvent", "TextEvent", "ToolCallEvent", "ToolResultEvent", "HITLRequestEvent"),
        *("TodoUpdateEvent", "FileOperationEvent", "ErrorEvent", "DoneEvent"),
    ),
    "dataagent_core.hitl": ("HITLHandler", "ActionRequest", "Decision"),
    "dataagent_core.engine": ("AgentConfig", "AgentFactory", "AgentExecutor"),
    "dataagent_core.config": ("Settings", "SessionState"),
    "dataagent_core.middleware": ("AgentMemoryMiddleware", "SkillsMiddleware", "ShellMiddleware"),
    "dataagent_core.tools": ("http_request", "fetch_url", "web_search", "FileOpTracker"),
    "dataagent_core.session": (
        *("Session", "Message", "SessionStore", "MessageStore", "SessionManager"),
        *("SessionStoreFactory", "MemorySessionStore", "MySQLSessionStore", "MySQLMessageStore"),
    ),
    "dataagent_core.mcp": ("MCPConfig", "MCPServerConfig", "MCPConnectionManager"),
    "dataagent_core.workspace": ("UserWorkspaceManager", "SandboxedFilesystemBackend"),
    "dataagent_cli.ui": ("TerminalRenderer",),
    "dataagent_server.ws": ("ConnectionManager",),
    "dataagent_server.hitl": ("WebHITLHandler", "WebSocketHITLHandler"),
    "dataagent_server.auth": ("APIKeyAuth",),
    "dataagent_server.config": ("ServerSettings",),
    "dataagent_server.models": (
        *("ChatRequest", "ChatResponse", "SessionInfo", "ErrorResponse", "WebSocketMessage"),
    ),
}
NAMES = [(package, name) for package, names in PUBLIC.items() for name in names]


@states("R10.3", "public names have a docstring")
@pytest.mark.parametrize(("package", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_public_name_is_documented(package: str, name: str) -> None:
    found = getattr(importlib.import_module(package), name)
    assert inspect.getdoc(found)
    own = [
        member
        for member, made in (inspect.getmembers(found) if inspect.isclass(found) else [])
        if not member.startswith("_")
        and getattr(made, "__module__", "").startswith("dataagent_")
        and inspect.isroutine(made)
    ]
    assert [member for member in own if not inspect.getdoc(getattr(found, member))] == []


@states("R10.4", "list[str], not List[str]")
def test_no_types_of_the_typing_module_that_python_has_itself() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        for alias in node.names
        if alias.name in OLD_TYPING
    ]
    assert found == []


@states("R10.5", "data classes are dataclasses or Pydantic models")
@pytest.mark.parametrize(
    ("package", "name"),
    [
        *(("dataagent_core.events", name) for name in PUBLIC["dataagent_core.events"]),
        ("dataagent_core.engine", "AgentConfig"),
        ("dataagent_core.config", "SessionState"),
        ("dataagent_core.session", "Session"),
        ("dataagent_core.session", "Message"),
        ("dataagent_core.mcp", "MCPServerConfig"),
        ("dataagent_core.mcp", "MCPConfig"),
        *(("dataagent_server.models", name) for name in PUBLIC["dataagent_server.models"]),
    ],
    ids=str,
)
def test_a_data_class_is_one(package: str, name: str) -> None:
    found = getattr(importlib.import_module(package), name)
    assert hasattr(found, "__dataclass_fields__") or issubclass(found, BaseModel)


@states("R10.6", "async and await, no callbacks")
def test_what_waits_is_a_coroutine() -> None:
    engine = importlib.import_module("dataagent_core.engine")
    session = importlib.import_module("dataagent_core.session")
    assert inspect.isasyncgenfunction(engine.AgentExecutor.execute)
    for method in ("create", "get", "update", "delete", "list_by_user"):
        assert inspect.iscoroutinefunction(getattr(session.SessionStore, method)), method
    for method in ("get_or_create_session", "get_executor"):
        assert inspect.iscoroutinefunction(getattr(session.SessionManager, method)), method


@states("R12.1", "pytest")
@states("R12.3", "pytest-asyncio")
@states("001 §测试框架", "pytest", "pytest-asyncio", "hypothesis")
def test_the_tests_run_with_the_named_tools() -> None:
    needed = project(ROOT)["dependency-groups"]["dev"]
    names = {each.split(">=")[0] for each in needed}
    assert {"pytest", "pytest-asyncio", "hypothesis"} <= names


@states("R12.2", "tests/ mirrors the source")
@states("001 §测试目录结构", "events", "engine", "middleware", "hitl", "session", "conftest.py")
def test_the_tests_mirror_the_source() -> None:
    for package in ("core", "cli", "server"):
        lib = ROOT / f"libs/dataagent-{package}"
        folders = {
            path.parent.name for path in (lib / f"dataagent_{package}").glob("*/__init__.py")
        }
        tested = {path.parent.name for path in (lib / "tests").glob("*/test_*.py")}
        assert folders - tested == set()
    assert list((ROOT / "libs/dataagent-core/tests").glob("conftest.py"))


@states("R12.4", "tests reach nothing outside")
def test_a_test_cannot_reach_another_machine() -> None:
    with socket.socket() as door, pytest.raises(RuntimeError, match="this machine"):
        door.connect(("192.0.2.1", 80))


@states("R12.5", "80 % coverage of the core")
@states(
    "001 §覆盖率要求", "engine, events, hitl: at least 80 %", "middleware, tools: at least 70 %"
)
def test_the_coverage_that_is_asked_for_is_held_to() -> None:
    floors = importlib.import_module("scripts.coverage_floors")
    of = {
        room: floors.PackageCoverage(f"core/{room}", 0, 0, 0, 0).floor
        for room in ("engine", "events", "hitl", "middleware", "tools")
    }
    assert min(of["engine"], of["events"], of["hitl"]) >= 80
    assert min(of["middleware"], of["tools"]) >= 70


@states("001 §属性测试规范", "at least 100 examples of each property")
def test_a_property_of_events_runs_a_hundred_examples() -> None:
    path = ROOT / "libs/dataagent-core/tests/events"
    texts = [each.read_text(encoding="utf-8") for each in path.glob("test_*.py")]
    assert any("examples(100)" in text and "@given(" in text for text in texts)
