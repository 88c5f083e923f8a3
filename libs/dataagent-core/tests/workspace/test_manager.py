from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dataagent_core.errors import OutsideWorkspace
from dataagent_core.workspace import UserWorkspaceManager
from dataagent_core.workspace.quota import MemoryQuotaLedger
from tests.requirements import requirement

BAD_IDS = [
    "",
    ".",
    "..",
    "../u2",
    "a/b",
    "a\\b",
    "/etc",
    "~root",
    ".hidden",
    "-rf",
    "a\0b",
    "a b",
    "x" * 65,
    "u1\n",
    "ｕ1",
]


@requirement("R33.1", "R33.2")
def test_a_workspace_has_its_three_folders_for_its_owner_only(
    manager: UserWorkspaceManager,
) -> None:
    workspace = manager.ensure_user_workspace("u1")
    assert sorted(p.name for p in workspace.iterdir()) == ["files", "outputs", "uploads"]
    assert workspace.stat().st_mode & 0o777 == 0o700
    assert manager.ensure_user_workspace("u1") == workspace


@requirement("R33.4", "P52")
@pytest.mark.parametrize("user_id", BAD_IDS)
def test_an_id_that_is_no_plain_name_is_refused(
    manager: UserWorkspaceManager, user_id: str
) -> None:
    with pytest.raises(OutsideWorkspace):
        manager.get_user_workspace(user_id)
    with pytest.raises(OutsideWorkspace):
        manager.memories_dir("u1", user_id)
    with pytest.raises(OutsideWorkspace):
        manager.cleanup_workspace(user_id)
    assert manager.validate_path(user_id, Path("/")) is False


@requirement("R33.3", "R33.4", "P52")
def test_only_paths_inside_the_workspace_are_valid(
    manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    workspace = manager.ensure_user_workspace("u1")
    manager.ensure_user_workspace("u1-evil")
    (workspace / "out").symlink_to(tmp_path)
    assert manager.validate_path("u1", workspace / "files" / "new.txt")
    assert manager.validate_path("u1", workspace)
    assert not manager.validate_path("u1", workspace / ".." / "u1-evil" / "files")
    assert not manager.validate_path("u1", workspace / "out" / "x")
    assert not manager.validate_path("u1", Path("/etc/passwd"))
    assert not manager.validate_path("u1", Path("a\0b"))


@requirement("R33.5", "R33.6", "P53")
def test_usage_and_quota_are_measured_on_disk(
    manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    workspace = manager.ensure_user_workspace("u1")
    (workspace / "files" / "a").write_bytes(b"x" * 600)
    big = tmp_path / "big"
    big.write_bytes(b"x" * 5000)
    (workspace / "files" / "link").symlink_to(big)
    assert manager.get_workspace_usage("u1") == 600
    assert manager.check_quota("u1", 400)
    assert not manager.check_quota("u1", 401)
    assert manager.get_workspace_usage("nobody") == 0


async def test_cleaning_up_removes_the_tree_and_frees_its_bytes(
    manager: UserWorkspaceManager,
) -> None:
    backend = await manager.open_workspace("u1")
    await backend.awrite("/files/a", "x" * 1000)
    manager.cleanup_workspace("u1")
    manager.cleanup_workspace("u1")
    assert not manager.get_user_workspace("u1").exists()
    assert await manager.reconcile("u1") == 0


@requirement("R34.1", "R34.2")
def test_memories_are_stored_by_user_and_assistant(
    manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    assert manager.memories_dir("u1", "agent") == tmp_path / "memories" / "u1" / "agent"


@requirement("R33.6")
async def test_files_that_were_there_before_the_ledger_count(manager: UserWorkspaceManager) -> None:
    workspace = manager.ensure_user_workspace("u1")
    (workspace / "files" / "old").write_bytes(b"x" * 900)
    backend = await manager.open_workspace("u1")
    result = await backend.awrite("/files/new", "x" * 101)
    assert result.error is not None
    assert "full" in result.error
    assert await manager.usage("u1") == 900


@requirement("R33.6")
async def test_bytes_reserved_by_a_dead_process_are_released(
    tmp_path: Path,
) -> None:
    ledger = MemoryQuotaLedger()
    manager = UserWorkspaceManager(tmp_path / "workspaces", 100, ledger)
    try:
        (manager.ensure_user_workspace("u1") / "files" / "a.txt").write_text("x" * 30)
        await manager.usage("u1")
        await manager.reserve("u1", 60)  # and here it dies
        assert (await manager.summary("u1")).bytes_used == 90
        ledger._changed_at["u1"] -= timedelta(minutes=1)
        await manager.reserve("u1", 50)  # would not fit beside what was never written
        ledger._changed_at["u1"] -= timedelta(minutes=1)
        assert (await manager.summary("u1")).bytes_used == 30
    finally:
        await manager.aclose()
