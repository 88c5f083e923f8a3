"""A project as the workspace: its files in place, confined, and nothing made or measured in it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.errors import FileNotFound
from dataagent_core.storage import open_database
from dataagent_core.storage.tables import files as files_table
from dataagent_core.storage.tables import metadata
from dataagent_core.workspace import FileStore, FolderBackend, UserWorkspaceManager
from dataagent_core.workspace.project import Project, ProjectBackend, is_secret
from tests.requirements import requirement

USER = "anna"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a repository, ignored files, secrets and links."""
    root = tmp_path / "project"
    for name, text in {
        "README.md": "the project\n",
        "src/main.py": "print('find me')\n",
        "build/out.py": "print('find me')\n",
        ".gitignore": "build/\n",
        ".git/config": "[core]\n",
        ".git/hooks/pre-commit": "#!/bin/sh\n",
        "sub/.git/config": "[core]\n",
        ".env": "KEY=find me\n",
        ".env.example": "KEY=find me\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (tmp_path / "outside.txt").write_text("not yours")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    (root / "up").symlink_to("..")
    (root / "git").symlink_to(".git")
    (root / "plain.txt").symlink_to(".env")
    return root


@pytest.fixture
async def manager(tmp_path: Path, folder: Path) -> AsyncGenerator[UserWorkspaceManager]:
    project = Project(folder, tmp_path / "home/undo")
    manager = UserWorkspaceManager(tmp_path / "home/workspaces", 1000, project=project)
    yield manager
    await manager.aclose()


@pytest.fixture
async def backend(manager: UserWorkspaceManager) -> FolderBackend:
    return await manager.open_workspace(USER)


def tree(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


async def test_opening_changes_nothing_in_it(manager: UserWorkspaceManager, folder: Path) -> None:
    before, mode = tree(folder), folder.stat()
    opened = await manager.open_workspace(USER)
    assert await manager.prepare(USER) == folder
    assert (await opened.aread("/README.md")).file_data is not None
    assert tree(folder) == before
    assert folder.stat() == mode


async def test_no_quota_holds_and_nothing_is_booked(
    manager: UserWorkspaceManager, backend: FolderBackend, folder: Path
) -> None:
    assert (await backend.awrite("/large.txt", "x" * 5000)).error is None
    assert (folder / "large.txt").stat().st_size == 5000
    assert await manager.reconcile(USER) == 0


async def test_neither_archiving_nor_cleaning_up_touches_it(
    manager: UserWorkspaceManager, folder: Path
) -> None:
    before = tree(folder)
    kept = await manager.prepare_storage(USER)
    (kept / "uploads/a.txt").write_text("x")
    assert await manager.archive_unused(unused_since=2**40) == 1
    manager.cleanup_workspace(USER)
    assert tree(folder) == before
    assert not manager.is_archived(USER)


async def test_uploads_are_stored_in_the_data_directory(
    manager: UserWorkspaceManager, folder: Path, tmp_path: Path
) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'files.db'}")
    await database.write(lambda c: metadata.create_all(c, tables=[files_table]))
    store = FileStore(database, manager, max_upload_bytes=1000)
    before = tree(folder)
    file = await store.add_generated(USER, "chart.png", b"made by code")
    _, pieces = await store.open(file.file_id, owner=USER)
    assert b"".join(pieces()) == b"made by code"
    assert tree(folder) == before
    assert (tmp_path / "home/workspaces" / USER / file.path.lstrip("/")).is_file()
    await store.delete(file.file_id, owner=USER)
    with pytest.raises(FileNotFound):
        await store.open(file.file_id, owner=USER)
    await database.close()


@requirement("R33.3", "R33.4")
@pytest.mark.parametrize(
    "path", ["/out", "/up/outside.txt", "../outside.txt", "/a/../../outside.txt", "up/x", "\0"]
)
async def test_nothing_outside_is_read_or_written(
    backend: FolderBackend, tmp_path: Path, path: str
) -> None:
    assert "Permission denied" in str((await backend.aread(path)).error)
    assert "Permission denied" in str((await backend.awrite(path, "mine")).error)
    assert (tmp_path / "outside.txt").read_text() == "not yours"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/.git/hooks/pre-commit",
        "/.git/new",
        "/.git",
        "/git/hooks/pre-commit",
        "/sub/.git/config",
        "/.GIT/config",
        "/./.git//config",
        "\\.git\\config",
    ],
)
async def test_git_is_read_and_never_written(
    backend: FolderBackend, folder: Path, path: str
) -> None:
    before = {
        name: (folder / name).read_text()
        for name in tree(folder)
        if ".git/" in name and (folder / name).is_file()
    }
    assert (await backend.awrite(path, "evil")).error is not None
    assert (await backend.aedit(path, "core", "evil")).error is not None
    assert (await backend.adelete(path)).error is not None
    [sent] = await backend.aupload_files([(path, b"evil")])
    assert sent.error is not None
    assert (await backend.aread("/.git/config")).file_data is not None
    assert {name: (folder / name).read_text() for name in before} == before
    assert not (folder / ".GIT").exists()


async def test_a_folder_with_a_repository_in_it_is_not_deleted(
    backend: FolderBackend, folder: Path
) -> None:
    assert "Git repository" in str((await backend.adelete("/sub")).error)
    assert (folder / "sub/.git/config").exists()


async def test_the_project_itself_is_not_deleted(backend: FolderBackend, folder: Path) -> None:
    before = tree(folder)
    assert (await backend.adelete("/")).error is not None
    assert tree(folder) == before


async def test_a_link_is_deleted_and_not_its_target(backend: FolderBackend, folder: Path) -> None:
    for link in ("out", "git", "plain.txt"):
        assert (await backend.adelete(f"/{link}")).error is None
    assert (folder / ".git/config").exists()
    assert (folder / ".env").exists()
    assert (folder.parent / "outside.txt").exists()


async def test_searches_leave_out_what_git_ignores(backend: FolderBackend) -> None:
    named = await backend.aglob("**/*.py")
    assert [info["path"] for info in named.matches or []] == ["/src/main.py"]
    lines = await backend.agrep("find me")
    assert {match["path"] for match in lines.matches or []} == {"/src/main.py", "/.env.example"}
    asked = await backend.agrep("find me", "/build")
    assert {match["path"] for match in asked.matches or []} == {"/build/out.py"}


async def test_secrets_are_read_under_their_own_name_only(
    backend: FolderBackend,
) -> None:
    assert (await backend.aread("/.env")).file_data is not None
    assert (await backend.agrep("KEY", "/.env")).matches
    for link in (await backend.aread("/plain.txt"), await backend.agrep("KEY", "/plain.txt")):
        assert "a link to a file with secrets" in str(link.error)
    [sent] = await backend.adownload_files(["/plain.txt"])
    assert sent.content is None


@pytest.mark.parametrize("path", [None, "/.kube", "/.kube/cache", "/cluster"])
async def test_a_search_in_a_folder_of_secrets_shows_none(
    backend: FolderBackend, folder: Path, path: str | None
) -> None:
    (folder / ".kube/cache").mkdir(parents=True)
    (folder / ".kube/config").write_text("token: find it\n")
    (folder / ".kube/cache/token").write_text("find it\n")
    (folder / "cluster").symlink_to(".kube")

    assert (await backend.agrep("find it", path)).matches == []
    named = await backend.agrep("find it", "/.kube/config")
    assert [match["path"] for match in named.matches or []] == ["/.kube/config"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".env", True),
        ("a/.ENV", True),
        (".env.production", True),
        (".env.example", False),
        ("certs/server.pem", True),
        ("id_rsa", True),
        ("id_rsa.pub", False),
        (".aws/config", True),
        (".aws", False),
        ("environment.py", False),
        ("key.py", False),
        ("monkey", False),
        ("", False),
    ],
)
def test_secrets_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_secret([step for step in path.split("/") if step]) is expected


@pytest.mark.parametrize(
    "name", ["new\nline.txt", "-rf", " space ", "日本 語.txt", "a'\"b$`.txt", "é" * 100]
)
async def test_files_with_odd_names_are_written_and_read(
    backend: FolderBackend, folder: Path, name: str
) -> None:
    assert (await backend.awrite(f"/odd/{name}", "x")).error is None
    assert (folder / "odd" / name).read_text() == "x"
    read: Any = (await backend.aread(f"/odd/{name}")).file_data
    assert read["content"] == "x"


async def test_a_file_keeps_its_mode_when_it_is_edited(
    backend: FolderBackend, folder: Path
) -> None:
    os.chmod(folder / "src/main.py", 0o755)
    assert (await backend.aedit("/src/main.py", "find", "found")).error is None
    assert (folder / "src/main.py").stat().st_mode & 0o777 == 0o755


def test_the_memory_is_agents_md_and_else_claude_md(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    project = Project(root, tmp_path / "undo")
    assert project.memory() is None
    (root / "CLAUDE.md").write_text("for claude")
    assert project.memory() == ("CLAUDE.md", b"for claude")
    (root / "AGENTS.md").write_text("for agents")
    assert project.memory() == ("AGENTS.md", b"for agents")
    (root / "AGENTS.md").write_text("for all agents")
    assert project.memory() == ("AGENTS.md", b"for all agents")


def test_a_memory_that_is_a_link_out_or_very_long_does_no_harm(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "AGENTS.md").symlink_to(tmp_path / "secret")
    project = Project(root, tmp_path / "undo")
    assert project.memory() is None
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").write_bytes(b"x" * 3_000_000)
    memory = project.memory()
    assert memory is not None
    assert len(memory[1]) == 256 * 1024


def test_everyone_opens_the_same_kind_of_backend(backend: FolderBackend) -> None:
    assert isinstance(backend, ProjectBackend)
