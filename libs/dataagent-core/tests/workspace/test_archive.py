"""Unused workspaces are packed and come back as they were, whoever dies meanwhile."""

from __future__ import annotations

import fcntl
import os
import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dataagent_core.workspace import Memories, Sweeper, UserWorkspaceManager
from tests.requirements import requirement

DAY = 86_400.0


def age(path: Path, days: float) -> None:
    """Make a directory look unused for so long."""
    then = time.time() - days * DAY
    for each in [*path.rglob("*"), path]:
        os.utime(each, (then, then), follow_symlinks=False)


def filled(manager: UserWorkspaceManager, user_id: str = "u1") -> Path:
    workspace = manager.ensure_user_workspace(user_id)
    (workspace / "files" / "deep").mkdir()
    (workspace / "files" / "deep" / "a.txt").write_text("kept")
    (workspace / "files" / "inside").symlink_to("deep/a.txt")
    (workspace / "files" / "outside").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "files" / "pipe")
    return workspace


def place(workspace: Path) -> Path:
    return workspace.parent / ".archive" / workspace.name


def sweeper(manager: UserWorkspaceManager, **days: float) -> Sweeper:
    chosen = {"archive_days": 30.0, "retention_days": 90.0, **days}
    return Sweeper(
        manager,
        Memories(manager),
        archive_days=chosen["archive_days"],
        retention_days=chosen["retention_days"],
    )


@requirement("R33.7")
async def test_an_unused_workspace_is_packed_and_comes_back_on_the_next_use(
    manager: UserWorkspaceManager,
) -> None:
    workspace = filled(manager)
    used = manager.get_workspace_usage("u1")
    age(workspace, 31)
    assert (await sweeper(manager).sweep()).archived == 1
    assert not workspace.exists()
    assert (place(workspace) / "workspace.tar.gz").exists()
    assert manager.get_workspace_usage("u1") == used
    assert (await manager.summary("u1")).files == 1
    assert not workspace.exists()  # looking is no use
    backend = await manager.open_workspace("u1")
    assert (await backend.aread("/files/deep/a.txt")).error is None
    assert (workspace / "files" / "inside").read_text() == "kept"
    assert not (workspace / "files" / "outside").is_symlink()
    assert workspace.stat().st_mode & 0o777 == 0o700
    assert not (place(workspace) / "workspace.tar.gz").exists()
    assert (await sweeper(manager).sweep()).archived == 0


@requirement("R33.7")
@pytest.mark.parametrize("days", [0.0, 29.0])
async def test_a_workspace_in_use_or_empty_stays(
    manager: UserWorkspaceManager, days: float
) -> None:
    workspace = filled(manager)
    age(workspace, days)
    age(manager.ensure_user_workspace("empty"), 400)
    assert (await sweeper(manager).sweep()).archived == 0
    age(workspace, 400)
    assert (await sweeper(manager, archive_days=0).sweep()).archived == 0
    manager.ensure_user_workspace("u1")
    assert (await sweeper(manager).sweep()).archived == 0
    assert workspace.is_dir()


@requirement("R33.7")
async def test_a_workspace_someone_holds_is_not_packed(manager: UserWorkspaceManager) -> None:
    workspace = filled(manager)
    age(workspace, 31)
    with (place(workspace) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (await sweeper(manager).sweep()).archived == 0
    assert (await sweeper(manager).sweep()).archived == 1


def died_before_packing(workspace: Path) -> None:
    os.rename(workspace, place(workspace) / "tree")


def died_before_removing(workspace: Path) -> None:
    packed(workspace)
    os.rename(workspace, place(workspace) / "tree")
    (place(workspace) / "tree" / "files" / "deep" / "a.txt").unlink()


def died_while_unpacking(workspace: Path) -> None:
    packed(workspace)
    shutil.rmtree(workspace)
    (place(workspace) / "unpacking" / "files").mkdir(parents=True)


def died_before_moving_in(workspace: Path) -> None:
    packed(workspace)
    os.rename(place(workspace) / "workspace.tar.gz", place(workspace) / "unpacked.tar.gz")
    os.rename(workspace, place(workspace) / "unpacking")


def died_after_moving_in(workspace: Path) -> None:
    packed(workspace)
    os.rename(place(workspace) / "workspace.tar.gz", place(workspace) / "unpacked.tar.gz")


def packed(workspace: Path) -> None:
    with tarfile.open(place(workspace) / "workspace.tar.gz", "w:gz") as tar:
        tar.add(workspace, arcname=".")


@requirement("R33.7")
@pytest.mark.parametrize(
    "died",
    [
        died_before_packing,
        died_before_removing,
        died_while_unpacking,
        died_before_moving_in,
        died_after_moving_in,
    ],
)
def test_a_process_that_dies_half_way_loses_nothing(
    manager: UserWorkspaceManager, died: Callable[[Path], None]
) -> None:
    workspace = filled(manager)
    died(workspace)
    assert manager.ensure_user_workspace("u1") == workspace
    assert (workspace / "files" / "deep" / "a.txt").read_text() == "kept"
    assert sorted(each.name for each in place(workspace).iterdir()) == ["lock"]


@requirement("R33.7")
def test_an_archive_beside_a_workspace_replaces_nothing(manager: UserWorkspaceManager) -> None:
    workspace = filled(manager)
    packed(workspace)
    (workspace / "files" / "deep" / "a.txt").write_text("newer")
    manager.ensure_user_workspace("u1")
    texts = sorted(each.read_text() for each in workspace.rglob("a.txt"))
    assert texts == ["kept", "newer"]
