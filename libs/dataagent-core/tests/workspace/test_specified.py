"""The workspace manager and its backend as the specification writes them."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from pathlib import Path

import pytest
from deepagents.backends.protocol import BackendProtocol
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.workspace import SandboxedFilesystemBackend, UserWorkspaceManager
from tests.requirements import requirement


@pytest.fixture
def manager(tmp_path: Path) -> Generator[UserWorkspaceManager]:
    made = UserWorkspaceManager(tmp_path / "workspaces", default_quota_bytes=100)
    yield made
    made.close()


@pytest.fixture
def backend(manager: UserWorkspaceManager) -> SandboxedFilesystemBackend:
    return SandboxedFilesystemBackend("ann", manager)


@requirement("R33.2", "R33.5")
def test_manager_answers_at_once(manager: UserWorkspaceManager, tmp_path: Path) -> None:
    workspace = manager.ensure_user_workspace("ann")
    assert workspace == manager.get_user_workspace("ann") == tmp_path / "workspaces" / "ann"
    assert {each.name for each in workspace.iterdir()} == {"files", "uploads", "outputs"}
    (workspace / "files" / "a").write_bytes(bytes(60))
    assert manager.get_workspace_usage("ann") == 60
    assert manager.get_workspace_usage("bob") == 0
    assert (manager.check_quota("ann", 40), manager.check_quota("ann", 41)) == (True, False)
    assert manager.check_quota("ann")
    manager.cleanup_workspace("ann")
    manager.cleanup_workspace("ann")
    assert not workspace.exists()
    default = inspect.signature(UserWorkspaceManager).parameters["default_quota_bytes"].default
    assert default == 1024**3


@requirement("R32.6", "R33.4", "P52")
def test_path_is_valid_in_the_users_own_workspace_alone(
    manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    mine, theirs = manager.ensure_user_workspace("ann"), manager.ensure_user_workspace("bob")
    assert manager.validate_path("ann", mine / "files" / "new")
    assert not manager.validate_path("ann", theirs / "files")
    assert not manager.validate_path("ann", mine / ".." / "bob")
    assert not manager.validate_path("ann", Path("/etc/passwd"))
    (mine / "way-out").symlink_to(tmp_path)
    assert not manager.validate_path("ann", mine / "way-out" / "x")


@requirement("R33.3")
async def test_backend_reads_what_it_wrote(
    manager: UserWorkspaceManager, backend: SandboxedFilesystemBackend
) -> None:
    assert isinstance(backend, BackendProtocol)
    await backend.write_file("files/deep/a.txt", "hällo")
    place = manager.get_user_workspace("ann") / "files" / "deep" / "a.txt"
    assert place.read_text() == await backend.read_file("files/deep/a.txt") == "hällo"
    assert await backend.read_file(str(place)) == "hällo"
    await backend.write_file(str(place), "new")
    read = (await backend.aread("/files/deep/a.txt")).file_data
    assert read is not None
    assert read["content"] == "new"
    with pytest.raises(FileNotFoundError):
        await backend.read_file("files/none.txt")


@requirement("R33.4", "P52")
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../bob/files/a", "files/../../bob/a", "way-out/x"]
)
async def test_path_outside_the_workspace_is_refused(
    manager: UserWorkspaceManager, backend: SandboxedFilesystemBackend, tmp_path: Path, path: str
) -> None:
    (manager.ensure_user_workspace("bob") / "files" / "a").write_text("bob's")
    (manager.get_user_workspace("ann") / "way-out").symlink_to(tmp_path)
    (tmp_path / "x").write_text("outside")
    with pytest.raises(PermissionError):
        await backend.read_file(path)
    with pytest.raises(PermissionError):
        await backend.write_file(path, "mine")
    assert (tmp_path / "x").read_text() == "outside"


@requirement("R33.6", "P53")
async def test_write_over_the_quota_is_refused(
    manager: UserWorkspaceManager, backend: SandboxedFilesystemBackend
) -> None:
    (manager.get_user_workspace("ann") / "files" / "old").write_bytes(bytes(60))
    await backend.write_file("files/a", "x" * 40)
    with pytest.raises(PermissionError, match="workspace is full"):
        await backend.write_file("files/b", "x")
    assert not (manager.get_user_workspace("ann") / "files" / "b").exists()


@requirement("P53")
@given(sizes=st.lists(st.integers(0, 60), max_size=6))
async def test_no_writes_pass_the_quota(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    manager = UserWorkspaceManager(tmp_path_factory.mktemp("w") / "workspaces", 100)
    backend = SandboxedFilesystemBackend("ann", manager)
    for number, size in enumerate(sizes):
        fits = manager.check_quota("ann", size)
        try:
            await backend.write_file(f"files/{number}", "x" * size)
        except PermissionError:
            assert not fits
        else:
            assert fits
    assert manager.get_workspace_usage("ann") <= 100
    manager.close()
