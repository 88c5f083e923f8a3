"""Runs in a person's own project: what is asked, what is changed, and taking it back."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import Conflict, Misconfigured
from dataagent_core.events import FileOperationEvent, HITLRequestEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.workspace.undo import Change
from tests.waiting import WAIT_SECONDS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a file that Git ignores and one with secrets."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    for name, text in {
        "a.txt": "one\n",
        "b.txt": "two\n",
        "src/main.py": "print(1)\n",
        ".gitignore": "data/\n",
        "data/large.csv": "1,2\n",
        ".env": "KEY=hush\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
async def core(make_settings: Callable[..., Settings], project: Path) -> AsyncGenerator[Core]:
    settings = make_settings(project=project, enable_shell=True, sandbox="off")
    async with open_core(settings, grace_seconds=2) as opened:
        yield opened


def line(name: str, **arguments: Any) -> str:
    return f"!tool {name} {json.dumps(arguments)}"


def write(path: str, content: str) -> str:
    return line("write_file", file_path=path, content=content)


def kinds(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change.path, change.kind) for change in changes]


def results(events: list[Any]) -> list[str]:
    return [str(event.result) for event in events if isinstance(event, ToolResultEvent)]


def files(root: Path) -> dict[str, str]:
    paths = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(root)): path.read_text() for path in paths}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ls", {"path": "/"}),
        ("read_file", {"file_path": "/a.txt"}),
        ("glob", {"pattern": "**/*.py"}),
        ("grep", {"pattern": "one"}),
    ],
)
async def test_reading_is_not_asked_about(chat: Any, name: str, arguments: dict[str, Any]) -> None:
    events = await chat.ask(line(name, **arguments))
    assert not any(isinstance(event, HITLRequestEvent) for event in events)
    assert any(isinstance(e, ToolResultEvent) and e.status == "success" for e in events)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"file_path": "/a.txt", "content": "x"}),
        ("edit_file", {"file_path": "/a.txt", "old_string": "one", "new_string": "x"}),
        ("delete", {"file_path": "/a.txt"}),
        ("shell", {"command": "echo x > a.txt"}),
        ("read_file", {"file_path": "/.env"}),
        ("grep", {"pattern": "KEY", "path": "/.env"}),
    ],
)
async def test_changing_and_showing_secrets_is_asked_about(
    chat: Any, project: Path, name: str, arguments: dict[str, Any]
) -> None:
    before = files(project)
    run = await chat.start(line(name, **arguments))
    (request,) = await chat.requests(run)
    assert request.action.name == name
    await chat.decide(run, request.request_id, Decision("reject"))
    events = await chat.events(run)
    assert events[-1].reason == "rejected"
    assert "hush" not in str(events)
    assert files(project) == before


async def test_a_secret_that_was_approved_is_shown(chat: Any) -> None:
    run = await chat.start(line("read_file", file_path="/.env"))
    (request,) = await chat.requests(run)
    await chat.decide(run, request.request_id, Decision("approve"))
    assert "KEY=hush" in results(await chat.events(run))[0]


async def test_what_file_tools_did_is_taken_back(chat: Any, core: Core, project: Path) -> None:
    before = files(project)
    (project / "src/main.py").chmod(0o755)
    turn = [
        write("/a.txt", "changed"),
        line("edit_file", file_path="/b.txt", old_string="two", new_string="three"),
        line("edit_file", file_path="/b.txt", old_string="three", new_string="four"),
        write("/new/deep/c.txt", "created"),
        write("/passing.txt", "created and deleted again"),
        line("delete", file_path="/passing.txt"),
        line("delete", file_path="/src"),
    ]
    run = await chat.start("\n".join(turn), auto_approve=True)
    await chat.events(run)
    assert files(project) != before
    changes = await core.undo.last(chat.session_id)
    assert kinds(changes) == [
        ("a.txt", "changed"),
        ("b.txt", "changed"),
        ("new/deep/c.txt", "created"),
        ("src/main.py", "deleted"),
    ]
    assert {change.run_id for change in changes} == {run.run_id}
    assert await core.undo.take_back(chat.session_id) == changes
    assert files(project) == before
    assert (project / "src/main.py").stat().st_mode & 0o777 == 0o755
    assert await core.undo.last(chat.session_id) == []
    assert await core.undo.take_back(chat.session_id) == []


async def test_turns_are_taken_back_one_after_another(chat: Any, core: Core, project: Path) -> None:
    await chat.ask(write("/a.txt", "first"), auto_approve=True)
    await chat.ask("nothing is changed in this turn")
    await chat.ask(write("/a.txt", "second"), auto_approve=True)
    await core.undo.take_back(chat.session_id)
    assert (project / "a.txt").read_text() == "first"
    await core.undo.take_back(chat.session_id)
    assert (project / "a.txt").read_text() == "one\n"


async def test_another_conversation_has_nothing_to_take_back(
    chat: Any, chat_in: Callable[..., Any], core: Core
) -> None:
    await chat.ask(write("/a.txt", "x"), auto_approve=True)
    other = await chat_in(core)
    assert await core.undo.last(other.session_id) == []


@pytest.mark.parametrize("change", ["edited", "deleted", "folder"])
async def test_what_someone_else_changed_since_is_not_overwritten(
    chat: Any, core: Core, project: Path, change: str
) -> None:
    await chat.ask(f"{write('/a.txt', 'x')}\n{write('/new.txt', 'y')}", auto_approve=True)
    (project / "new.txt").unlink()
    if change == "edited":
        (project / "new.txt").write_text("by hand")
    elif change == "folder":
        (project / "new.txt").mkdir()
        (project / "new.txt/mine").write_text("by hand")
    else:
        (project / "a.txt").unlink()
    before = files(project)
    with pytest.raises(Conflict, match=r"a\.txt" if change == "deleted" else r"new\.txt"):
        await core.undo.take_back(chat.session_id)
    assert files(project) == before
    assert len(await core.undo.last(chat.session_id)) == 2


async def test_what_was_too_large_is_named_and_left(chat: Any, core: Core, project: Path) -> None:
    (project / "large.txt").write_text("x" * 5_000_000)
    turn = f"{write('/large.txt', 'small')}\n{write('/a.txt', 'x')}"
    await chat.ask(turn, auto_approve=True)
    changes = await core.undo.take_back(chat.session_id)
    assert [change.problem for change in changes] == [
        None,
        "it had 5000000 bytes, too many to be kept",
    ]
    assert (project / "a.txt").read_text() == "one\n"
    assert (project / "large.txt").read_text() == "small"


async def test_what_a_command_did_is_told_and_taken_back(
    chat: Any, core: Core, project: Path
) -> None:
    before = files(project)
    command = "echo more >> a.txt; rm b.txt; mkdir new; echo new > new/c.txt; touch src/main.py"
    events = await chat.ask(line("shell", command=command), auto_approve=True)
    told = [e for e in events if isinstance(e, FileOperationEvent)]
    assert [(e.operation, e.file_path) for e in told] == [
        ("edit", "/a.txt"),
        ("delete", "/b.txt"),
        ("write", "/new/c.txt"),
    ]
    assert "+more" in str(told[0].diff)
    changes = await core.undo.take_back(chat.session_id)
    assert kinds(changes) == [("a.txt", "changed"), ("b.txt", "deleted"), ("new/c.txt", "created")]
    assert files(project) == before


async def test_a_command_that_was_stopped_can_be_taken_back(
    chat: Any, core: Core, project: Path
) -> None:
    run = await chat.start(
        line("shell", command="echo x > a.txt; echo done; sleep 60", timeout_seconds=1),
        auto_approve=True,
    )
    await chat.events(run)
    assert kinds(await core.undo.take_back(chat.session_id)) == [("a.txt", "changed")]
    assert (project / "a.txt").read_text() == "one\n"


async def test_a_turn_that_was_cancelled_can_be_taken_back(
    chat: Any, core: Core, project: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = f"echo x > a.txt; echo ready > {pipe}; sleep 60"
    run = await chat.start(line("shell", command=command), auto_approve=True)
    async with asyncio.timeout(WAIT_SECONDS):
        assert await asyncio.to_thread(pipe.read_text) == "ready\n"
    await core.runs.cancel(run.run_id, owner="anna")
    assert (await chat.events(run))[-1].cancelled
    assert kinds(await core.undo.take_back(chat.session_id)) == [("a.txt", "changed")]
    assert (project / "a.txt").read_text() == "one\n"


async def test_what_git_ignores_is_not_recorded_for_commands(
    chat: Any, core: Core, project: Path
) -> None:
    await chat.ask(line("shell", command="echo 3 > data/large.csv"), auto_approve=True)
    assert await core.undo.last(chat.session_id) == []


async def test_what_is_kept_for_it_is_for_the_owner_only(
    chat: Any, core: Core, project: Path, home: Path
) -> None:
    await chat.ask(write("/a.txt", "x"), auto_approve=True)
    kept = [path for path in (home / "undo").rglob("*") if path.is_file()]
    assert any(path.read_bytes() == b"one\n" for path in kept)
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert not list(project.glob(".dataagent*"))


async def test_it_survives_a_restart(
    make_settings: Callable[..., Settings], chat_in: Callable[..., Any], project: Path
) -> None:
    settings = make_settings(project=project, sandbox="off")
    async with open_core(settings, grace_seconds=2) as first:
        chat = await chat_in(first)
        await chat.ask(write("/a.txt", "x"), auto_approve=True)
    async with open_core(settings, grace_seconds=2) as second:
        assert kinds(await second.undo.take_back(chat.session_id)) == [("a.txt", "changed")]
    assert (project / "a.txt").read_text() == "one\n"


async def test_another_project_is_not_touched(
    make_settings: Callable[..., Settings],
    chat_in: Callable[..., Any],
    project: Path,
    tmp_path: Path,
) -> None:
    async with open_core(make_settings(project=project, sandbox="off"), grace_seconds=2) as first:
        chat = await chat_in(first)
        await chat.ask(write("/a.txt", "x"), auto_approve=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("x")
    async with open_core(make_settings(project=other, sandbox="off"), grace_seconds=2) as second:
        assert await second.undo.take_back(chat.session_id) == []
    assert (other / "a.txt").read_text() == "x"


async def test_without_a_project_there_is_nothing_to_take_back(
    make_settings: Callable[..., Settings], chat_in: Callable[..., Any]
) -> None:
    async with open_core(make_settings(sandbox="off"), grace_seconds=2) as core:
        chat = await chat_in(core)
        await chat.ask(write("/files/a.txt", "x"), auto_approve=True)
        assert await core.undo.last(chat.session_id) == []
        assert await core.undo.take_back(chat.session_id) == []


async def test_a_project_that_is_no_folder_is_refused(
    make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    with pytest.raises(Misconfigured, match="is not a folder"):
        async with open_core(make_settings(project=tmp_path / "nowhere")):
            pass


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
async def test_code_in_the_sandbox_works_in_place_asks_and_is_taken_back(
    make_settings: Callable[..., Settings], chat_in: Callable[..., Any], project: Path
) -> None:
    before = files(project)
    async with open_core(make_settings(project=project), grace_seconds=2) as core:
        assert "keep_files" not in {tool.name for tool in core.factory.bindable_tools()}
        chat = await chat_in(core)
        run = await chat.start(line("execute", command="echo x >> a.txt; pwd"))
        (request,) = await chat.requests(run)
        await chat.decide(run, request.request_id, Decision("approve"))
        async with asyncio.timeout(WAIT_SECONDS):  # the first sandbox of a process takes a while
            assert [e.event_type async for e in core.runs.read(run.run_id)][-1] == "done"
        assert (project / "a.txt").read_text() == "one\nx\n"
        run = await chat.start(line("execute_python", code="open('b.txt', 'w').write('py')"))
        (request,) = await chat.requests(run)
        await chat.decide(run, request.request_id, Decision("approve"))
        await chat.events(run)
        assert (project / "b.txt").read_text() == "py"
        assert not (project / "output").exists()
        assert kinds(await core.undo.take_back(chat.session_id)) == [("b.txt", "changed")]
        assert kinds(await core.undo.take_back(chat.session_id)) == [("a.txt", "changed")]
    assert files(project) == before
