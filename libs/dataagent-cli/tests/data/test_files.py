"""Bytes to a file: whole or not at all, also when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataagent_cli.data.files import CannotWrite, save
from tests.waiting import WAIT_SECONDS


async def test_a_write_that_is_cancelled_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
) -> None:
    target = tmp_path / "rows.csv"
    target.write_text("old")
    is_under_way, may_go_on = threading.Event(), threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"new"
        is_under_way.set()
        may_go_on.wait(WAIT_SECONDS)
        yield b"never"
        yield b"wanted"

    writing = asyncio.create_task(save(target, pieces()))
    assert await asyncio.to_thread(is_under_way.wait, 5)
    writing.cancel()
    await asyncio.sleep(0)  # the cancellation reaches the writer
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


async def test_a_device_is_written_to_and_stays_a_device() -> None:
    assert await save(Path("/dev/null"), [b"away"]) == 4
    assert Path("/dev/null").is_char_device()


async def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "rows.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "kept" / "rows.csv")
    await save(tmp_path / "link.csv", [b"new"])
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "kept" / "rows.csv").read_text() == "new"


async def test_a_file_that_is_replaced_keeps_who_may_read_it(tmp_path: Path) -> None:
    target = tmp_path / "salaries.csv"
    target.touch(mode=0o600)
    await save(target, [b"new"])
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o600)


async def test_a_full_disk_is_said_in_words() -> None:
    with pytest.raises(CannotWrite, match=r"Cannot write /dev/full: No space left on device\."):
        await save(Path("/dev/full"), [b"x" * 100_000])
