"""`keep_files` through a run, on both walls: what is asked, what is kept, and what never is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    FileOperationEvent,
    HITLRequestEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import Decision
from dataagent_core.runs import RunOptions
from dataagent_core.sandbox import factory
from dataagent_core.sandbox.docker import DockerWall
from tests.docker import docker_engine
from tests.requirements import requirement
from tests.tiers import WALLS
from tests.waiting import WAIT_SECONDS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
]
QUOTA = 100_000
CHANGE = """
import os
open('files/kept.txt', 'a').write(' and more')
os.remove('files/gone.txt')
os.makedirs('files/new'); open('files/new/made.txt', 'w').write('made')
open('/output/made.txt', 'w').write('for the user')
"""


@dataclass
class Talk:
    """One user's conversation, and their files."""

    core: Core
    session_id: str
    owner: str
    files: Path

    async def events(self, message: str, **options: Any) -> list[AnyEvent]:
        started = await self.core.runs.start(
            self.session_id, message, owner=self.owner, options=RunOptions(**options)
        )
        async with asyncio.timeout(WAIT_SECONDS):
            return [entry.event async for entry in self.core.runs.read(started.run.run_id)]

    async def call(self, tool: str, **arguments: Any) -> str:
        """Have the model call a tool that nobody is asked about; what it gets back."""
        events = await self.events(f"!tool {tool} {json.dumps(arguments)}", auto_approve=True)
        [result] = [event for event in events if isinstance(event, ToolResultEvent)]
        return str(result.result)

    async def python(self, code: str) -> str:
        return await self.call("execute_python", code=code)

    async def keep(self, *paths: str, deleted: tuple[str, ...] = ()) -> str:
        return await self.call("keep_files", paths=list(paths), deleted=list(deleted))

    async def write(self, path: str, text: str) -> None:
        """As the user does, outside of the conversation."""
        files = await self.core.workspaces.open_workspace(self.owner)
        await files.put(path, text.encode())

    def contents(self) -> dict[str, str]:
        found = (path for path in self.files.rglob("*") if path.is_file())
        return {str(path.relative_to(self.files)): path.read_text() for path in found}


def _given(wall: DockerWall, _settings: Settings) -> DockerWall:
    return wall


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=WALLS)
async def core(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Core]:
    settings = Settings(
        home=tmp_path_factory.mktemp("keeping-home"),
        model="scripted",
        sample_data=False,
        sandbox="bwrap",
        sandbox_pool_size=0,
        workspace_quota=QUOTA,
    )
    if request.param == "bwrap":
        async with open_core(settings, grace_seconds=2) as opened:
            yield opened
        return
    with docker_engine() as engine, pytest.MonkeyPatch.context() as patched:
        wall = DockerWall(engine.image, url=engine.url, binds=engine.binds)  # of the tests' engine
        patched.setattr(factory, "create_wall", partial(_given, wall))
        async with open_core(settings, grace_seconds=2) as opened:
            yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def talk(core: Core, request: pytest.FixtureRequest) -> Talk:
    owner = f"u{abs(hash(request.node.name)) % 10**9}"
    session = await core.sessions.create(owner, "agent")
    workspace = await core.workspaces.prepare(owner)
    talk = Talk(core, session.session_id, owner, workspace / "files")
    for name in ("kept.txt", "gone.txt"):
        await talk.write(f"files/{name}", "hello")
    return talk


async def decided(talk: Talk, asked: dict[str, Any], decision: Decision) -> list[AnyEvent]:
    """The events of a call that waits for a person, who finds the files as they were."""
    message = f"!tool keep_files {json.dumps(asked)}"
    started = await talk.core.runs.start(talk.session_id, message, owner=talk.owner)
    run_id, events = started.run.run_id, list[AnyEvent]()
    async with asyncio.timeout(WAIT_SECONDS):
        async for entry in talk.core.runs.read(run_id):
            events.append(entry.event)
            if isinstance(entry.event, HITLRequestEvent):
                assert talk.contents() == {"kept.txt": "hello", "gone.txt": "hello"}
                request_id = entry.event.request_id
                await talk.core.runs.decide(run_id, request_id, decision, owner=talk.owner)
    return events


@requirement("R33.3")
async def test_what_code_changed_is_told_and_kept_when_a_person_agrees(talk: Talk) -> None:
    told = await talk.python(CHANGE)
    changed = "files/gone.txt (deleted), files/kept.txt, files/new/made.txt"
    assert f"not in the user's own files: {changed}. " in told
    assert "keep_files" in await talk.call("execute", command="true")
    assert talk.contents() == {"kept.txt": "hello", "gone.txt": "hello"}
    asked = {"paths": ["files/kept.txt", "/workspace/files/new/made.txt"], "deleted": []}
    events = await decided(talk, asked, Decision("approve"))
    [request] = [event for event in events if isinstance(event, HITLRequestEvent)]
    assert request.action.args == asked
    [result] = [event for event in events if isinstance(event, ToolResultEvent)]
    assert str(result.result).startswith(
        "Kept in the user's files: files/kept.txt, files/new/made.txt. Changed"
    )
    assert talk.contents() == {
        "kept.txt": "hello and more",
        "gone.txt": "hello",
        "new/made.txt": "made",
    }
    shown = [event for event in events if isinstance(event, FileOperationEvent)]
    assert [(event.operation, event.file_path) for event in shown] == [
        ("write", "/files/kept.txt"),
        ("write", "/files/new/made.txt"),
    ]
    assert "+hello and more" in str(shown[0].diff)
    assert await talk.keep(deleted=("files/gone.txt",)) == "Deleted there: files/gone.txt."
    assert "gone.txt" not in talk.contents()
    assert "not in the user's own" not in await talk.python("1")


@requirement("R33.3", "R3.4")
async def test_who_is_asked_and_refuses_keeps_the_files_as_they_are(talk: Talk) -> None:
    await talk.python(CHANGE)
    asked = {"paths": ["files/kept.txt"], "deleted": ["files/gone.txt"]}
    last = (await decided(talk, asked, Decision("reject")))[-1]
    assert isinstance(last, DoneEvent)
    assert last.cancelled
    assert talk.contents() == {"kept.txt": "hello", "gone.txt": "hello"}


@requirement("R33.3")
async def test_a_file_that_was_changed_meanwhile_is_not_overwritten(talk: Talk) -> None:
    await talk.python(CHANGE)
    await talk.write("files/kept.txt", "theirs")
    await talk.write("files/new/made.txt", "theirs too")
    told = await talk.keep("files/kept.txt", "files/new/made.txt", deleted=("files/gone.txt",))
    assert told.startswith(
        "Error: Changed in the workspace since the code ran: 'files/kept.txt', "
        "'files/new/made.txt'. Nothing was kept."
    )
    assert talk.contents() == {
        "kept.txt": "theirs",
        "gone.txt": "hello",
        "new/made.txt": "theirs too",
    }
    await talk.python("open('files/kept-2.txt', 'w').write(open('files/kept.txt').read())")
    await talk.keep("files/kept-2.txt")
    assert talk.contents()["kept-2.txt"] == "hello and more"


@pytest.mark.slow
@requirement("R33.3")
async def test_a_file_that_changes_while_the_code_runs_is_not_overwritten(talk: Talk) -> None:
    run = (
        "import time; open('files/begun.txt', 'w').write('1'); time.sleep(8); "
        "open('files/kept.txt', 'w').write('mine')"
    )
    running = asyncio.create_task(talk.python(run))
    async with asyncio.timeout(WAIT_SECONDS):
        while not _is_busy(talk):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    await talk.write("files/kept.txt", "theirs")
    assert "files/kept.txt" in await running
    assert "Nothing was kept" in await talk.keep("files/kept.txt")
    assert talk.contents()["kept.txt"] == "theirs"


def _is_busy(talk: Talk) -> bool:
    sandboxes = talk.core.sandboxes
    session = sandboxes and sandboxes.find_session(talk.owner, talk.session_id)
    return session is not None and session.is_busy


@requirement("R33.6")
async def test_more_than_the_quota_is_refused_whole(talk: Talk) -> None:
    code = "open('files/a.txt', 'w').write('a'); open('files/big.bin', 'wb').write(bytes(200_000))"
    await talk.python(code)
    used = await talk.core.workspaces.usage(talk.owner)
    told = await talk.keep("files/a.txt", "files/big.bin")
    assert "Error: The changes need" in told
    assert sorted(talk.contents()) == ["gone.txt", "kept.txt"]
    assert await talk.core.workspaces.usage(talk.owner) == used
    assert "Kept" in await talk.keep("files/a.txt")
    assert await talk.core.workspaces.usage(talk.owner) == used + 1


@requirement("R33.4")
@pytest.mark.parametrize(
    ("paths", "deleted"),
    [
        (["../../etc/passwd"], []),
        (["/etc/passwd"], []),
        (["files/kept.txt", "files/other.txt"], []),
        (["files/gone.txt"], []),
        (["link.txt"], []),
        (["output/made.txt"], []),
        ([], ["files/kept.txt"]),
        ([], []),
    ],
)
async def test_only_what_the_code_changed_can_be_named(
    talk: Talk, paths: list[str], deleted: list[str]
) -> None:
    await talk.python(f"{CHANGE}\nos.symlink('/etc/passwd', 'link.txt')")
    told = await talk.keep(*paths, deleted=tuple(deleted))
    assert told.startswith("Error:")
    assert "files/new/made.txt" in told
    assert talk.contents() == {"kept.txt": "hello", "gone.txt": "hello"}


@requirement("R33.4")
async def test_a_link_in_the_workspace_leads_nowhere(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    await talk.python("import os; os.makedirs('files/way'); open('files/way/x', 'w').write('in')")
    (talk.files / "way").symlink_to(tmp_path / "target")
    assert "Error:" in await talk.keep("files/way/x")
    assert list((tmp_path / "target").iterdir()) == []


@requirement("R33.3", "R32.1")
async def test_what_another_conversation_changed_cannot_be_kept(talk: Talk) -> None:
    await talk.python(CHANGE)
    other = await talk.core.sessions.create(talk.owner, "agent")
    elsewhere = Talk(talk.core, other.session_id, talk.owner, talk.files)
    assert "There is no sandbox any more" in await elsewhere.keep("files/kept.txt")
    await elsewhere.python("1")
    assert "There is nothing left to keep" in await elsewhere.keep("files/kept.txt")


@requirement("R33.3")
async def test_what_the_user_changes_after_it_was_kept_is_seen_by_the_code(talk: Talk) -> None:
    await talk.python("open('files/kept.txt', 'w').write('by code')")
    await talk.keep("files/kept.txt")
    await talk.write("files/kept.txt", "by the user")
    told = await talk.python("open('files/kept.txt').read()")
    assert "by the user" in told
    assert "not in the user's own files" not in told
    await talk.python("open('files/kept.txt', 'a').write(', then by code')")
    await talk.keep("files/kept.txt")
    assert talk.contents()["kept.txt"] == "by the user, then by code"


@requirement("R33.3")
async def test_files_that_come_later_are_no_changes_of_the_code(talk: Talk) -> None:
    await talk.python("1")
    await talk.write("files/later.txt", "later")
    told = await talk.python("open('files/later.txt').read()")
    assert "'later'" in told
    assert "not in the user's own files" not in told
