"""What is remembered of a user is theirs to see and erase, and is forgotten when nobody uses it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dataagent_core.errors import BadInput, FileNotFound, NotFound, OutsideWorkspace, QuotaExceeded
from dataagent_core.identity import Principal
from dataagent_core.workspace import Memories, UserWorkspaceManager
from dataagent_core.workspace.manager import MAX_MEMORY_BYTES
from tests.requirements import requirement

ME = Principal("u1", "user", "api_key")
OTHER = Principal("u2", "user", "api_key")
ADMIN = Principal("root", "admin", "api_key")
DAY = 86_400.0


@pytest.fixture
def memories(manager: UserWorkspaceManager) -> Memories:
    return Memories(manager)


@requirement("R34.2", "R34.4")
async def test_a_user_sees_corrects_and_erases_their_memory(
    memories: Memories, manager: UserWorkspaceManager
) -> None:
    await memories.write("u1", "agent", "AGENTS.md", "Prefers tea.", asked_by=ME)
    await memories.write("u1", "agent", "notes/a.md", "你好", asked_by=ME)
    await memories.write("u1", "sql", "AGENTS.md", "x", asked_by=ME)
    seen = [(m.assistant_id, m.path, m.bytes) for m in await memories.list("u1", asked_by=ME)]
    assert seen == [("agent", "AGENTS.md", 12), ("agent", "notes/a.md", 6), ("sql", "AGENTS.md", 1)]
    assert await memories.read("u1", "agent", "AGENTS.md", asked_by=ME) == "Prefers tea."
    assert await manager.usage("u1") == 19
    await memories.erase("u1", asked_by=ME, assistant_id="agent")
    assert [m.assistant_id for m in await memories.list("u1", asked_by=ME)] == ["sql"]
    await memories.erase("u1", asked_by=ME)
    assert await memories.list("u1", asked_by=ME) == []
    assert await manager.usage("u1") == 0


@requirement("R32.2", "R34.3")
async def test_no_one_else_reads_a_memory_and_administrators_only_erase(memories: Memories) -> None:
    await memories.write("u1", "agent", "AGENTS.md", "Prefers tea.", asked_by=ME)
    for work in (
        memories.list("u1", asked_by=OTHER),
        memories.read("u1", "agent", "AGENTS.md", asked_by=OTHER),
        memories.read("u1", "agent", "AGENTS.md", asked_by=ADMIN),
        memories.write("u1", "agent", "AGENTS.md", "coffee", asked_by=OTHER),
        memories.write("u1", "agent", "AGENTS.md", "coffee", asked_by=ADMIN),
        memories.erase("u1", asked_by=OTHER),
    ):
        with pytest.raises(NotFound):
            await work
    assert await memories.read("u1", "agent", "AGENTS.md", asked_by=ME) == "Prefers tea."
    assert len(await memories.list("u1", asked_by=ADMIN)) == 1
    await memories.erase("u1", asked_by=ADMIN)
    assert await memories.list("u1", asked_by=ME) == []


@requirement("R33.4", "R34.2")
async def test_no_path_leads_out_of_a_memory(memories: Memories, tmp_path: Path) -> None:
    await memories.write("u1", "agent", "a.md", "x", asked_by=ME)
    (tmp_path / "memories" / "u1" / "agent" / "link").symlink_to("/etc")
    for path in (
        "../sql/AGENTS.md",
        "/../../u2/agent/AGENTS.md",
        "a/../../x",
        "..\\x",
        "a\0b",
        "link/passwd",
    ):
        with pytest.raises(OutsideWorkspace):
            await memories.read("u1", "agent", path, asked_by=ME)
        with pytest.raises(OutsideWorkspace):
            await memories.write("u1", "agent", path, "x", asked_by=ME)
    for assistant_id in ("..", "../u2", ".hidden", "a/b", ""):
        with pytest.raises(OutsideWorkspace):
            await memories.read("u1", assistant_id, "a.md", asked_by=ME)
        with pytest.raises(OutsideWorkspace):
            await memories.erase("u1", asked_by=ME, assistant_id=assistant_id)
    for path in ("nothing", "a.md/b", "x" * 300, "/"):
        with pytest.raises((FileNotFound, BadInput)):
            await memories.read("u1", "agent", path, asked_by=ME)
    for path in ("a.md/b", "x" * 300, "/"):
        with pytest.raises(BadInput):
            await memories.write("u1", "agent", path, "x", asked_by=ME)


@requirement("R34.4")
async def test_one_memory_is_erased_and_its_bytes_come_back(
    memories: Memories, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    for path in ("AGENTS.md", "notes/a.md"):
        await memories.write("u1", "agent", path, "x" * 10, asked_by=ME)
    (tmp_path / "memories" / "u1" / "agent" / "out").symlink_to(tmp_path)
    for path in ("nothing", "/", "notes/a.md/x"):
        with pytest.raises(FileNotFound):
            await memories.erase_one("u1", "agent", path, asked_by=ME)
    for path in ("../sql", "out/memories/u1", "notes/../../x"):
        with pytest.raises(OutsideWorkspace):
            await memories.erase_one("u1", "agent", path, asked_by=ME)
    with pytest.raises(NotFound):
        await memories.erase_one("u1", "agent", "AGENTS.md", asked_by=OTHER)
    await memories.erase_one("u1", "agent", "AGENTS.md", asked_by=ADMIN)
    assert await manager.usage("u1") == 10
    await memories.erase_one("u1", "agent", "notes/a.md", asked_by=ME)
    assert [m.path for m in await memories.list("u1", asked_by=ME)] == []
    assert await manager.usage("u1") == 0


@requirement("R34.4")
async def test_an_assistant_cannot_remember_more_than_its_user_can_see(tmp_path: Path) -> None:
    manager = UserWorkspaceManager(tmp_path / "roomy", 10_000_000)
    backend = await manager.open_memories("u1", "agent")
    refused = await backend.awrite("/AGENTS.md", "x" * (MAX_MEMORY_BYTES + 1))
    assert "at most 262144" in (refused.error or "")
    assert (await backend.awrite("/AGENTS.md", "x" * MAX_MEMORY_BYTES)).error is None
    grown = await backend.aedit("/AGENTS.md", "x", "xx", replace_all=True)
    assert "at most 262144" in (grown.error or "")
    text = await Memories(manager).read("u1", "agent", "AGENTS.md", asked_by=ME)
    assert len(text) == MAX_MEMORY_BYTES
    manager.close()


async def test_a_memory_is_bounded(memories: Memories, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        await memories.write("u1", "agent", "a.md", "x" * 300_000, asked_by=ME)
    with pytest.raises(QuotaExceeded):
        await memories.write("u1", "agent", "a.md", "x" * 2000, asked_by=ME)
    (tmp_path / "memories" / "u1" / "agent" / "b.md").write_bytes(b"\xff\xfe\0")
    with pytest.raises(BadInput):
        await memories.read("u1", "agent", "b.md", asked_by=ME)


@requirement("R34.5")
async def test_memory_unused_for_its_retention_is_erased(
    memories: Memories, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    root = tmp_path / "memories"
    for user_id in ("u1", "u2"):
        backend = await manager.open_memories(user_id, "agent")
        await backend.awrite("/AGENTS.md", "x" * 10)
        for path in (root / user_id / "agent" / "AGENTS.md", root / user_id / "agent"):
            then = time.time() - 91 * DAY
            os.utime(path, (then, then))
    await manager.open_memories("u2", "agent")  # read again: that is a use
    assert await memories.erase_unused(time.time() - 90 * DAY) == 1
    assert not (root / "u1" / "agent").exists()
    assert (root / "u2" / "agent" / "AGENTS.md").exists()
    assert await manager.usage("u1") == 0
    assert await manager.usage("u2") == 10
    backend = await manager.open_memories("u1", "agent")
    assert (await backend.awrite("/AGENTS.md", "new")).error is None
    assert await memories.erase_unused(time.time() - 90 * DAY) == 0
