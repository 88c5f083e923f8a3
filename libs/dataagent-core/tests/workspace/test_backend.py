from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from dataagent_core.workspace import FolderBackend, UserWorkspaceManager
from dataagent_core.workspace.files import WHOLE_READ_LIMIT
from tests.requirements import requirement

USER = "u1"


@requirement("R33.3")
async def test_files_can_be_written_read_edited_listed_and_deleted(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    assert (await backend.awrite("/files/a/b.txt", "one\ntwo\n")).path == "/files/a/b.txt"
    edited = await backend.aedit("/files/a/b.txt", "two", "three")
    assert (edited.error, edited.occurrences) == (None, 1)
    read = await backend.aread("/files/a/b.txt")
    assert read.file_data is not None
    assert read.file_data["content"] == "one\nthree\n"
    listed = await backend.als("/files")
    assert [(e["path"], e.get("is_dir")) for e in listed.entries or []] == [("/files/a/", True)]
    assert (await backend.adelete("/files/a")).error is None
    assert await manager.usage(USER) == manager.get_workspace_usage(USER) == 0


@requirement("R33.3")
async def test_blocking_twins_do_the_same_inside_a_running_loop(
    backend: FolderBackend,
) -> None:
    assert backend.write("/files/a.txt", "x").error is None
    assert backend.edit("/files/a.txt", "x", "y").occurrences == 1
    data = backend.read("/files/a.txt").file_data
    assert data is not None
    assert data["content"] == "y"
    assert backend.download_files(["/files/a.txt"])[0].content == b"y"
    assert backend.upload_files([("/uploads/b", b"\0\xff")])[0].error is None
    assert [m["path"] for m in backend.glob("*.txt").matches or []] == ["/files/a.txt"]
    assert [m["line"] for m in backend.grep("y").matches or []] == [1]
    assert backend.ls("/uploads").entries is not None
    assert backend.delete("/uploads/b").error is None


@requirement("R33.3")
@pytest.mark.parametrize(
    "name", ["a..b.csv", "..a", "a..", "...", "~$book.xlsx", "名前 ü.csv", "a b%2f"]
)
async def test_harmless_names_are_allowed(backend: FolderBackend, name: str) -> None:
    assert (await backend.awrite(f"/files/{name}", "x")).error is None
    assert [e["path"] for e in (await backend.als("/files")).entries or []] == [f"/files/{name}"]
    assert (await backend.adelete(f"/files/{name}")).error is None


@requirement("R33.4", "P52")
@pytest.mark.parametrize(
    "link", ["to_file", "to_folder/secret", "chain", "up/../../../secret", "loop", "abs"]
)
async def test_links_that_lead_out_are_refused_without_a_host_path(
    backend: FolderBackend, manager: UserWorkspaceManager, tmp_path: Path, link: str
) -> None:
    root = manager.get_user_workspace(USER)
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    files = root / "files"
    (files / "to_file").symlink_to("../../../secret")
    (files / "to_folder").symlink_to("../../..")
    (files / "chain").symlink_to("to_file")
    (files / "up").symlink_to("../../..")
    (files / "loop").symlink_to("loop")
    (files / "abs").symlink_to(secret)
    path = f"/files/{link}"
    outcomes = [
        (await backend.aread(path)).error,
        (await backend.awrite(path, "x")).error,
        (await backend.aedit(path, "top", "no")).error,
        (await backend.adownload_files([path]))[0].error,
        (await backend.aupload_files([(path, b"x")]))[0].error,
    ]
    assert all(outcomes), outcomes
    assert str(tmp_path) not in " ".join(map(str, outcomes))
    assert secret.read_text() == "top secret"
    assert (await backend.agrep("secret")).matches == []
    assert (await backend.aglob("secret")).matches == []
    assert (await backend.als("/files/to_folder")).error is not None


@requirement("R33.4", "P52")
async def test_deleting_a_link_leaves_its_target(
    backend: FolderBackend, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    (manager.get_user_workspace(USER) / "files" / "link").symlink_to(tmp_path / "kept")
    assert (await backend.adelete("/files/link")).error is None
    assert (tmp_path / "kept").is_dir()


@requirement("R33.3")
async def test_links_that_stay_inside_work(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    root = manager.get_user_workspace(USER)
    await backend.awrite("/files/a.txt", "inside")
    (root / "outputs" / "near").symlink_to("../files/a.txt")
    (root / "outputs" / "far").symlink_to(root / "files")
    for path in ("/outputs/near", "/outputs/far/a.txt"):
        data = (await backend.aread(path)).file_data
        assert data is not None
        assert data["content"] == "inside"


@requirement("R33.4", "P52")
@pytest.mark.parametrize("path", ["/", "/files", "/uploads/", "outputs", "files/."])
async def test_the_workspace_itself_cannot_be_deleted(
    backend: FolderBackend, manager: UserWorkspaceManager, path: str
) -> None:
    assert "Cannot delete" in ((await backend.adelete(path)).error or "")
    assert len(list(manager.get_user_workspace(USER).iterdir())) == 3


@requirement("R33.4")
async def test_a_pipe_neither_blocks_nor_opens(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    os.mkfifo(manager.get_user_workspace(USER) / "files" / "pipe")
    assert "not a regular file" in ((await backend.aread("/files/pipe")).error or "")
    assert "not a regular file" in ((await backend.awrite("/files/pipe", "x")).error or "")
    assert (await backend.agrep("x")).matches == []


@requirement("R33.6", "P53")
async def test_a_write_over_the_quota_is_refused_and_the_file_stays_as_it_was(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    await backend.awrite("/files/a", "x" * 600)
    for error in (
        (await backend.awrite("/files/a", "y" * 1001)).error,
        (await backend.awrite("/files/b", "y" * 401)).error,
        (await backend.aedit("/files/a", "x", "yy", replace_all=True)).error,
        (await backend.aupload_files([("/uploads/c", b"y" * 401)]))[0].error,
    ):
        assert error is not None
        assert "The workspace is full" in error
    assert (await backend.adownload_files(["/files/a"]))[0].content == b"x" * 600
    assert await manager.usage(USER) == manager.get_workspace_usage(USER) == 600


@requirement("R33.6", "P53")
async def test_shrinking_or_deleting_releases_bytes(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    await backend.awrite("/files/a", "x" * 1000)
    await backend.awrite("/files/a", "x" * 100)
    assert await manager.usage(USER) == 100
    await backend.awrite("/files/d/b", "x" * 900)
    await backend.adelete("/files/d")
    assert await manager.usage(USER) == 100
    assert (await backend.awrite("/files/../x", "x")).error is not None
    assert (await backend.awrite("/files/a/under-a-file", "x" * 50)).error is not None
    assert await manager.usage(USER) == manager.get_workspace_usage(USER) == 100


@requirement("P53")
async def test_writers_at_once_end_with_a_true_ledger(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    await asyncio.gather(*(backend.awrite("/files/same", "x" * size) for size in range(0, 200, 5)))
    assert await manager.usage(USER) == manager.get_workspace_usage(USER)


async def test_concurrent_edits_are_all_applied(backend: FolderBackend) -> None:
    await backend.awrite("/files/a", " ".join(f"<{n}>" for n in range(4)))
    await asyncio.gather(*(backend.aedit("/files/a", f"<{n}>", f"[{n}]") for n in range(4)))
    assert (await backend.adownload_files(["/files/a"]))[0].content == b"[0] [1] [2] [3]"


async def test_a_cancelled_write_is_whole_and_counted(
    backend: FolderBackend, manager: UserWorkspaceManager
) -> None:
    writing = asyncio.ensure_future(backend.awrite("/files/a", "x" * 500))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await manager.usage(USER) == manager.get_workspace_usage(USER) in (0, 500)


async def test_an_edit_keeps_line_endings(backend: FolderBackend) -> None:
    await backend.aupload_files([("/files/win.txt", b"a\r\nb\r\nc\r\n")])
    assert (await backend.aedit("/files/win.txt", "a\nb", "a\nB")).error is None
    assert (await backend.adownload_files(["/files/win.txt"]))[0].content == b"a\r\nB\r\nc\r\n"


async def test_a_huge_text_is_read_in_windows_and_says_where_it_goes_on(tmp_path: Path) -> None:
    manager = UserWorkspaceManager(tmp_path / "w")
    backend = await manager.open_workspace(USER)
    line = "0123456789" * 10
    count = WHOLE_READ_LIMIT // 100
    (manager.get_user_workspace(USER) / "files" / "big.csv").write_text(f"{line}\n" * count)
    window = await backend.aread("/files/big.csv", 10, 5)
    assert (window.start_line, window.end_line, window.next_offset) == (11, 15, 15)
    last = await backend.aread("/files/big.csv", count - 2, 5)
    assert (last.end_line, last.next_offset) == (count, None)
    assert (await backend.aread("/files/big.csv", count + 5, 5)).error is not None
    assert "too many" in ((await backend.aedit("/files/big.csv", "0", "1")).error or "")
    manager.close()


async def test_errors_say_what_is_wrong(backend: FolderBackend) -> None:
    await backend.aupload_files([("/files/latin.txt", "ü".encode("latin-1"))])
    assert (
        await backend.aread("/files/none")
    ).error == "Cannot read '/files/none': it does not exist."
    assert (await backend.aread("/files")).error == "Cannot read '/files': it is a directory."
    assert (await backend.aread("/files/latin.txt")).error == (
        "Cannot read '/files/latin.txt': it is not UTF-8 text."
    )
    assert (
        await backend.awrite("/files", "x")
    ).error == "Cannot write '/files': it is a directory."
    assert "too long" in ((await backend.awrite("/files/" + "x" * 300, "x")).error or "")
    assert (await backend.aglob("../*")).error is not None
    assert (await backend.agrep("x", glob="../*")).error is not None
    assert (await backend.adownload_files(["/no", "/files"]))[0].error == "file_not_found"
    assert (await backend.adownload_files(["/no", "/files"]))[1].error == "is_directory"


async def test_grep_says_when_it_stopped_at_its_count(backend: FolderBackend) -> None:
    await backend.awrite("/files/a.txt", "hit\nmiss\nhit\n")
    whole = await backend.agrep("hit", max_count=2)
    assert (len(whole.matches or []), whole.truncated) == (2, False)
    cut = await backend.agrep("hit", "/files", "*.txt", max_count=1)
    assert (len(cut.matches or []), cut.truncated) == (1, True)
    assert (await backend.agrep("hit", "/files/a.txt")).matches == whole.matches
    assert (await backend.agrep("hit", "/none")).matches == []


async def test_a_read_only_backend_refuses_to_write(
    manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a").write_text("x")
    backend = manager.open_read_only(tmp_path / "s")
    assert (await backend.aread("/a")).error is None
    assert "read-only" in ((await backend.awrite("/a", "y")).error or "")
    assert "read-only" in ((await backend.adelete("/a")).error or "")
    assert (await backend.aupload_files([("/b", b"")]))[0].error == "permission_denied"
    assert [p.name for p in (tmp_path / "s").iterdir()] == ["a"]
