"""ARCHITECTURE.md says what the code does: its names exist, and its paths are taken in that order.

One real turn over a real socket, with a call that is approved, is played by the app while a hook
notes which functions are called. What the paths name must be called in that order.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, FrameType

import langchain_core.messages
import pytest
from starlette.testclient import TestClient

from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from tests.homes import prepared_home
from tests.source import PACKAGES, ROOT, modules, tree

PAGE = ROOT / "ARCHITECTURE.md"
_QUOTED = re.compile(r"`([^`]+)`")
_FILE = re.compile(r"[\w/]+\.py")
_NAME = re.compile(r"([A-Z]\w*)(?:\.(\w+))?")
_STEP = re.compile(r"^\d\. (.*?)(?=^\d\. |\n\n)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)
_AROUND = "awrap_tool_call"
_MAKING = {"__init__", "__post_init__"}
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}\n!echo Written.'


def quoted(text: str) -> list[str]:
    """What stands between backticks, in order."""
    return [name.strip() for name in _QUOTED.findall(text)]


def section(title: str) -> str:
    """A part of the page."""
    return PAGE.read_text(encoding="utf-8").partition(f"## {title}")[2].partition("\n## ")[0]


def numbered_steps(title: str) -> str:
    """The numbered steps of a path, as text."""
    return "\n".join(_STEP.findall(section(title)))


def listed_functions(title: str) -> list[tuple[str, str]]:
    """The file and the function of each row of a path's table."""
    return _ROW.findall(section(title))


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """Our classes by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for path in (path for package in PACKAGES for path in modules(package)):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def methods(node: ast.ClassDef) -> set[str]:
    """The names of a class's methods."""
    return {
        one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def members(node: ast.ClassDef) -> set[str]:
    """The names a class gives to its methods and fields."""
    fields = {ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)}
    return methods(node) | fields


def kinds(name: str) -> set[str]:
    """A class and those that derive from it."""
    below = {
        other
        for other, nodes in classes().items()
        for node in nodes
        if name in {ast.unparse(base).partition("[")[0] for base in node.bases}
    }
    return {name}.union(*map(kinds, below))


def test_every_file_that_is_named_exists() -> None:
    files = [path for package in PACKAGES for path in modules(package)]
    named = {name for name in quoted(PAGE.read_text(encoding="utf-8")) if _FILE.fullmatch(name)}
    assert len(named) > 30
    ends = [f"/{path}" for path in [*files, *ROOT.glob("tests/*.py")]]
    assert [name for name in named if not any(end.endswith(f"/{name}") for end in ends)] == []


def test_every_class_and_method_that_is_named_exists() -> None:
    missing: list[str] = []
    for name in quoted(PAGE.read_text(encoding="utf-8")):
        found = _NAME.fullmatch(name)
        if found and found[1] not in classes() and not hasattr(langchain_core.messages, found[1]):
            missing.append(name)
        if found and found[2] and not any(found[2] in members(n) for n in classes()[found[1]]):
            missing.append(name)
    assert missing == []


# -- the paths ------------------------------------------------------------------------------------


class Calls:
    """Which of our functions are called, in order, in all threads that begin while it listens.

    A coroutine is called once; a reader that waits for more is called each time it goes on.
    """

    def __init__(self) -> None:
        self.names: list[str] = []

    def __enter__(self) -> Calls:
        threading.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        threading.setprofile(None)  # pyright: ignore[reportArgumentType] None takes the hook away

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and "/dataagent_" in code.co_filename and _begins(frame):
            self.names.append(code.co_qualname)


def _begins(frame: FrameType) -> bool:
    """Whether a function is entered, and not gone on with; a reader counts each time."""
    code = frame.f_code
    return bool(code.co_flags & inspect.CO_ASYNC_GENERATOR) or frame.f_lasti <= _entry(code)


@cache
def _entry(code: CodeType) -> int:
    """Where a function begins; where it goes on after waiting lies behind."""
    return next(one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")


@pytest.fixture(scope="module")
def turn(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """The calls of one turn with an approved tool call, from the frame to the end."""
    home = prepared_home(tmp_path_factory.mktemp("path") / "home")
    settings = ServerSettings(
        _env_file=None,  # pyright: ignore[reportCallIssue] pydantic-settings takes it
        home=home,
        model="scripted",
        auth_disabled=True,
    )
    with Calls() as calls, TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        path = f"ws://127.0.0.1/ws/chat/{uuid.uuid4()}"
        with client.websocket_connect(path) as socket:
            assert socket.receive_json()["event_type"] == "connected"
            before = len(calls.names)
            socket.send_json({"type": "chat", "payload": {"message": WRITE, "assistant_id": "sql"}})
            for event in iter(socket.receive_json, None):
                if event["event_type"] == "hitl_request":
                    answer = {"request_id": event["data"]["request_id"], "type": "approve"}
                    socket.send_json({"type": "hitl_decision", "payload": answer})
                if event["event_type"] == "done":
                    assert event["data"]["reason"] == "completed"
                    break
    return calls.names[before:]


def steps_of(node: ast.ClassDef) -> set[str]:
    """The methods of a class that are a step of a path: not those of data, nor what makes one."""
    if any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
        return set()
    found = methods(node) - _MAKING
    return {_AROUND} if _AROUND in found else found


def named_in(text: str) -> Iterator[set[str]]:
    """For each class or method that the text names, in order, the functions that may stand for it.

    A class stands for its methods, in our kinds of it; middleware for what it does around a call.
    """
    for name in quoted(text):
        found = _NAME.fullmatch(name)
        if found is None or found[1] not in classes():
            continue
        yield {
            f"{kind}.{method}"
            for kind in kinds(found[1])
            for node in classes().get(kind, [])
            for method in steps_of(node)
            if found[2] in (None, method)
        }


def lost_at(text: str, calls: Sequence[str]) -> set[str] | None:
    """The first step of a path that is not called after the one before it, if there is one."""
    rest = iter(calls)
    for step in named_in(text):
        if step and not any(name in step for name in rest):
            return step
    return None


def out_of_order(functions: Sequence[str], calls: Sequence[str]) -> str | None:
    """The first function that is not called after the one before it, if there is one."""
    rest = iter(calls)
    return next((name for name in functions if not any(call == name for call in rest)), None)


def defined_in(path: str) -> set[str]:
    """The functions and methods of a file of ours, by their qualified names."""
    [file] = [
        each for package in PACKAGES for each in modules(package) if f"/{each}".endswith(path)
    ]
    found: set[str] = set()
    for node in tree(file).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{method}" for method in methods(node)}
    return found


def test_a_message_takes_the_path_as_it_is_listed(turn: Sequence[str]) -> None:
    path = listed_functions("The path of a message")
    assert 10 <= len(path) <= 15
    assert [row for row in path if row[1] not in defined_in(f"/{row[0]}")] == []
    assert out_of_order([function for _, function in path], turn) is None


def test_a_tool_call_takes_the_path_as_it_is_written(turn: Sequence[str]) -> None:
    steps = numbered_steps("The path of a tool call")
    assert len(list(named_in(steps))) >= 5
    assert lost_at(steps, turn) is None


def test_a_path_in_another_order_would_be_noticed(turn: Sequence[str]) -> None:
    # Only what a turn itself calls: the socket's reader asks for the session whenever it likes.
    assert out_of_order(["SqlRunStore.open", "RunService.start"], turn) == "RunService.start"
    assert lost_at("`RunWriter.write`, then `Worker.begin`", turn) is not None
    assert lost_at("`RunService.compact`", turn) == {"RunService.compact"}
