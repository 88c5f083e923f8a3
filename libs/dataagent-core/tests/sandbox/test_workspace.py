"""The user's files in a sandbox: seen, not changed, and carried over only on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_core.errors import Conflict, QuotaExceeded
from dataagent_core.sandbox import BwrapWall, Sandboxes, SandboxLimits, SandboxSession
from dataagent_core.sandbox.types import FileChange
from dataagent_core.sandbox.workspace_changes import CommitResult
from tests.requirements import requirement

from .keeping import FolderKeeper, MakeSandboxes, paths, ran

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHANGE = """
import os
open('kept.txt', 'a').write(' and more')
os.remove('gone.txt')
os.makedirs('new'); open('new/made.txt', 'w').write('made')
os.symlink('/etc/passwd', 'link.txt'); os.mkfifo('pipe')
"""

FILL = """
with open('fill', 'wb', buffering=0) as file:
    try:
        while file.write(bytes(65536)):
            pass
    except OSError:
        pass
"""


def cannot_mount(_workspace: Path) -> str | None:
    """As a wall answers whose sandboxes cannot mount workspaces."""
    return None


@pytest.fixture
def folder(workspaces: Path, request: pytest.FixtureRequest) -> Path:
    """A user's workspace, private to us; the user is named like the test."""
    folder = workspaces / request.node.name.replace("[", "-").rstrip("]")
    folder.mkdir(mode=0o700)
    for name in ("kept.txt", "gone.txt"):
        (folder / name).write_text("hello")
        (folder / name).chmod(0o600)
    return folder


@pytest.fixture(params=["overlay", "copy"])
def mode(request: pytest.FixtureRequest, wall: BwrapWall, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways a workspace gets into a sandbox."""
    if request.param == "copy":
        monkeypatch.setattr(wall, "place_of", cannot_mount)
    return request.param


async def session_of(folder: Path, make_sandboxes: MakeSandboxes) -> SandboxSession:
    return await make_sandboxes().session(folder.name, "t1")


@pytest.mark.slow
@requirement("R33.3")
@pytest.mark.usefixtures("mode")
async def test_code_sees_and_changes_files_that_stay_as_they_are(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    assert await ran(session, "open('kept.txt').read()") == "'hello'\n"
    result = await session.run_python(CHANGE)
    assert paths(result) == ["kept.txt", "new/made.txt"]
    assert (
        await ran(session, "sorted(os.listdir('.'))")
        == str(["kept.txt", "link.txt", "new", "output", "pipe"]) + "\n"
    )
    assert (folder / "kept.txt").read_text() == "hello"
    assert (folder / "gone.txt").exists()


@requirement("R33.3")
@pytest.mark.usefixtures("mode")
async def test_a_commit_carries_changes_and_deletions_over_once(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    await ran(session, CHANGE)
    assert sorted(await session.changes(), key=lambda change: change.path) == [
        FileChange("gone.txt", "deleted"),
        FileChange("kept.txt", "written", 14),
        FileChange("new/made.txt", "written", 4),
    ]
    done = await session.commit(FolderKeeper(folder))
    assert done == CommitResult(("kept.txt", "new/made.txt"), ("gone.txt",))
    assert (folder / "kept.txt").read_text() == "hello and more"
    assert not (folder / "gone.txt").exists()
    assert not (folder / "link.txt").exists()
    assert await session.changes() == []
    await ran(session, "open('new/made.txt', 'w').write('again')")
    assert [change.path for change in await session.changes()] == ["new/made.txt"]


@requirement("R33.6")
async def test_a_commit_over_the_quota_changes_nothing(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    await ran(session, "open('a.txt', 'w').write('a' * 600); open('b.txt', 'w').write('b' * 600)")
    writer = FolderKeeper(folder, quota=1000)
    with pytest.raises(QuotaExceeded) as caught:
        await session.commit(writer)
    assert caught.value.details == {"needed": 1200, "room": 990}
    assert sorted(path.name for path in folder.iterdir()) == ["gone.txt", "kept.txt"]
    assert (await session.commit(writer, frozenset({"a.txt"}))).written == ("a.txt",)


@requirement("R33.6")
async def test_a_commit_counts_what_it_replaces(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    (folder / "big.txt").write_text("x" * 900)
    await ran(session, "open('big.txt', 'w').write('y' * 950)")
    done = await session.commit(FolderKeeper(folder, quota=1000))
    assert done.written == ("big.txt",)


@requirement("R33.6")
async def test_the_disk_of_a_sandbox_has_a_hard_end(session: SandboxSession) -> None:
    code = (
        "import os\nn = 0\n"
        "try:\n    while True: open(f'/{d}/f{n}', 'wb').write(bytes(8 << 20)); n += 1\n"
        "except OSError as error: got = error.errno\n"
        "n * 8, got"
    )
    for place in ("workspace", "tmp", "dev/shm"):
        written = await ran(session, f"d = {place!r}\n{code}\n")
        await ran(session, f"import glob\nfor f in glob.glob('/{place}/f*'): os.remove(f)")
        mebibytes, error = written.strip("()\n").split(", ")
        assert 200 <= int(mebibytes) <= 256
        assert int(error) == 28


@requirement("R32.4")
async def test_no_other_users_workspace_can_be_seen(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    seen = await ran(
        session,
        "import os\n"
        "roots = ['/run/workspaces', '/run/upper', '/proc/1/root', '/proc/1/cwd']\n"
        "[os.listdir(r) if os.access(r, os.R_OK) else 'no' for r in roots]",
    )
    assert seen == "[[], [], 'no', 'no']\n"


@requirement("R33.3")
async def test_a_file_that_comes_later_is_seen_too(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    await ran(session, "import os; os.listdir('.')")
    (folder / "uploads").mkdir()
    (folder / "uploads" / "later.csv").write_text("a,b")
    assert await ran(session, "open('uploads/later.csv').read()") == "'a,b'\n"
    (folder / "uploads" / "last.csv").write_text("c")
    assert await ran(session, "sorted(os.listdir('uploads'))") == "['last.csv', 'later.csv']\n"


@requirement("R33.3")
@pytest.mark.usefixtures("mode")
async def test_code_sees_the_users_files_as_they_are_whatever_it_saw_before(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    """File tools write a new file and give it the old one's name, as `os.replace` does."""
    session = await session_of(folder, make_sandboxes)
    before = "import os; open('kept.txt').read(), os.path.exists('asked-for.txt')"
    assert await ran(session, before) == "('hello', False)\n"
    (folder / "next").write_text("other")
    (folder / "next").replace(folder / "kept.txt")
    (folder / "asked-for.txt").write_text("there")
    after = "open('kept.txt').read(), open('asked-for.txt').read()"
    assert await ran(session, after) == "('other', 'there')\n"
    [got] = await session.adownload_files(["/workspace/kept.txt"])
    assert got.content == b"other"
    (folder / "kept.txt").unlink()
    assert await ran(session, "os.path.exists('kept.txt')") == "False\n"


@requirement("R33.3")
@pytest.mark.usefixtures("mode")
async def test_a_file_the_user_deletes_is_gone_unless_code_changed_it(
    folder: Path, make_sandboxes: MakeSandboxes
) -> None:
    session = await session_of(folder, make_sandboxes)
    await ran(session, "import os; open('made.txt', 'w').write('made')")
    await session.commit(FolderKeeper(folder))
    await ran(session, "open('kept.txt', 'a').write(' and more')")
    for name in ("gone.txt", "made.txt", "kept.txt"):
        (folder / name).unlink()
    there = "[name for name in sorted(os.listdir('.')) if name.endswith('txt')]"
    assert await ran(session, there) == "['kept.txt']\n"
    (folder / "gone.txt").write_text("back")
    assert await ran(session, "open('gone.txt').read()") == "'back'\n"
    assert [change.path for change in await session.changes()] == ["kept.txt"]


@requirement("R33.3")
async def test_a_workspace_reaches_a_sandbox_up_to_its_size(
    folder: Path, wall: BwrapWall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wall, "place_of", cannot_mount)
    (folder / "large.bin").write_bytes(bytes(3 << 20))
    (folder / "over.bin").write_bytes(bytes(9 << 20))
    (folder / "link").symlink_to("/etc/passwd")
    limits = SandboxLimits(file_bytes=8 << 20)
    sandboxes = Sandboxes(wall, limits=limits, workspace_of=lambda _user: folder)
    try:
        session = await sandboxes.session("ann", "t1")
        seen = await ran(session, "import os; sorted(os.listdir('.'))")
    finally:
        await sandboxes.aclose()
    assert seen == "['gone.txt', 'kept.txt', 'large.bin', 'output']\n"


@requirement("R33.3")
async def test_a_file_that_did_not_fit_is_not_overwritten_by_one_the_code_created(
    folder: Path, wall: BwrapWall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wall, "place_of", cannot_mount)
    (folder / "report.bin").write_bytes(bytes(7 << 20))
    limits = SandboxLimits(disk_bytes=8 << 20, file_bytes=8 << 20)
    sandboxes = Sandboxes(wall, limits=limits, workspace_of=lambda _user: folder)
    try:
        session = await sandboxes.session("ann", "t1")
        await ran(session, "open('report.bin', 'x').write('mine')")
        with pytest.raises(Conflict):
            await session.commit(FolderKeeper(folder, quota=1 << 30))
    finally:
        await sandboxes.aclose()
    assert (folder / "report.bin").stat().st_size == 7 << 20


@requirement("R33.3")
@pytest.mark.usefixtures("mode")
async def test_the_rest_of_a_file_that_did_not_fit_is_not_committed(
    folder: Path, wall: BwrapWall
) -> None:
    limits = SandboxLimits(disk_bytes=8 << 20, file_bytes=8 << 20)
    writer = FolderKeeper(folder, quota=1 << 30)
    sandboxes = Sandboxes(wall, limits=limits, workspace_of=lambda _user: folder)
    try:
        session = await sandboxes.session("ann", "t1")
        await ran(session, "open('kept.txt', 'w').write('first')")
        await session.commit(writer)
        await ran(session, FILL)
        (folder / "kept.txt").write_bytes(b"x" * (1 << 20))
        await ran(session, "1")
        found = frozenset(change.path for change in await session.changes()) - {"fill"}
        assert found == {"kept.txt"}
        with pytest.raises(Conflict):
            await session.commit(writer, found)
    finally:
        await sandboxes.aclose()
    assert (folder / "kept.txt").read_bytes() == b"x" * (1 << 20)
