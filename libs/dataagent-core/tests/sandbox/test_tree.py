"""The session's walk over files that user code owns and may change meanwhile."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from dataagent_core.sandbox.runner import tree
from tests.requirements import requirement


@pytest.fixture
def root(tmp_path: Path) -> Generator[int]:
    number = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield number
    os.close(number)


def content_of(root: int, path: str, limit: int = 1000) -> bytes | None:
    file = tree.open_plain(root, path, limit)
    return None if file is None else b"".join(file.chunks())


@requirement("P52")
def test_only_plain_files_are_found_and_no_link_is_followed(tmp_path: Path, root: int) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "plain.txt").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    assert [entry.path for entry in tree.walk(root)] == ["a/plain.txt"]
    for path in ("link", "folder/passwd", "pipe", "a"):
        try:
            assert content_of(root, path) is None
        except OSError:
            continue


@requirement("P52")
@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/."])
def test_paths_that_lead_elsewhere_are_refused(root: int, path: str) -> None:
    with pytest.raises(OSError, match="not a path below"):
        tree.open_plain(root, path, 10)
    with pytest.raises(OSError, match="not a path below"):
        tree.write(root, path, b"")


@requirement("P52")
def test_writing_never_goes_through_a_link_or_into_a_pipe(tmp_path: Path, root: int) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("safe")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "folder").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "pipe")
    for path in ("link", f"folder/{outside.name}", "pipe"):
        with pytest.raises(OSError, match=r"."):
            tree.write(root, path, b"spoilt")
    assert outside.read_text() == "safe"


@requirement("S10.3")
def test_a_file_that_shrinks_while_it_is_sent_keeps_its_announced_size(
    tmp_path: Path, root: int
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    file = tree.open_plain(root, "f", 1000)
    assert file is not None
    (tmp_path / "f").write_bytes(b"y" * 10)
    assert b"".join(file.chunks()) == b"y" * 10 + bytes(90)


@requirement("S10.3")
def test_a_file_over_the_limit_is_left(tmp_path: Path, root: int) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    assert content_of(root, "f", 10) is None
    assert content_of(root, "f", 11) == b"x" * 11


@requirement("S10.3")
def test_a_stamp_differs_when_the_content_may(tmp_path: Path, root: int) -> None:
    tree.write(root, "deep/er/f", b"1")
    [before] = tree.walk(root)
    tree.write(root, "deep/er/f", b"2")
    [after] = tree.walk(root)
    assert before.path == after.path == "deep/er/f"
    assert before.stamp != after.stamp
