"""A user's files by id: theirs alone, booked before they are written, whole or not there."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from dataagent_core.errors import (
    BadFile,
    BadInput,
    FileNotFound,
    OutsideWorkspace,
    QuotaExceeded,
    UploadTooLarge,
)
from dataagent_core.storage import open_database
from dataagent_core.workspace import FileStore, SqlQuotaLedger, StoredFile, UserWorkspaceManager
from dataagent_core.workspace.file_store import PREVIEW_BYTES
from dataagent_core.workspace.quota import MemoryQuotaLedger
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

QUOTA = 2_000_000
LIMIT = 1_000_000


class Shelf:
    """A file store with what is under it."""

    def __init__(self, files: FileStore, workspaces: UserWorkspaceManager) -> None:
        self.files = files
        self.workspaces = workspaces

    def folder(self, name: str = "uploads", user_id: str = "u1") -> list[str]:
        return sorted(os.listdir(self.workspaces.get_user_workspace(user_id) / name))

    async def content(self, file_id: str, owner: str = "u1") -> bytes:
        _, make = await self.files.open(file_id, owner=owner)
        return b"".join(make())


@pytest.fixture
async def shelf(sql_place: str, tmp_path: Path) -> AsyncGenerator[Shelf]:
    """On SQLite, PostgreSQL and MariaDB; each test has users of its own there."""
    database = open_database(sql_place)
    workspaces = UserWorkspaceManager(tmp_path / "workspaces", QUOTA, SqlQuotaLedger(database))
    try:
        yield Shelf(FileStore(database, workspaces, max_upload_bytes=LIMIT), workspaces)
    finally:
        workspaces.close()
        await database.close()


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    """A user no other test has."""
    return hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]


async def chunks(content: bytes, size: int = 60_000) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


@requirement("R32.4", "R33.2", "R33.6")
async def test_an_upload_is_stored_under_a_generated_name_and_counted(
    shelf: Shelf, user: str
) -> None:
    content = b"a,b\n1,2\n" * 100_000
    file = await shelf.files.add_upload(user, "../../Umsätze 2024.CSV", chunks(content))
    assert file.filename == "Umsätze 2024.CSV"
    assert shelf.folder(user_id=user) == [file.stored_name]
    assert file.stored_name == f"{file.file_id}.csv"
    assert (file.byte_size, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert await shelf.content(file.file_id, user) == content
    assert await shelf.workspaces.usage(user) == len(content)
    assert await shelf.workspaces.reconcile(user) == len(content)
    assert await shelf.files.list(user) == ([file], 1)
    await shelf.files.delete(file.file_id, owner=user)
    assert shelf.folder(user_id=user) == []
    assert await shelf.workspaces.usage(user) == 0
    assert await shelf.files.list(user) == ([], 0)


@requirement("R32.4", "R33.4")
async def test_a_file_is_its_owners_alone(shelf: Shelf, user: str) -> None:
    file = await shelf.files.add_upload(user, "a.txt", chunks(b"secret"))
    other = f"{user}-evil"
    for file_id in (file.file_id, "nothing", "", "x" * 500, "a\0b", "\ud800"):
        for work in (
            shelf.files.get(file_id, owner=other),
            shelf.files.open(file_id, owner=other),
            shelf.files.preview(file_id, owner=other),
            shelf.files.delete(file_id, owner=other),
            shelf.files.get_all([file_id], owner=other),
        ):
            with pytest.raises(FileNotFound):
                await work
    assert await shelf.files.list(other) == ([], 0)
    assert await shelf.content(file.file_id, user) == b"secret"


async def endless(taken: list[int]) -> AsyncIterator[bytes]:
    while True:
        taken.append(1)
        yield b"x" * 100_000


@requirement("R33.6", "G13")
async def test_a_refused_upload_leaves_no_file(shelf: Shelf, user: str) -> None:
    taken: list[int] = []
    with pytest.raises(UploadTooLarge):
        await shelf.files.add_upload(user, "a.txt", endless(taken))
    assert len(taken) * 100_000 < LIMIT + 700_000  # the rest was not read
    for name, content in (("a.pdf", b"no pdf"), ("a.txt", b""), ("a.exe", b"MZ")):
        with pytest.raises(BadFile):
            await shelf.files.add_upload(user, name, chunks(content))
    with pytest.raises(ConnectionError):
        await shelf.files.add_upload(user, "a.txt", _broken())
    assert shelf.folder(user_id=user) == []
    assert await shelf.workspaces.usage(user) == 0


async def _broken() -> AsyncIterator[bytes]:
    yield b"x" * 600_000
    raise ConnectionError


@requirement("R33.6")
async def test_uploads_at_once_do_not_pass_the_quota(shelf: Shelf, user: str) -> None:
    sending = [shelf.files.add_upload(user, "a.txt", chunks(b"x" * 900_000)) for _ in range(4)]
    outcomes = await asyncio.gather(*sending, return_exceptions=True)
    refused = [each for each in outcomes if isinstance(each, QuotaExceeded)]
    assert len(refused) + len(shelf.folder(user_id=user)) == 4
    assert len(refused) >= 2
    assert await shelf.workspaces.usage(user) == await shelf.workspaces.reconcile(user) <= QUOTA


async def test_an_upload_that_is_cancelled_leaves_nothing_behind(shelf: Shelf, user: str) -> None:
    has_begun = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 600_000
        has_begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(shelf.files.add_upload(user, "a.txt", slow()))
    await asyncio.wait_for(has_begun.wait(), WAIT_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shelf.folder(user_id=user) == []
    assert await shelf.workspaces.usage(user) == 0


async def test_what_tools_make_is_of_any_kind_and_goes_with_its_session(
    shelf: Shelf, user: str
) -> None:
    made = await shelf.files.add_generated(
        user, "page.html", b"<script>", session_id="s1", run_id="r1"
    )
    assert made.content_type == "application/octet-stream"
    assert shelf.folder("outputs", user) == [made.stored_name]
    file, _ = await shelf.files.open(made.file_id, owner=user, filename="page.html")
    assert file == made
    with pytest.raises(FileNotFound):
        await shelf.files.open(made.file_id, owner=user, filename="other.html")
    kept = await shelf.files.add_upload(user, "a.txt", chunks(b"x"))
    assert await shelf.files.delete_session("s1", owner="someone-else") == 0
    assert await shelf.files.delete_session("s1", owner=user) == 1
    assert await shelf.files.delete_session("s1", owner=user) == 0
    assert (await shelf.files.list(user))[0] == [kept]


async def test_a_preview_is_bounded_and_reads_chinese(shelf: Shelf, user: str) -> None:
    long = await shelf.files.add_upload(user, "a.md", chunks("你好".encode() * 20_000))
    preview = await shelf.files.preview(long.file_id, owner=user)
    assert preview.is_truncated
    assert preview.content == "你好" * (len(preview.content) // 2) + "你" * (
        len(preview.content) % 2
    )
    assert PREVIEW_BYTES - 6 < len(preview.content.encode()) <= PREVIEW_BYTES
    gbk = await shelf.files.add_upload(user, "b.csv", chunks("姓名\n张三\n".encode("gbk")))
    short = await shelf.files.preview(gbk.file_id, owner=user)
    assert (short.content, short.is_truncated) == ("姓名\n张三\n", False)
    picture = await shelf.files.add_upload(user, "c.png", chunks(b"\x89PNG\r\n\x1a\n"))
    with pytest.raises(BadInput):
        await shelf.files.preview(picture.file_id, owner=user)


@requirement("R33.3", "R33.4")
async def test_a_file_swapped_for_a_link_is_not_followed(
    shelf: Shelf, user: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("host secret")
    file = await shelf.files.add_upload(user, "a.txt", chunks(b"mine"))
    uploads = shelf.workspaces.get_user_workspace(user) / "uploads"
    (uploads / file.stored_name).unlink()
    (uploads / file.stored_name).symlink_to(outside)
    for work in (
        shelf.content(file.file_id, user),
        shelf.files.preview(file.file_id, owner=user),
    ):
        with pytest.raises((OutsideWorkspace, FileNotFound)):
            await work
    await shelf.files.delete(file.file_id, owner=user)
    assert outside.read_text() == "host secret"
    uploads.rmdir()
    uploads.symlink_to(tmp_path)
    with pytest.raises((OutsideWorkspace, OSError)):
        await shelf.files.add_upload(user, "a.txt", chunks(b"mine"))
    assert sorted(each.name for each in tmp_path.glob("*.txt")) == ["outside.txt"]


async def test_a_file_is_deleted_although_its_folder_leads_out(
    shelf: Shelf, user: str, tmp_path: Path
) -> None:
    file = await shelf.files.add_upload(user, "a.txt", chunks(b"mine"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / file.stored_name).write_text("host secret")
    uploads = shelf.workspaces.get_user_workspace(user) / "uploads"
    uploads.rename(uploads.with_name("moved"))
    uploads.symlink_to(tmp_path / "outside")
    told: list[StoredFile] = []

    async def forget(gone: StoredFile) -> None:
        told.append(gone)

    shelf.files.on_delete(forget)
    await shelf.files.delete(file.file_id, owner=user)

    assert told == [file]
    assert await shelf.files.list(user) == ([], 0)
    assert (tmp_path / "outside" / file.stored_name).read_text() == "host secret"


class _SlowLedger(MemoryQuotaLedger):
    """Has booked before its answer arrives, as a database has that commits."""

    def __init__(self) -> None:
        super().__init__()
        self.has_booked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def reserve(self, user_id: str, delta: int, quota: int) -> None:
        await super().reserve(user_id, delta, quota)
        self.has_booked.set()
        await self.may_answer.wait()


async def test_an_upload_that_is_cancelled_while_bytes_are_booked_gives_them_back(
    sql_place: str, tmp_path: Path
) -> None:
    database, ledger = open_database(sql_place), _SlowLedger()
    workspaces = UserWorkspaceManager(tmp_path / "workspaces", QUOTA, ledger)
    files = FileStore(database, workspaces, max_upload_bytes=LIMIT)
    upload = asyncio.create_task(files.add_upload("u1", "a.txt", chunks(b"mine")))
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await ledger.has_booked.wait()
            upload.cancel()
            await asyncio.sleep(0)
            ledger.may_answer.set()
            with pytest.raises(asyncio.CancelledError):
                await upload
        assert await workspaces.usage("u1") == 0
    finally:
        workspaces.close()
        await database.close()


async def test_content_an_agent_removed_is_not_found(shelf: Shelf, user: str) -> None:
    file = await shelf.files.add_upload(user, "a.txt", chunks(b"mine"))
    backend = await shelf.workspaces.open_workspace(user)
    assert (await backend.adelete(file.path)).error is None
    with pytest.raises(FileNotFound):
        await shelf.content(file.file_id, user)
    await shelf.files.delete(file.file_id, owner=user)
    assert await shelf.workspaces.usage(user) == 0


async def test_a_message_names_each_file_once_and_not_too_many(shelf: Shelf, user: str) -> None:
    file = await shelf.files.add_upload(user, "a.txt", chunks(b"x"))
    assert await shelf.files.get_all([file.file_id] * 3, owner=user) == [file]
    assert await shelf.files.get_all([], owner=user) == []
    with pytest.raises(BadInput):
        await shelf.files.get_all([str(number) for number in range(51)], owner=user)
