"""Results on the disk: what was written stays, and what cannot be is told."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dataagent_harbor import Question, cli
from dataagent_harbor.results import load_results

from .fake_server import serve_fake

QUESTIONS = [Question("one?", "one"), Question("two?", "two"), Question("three?", "three")]


@contextmanager
def full_disk(room: int) -> Generator[None]:
    """No file may become longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def harbor(*words: str) -> int:
    """Run the program, in a thread: it has a loop of its own."""
    return await asyncio.to_thread(cli.main, words)


async def test_a_full_disk_is_one_sentence_and_the_results_before_it_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, path = tmp_path / "set.jsonl", tmp_path / "kept.jsonl"
    rows = [{"id": each.id, "question": each.question} for each in QUESTIONS]
    asked.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    async with serve_fake(is_silent=False) as fake_server:
        words = ("run", str(asked), "--url", fake_server.url, "--concurrency", "1")
        words = (*words, "--transcripts", str(path))
        assert await harbor(*words) == 0
        first = len(path.read_bytes().split(b"\n")[0])
        path.unlink()
        capsys.readouterr()
        with full_disk(first + 20):
            assert await harbor(*words) == 2
        assert capsys.readouterr().err.endswith(
            f"error: {path}: File too large\n"
            "hint: run the same command again to continue where it stopped.\n"
        )
        assert [each.key for each in load_results(path, QUESTIONS, rounds=1)] == ["one"]
        assert await harbor(*words) == 0
    assert {each.key for each in load_results(path, QUESTIONS, rounds=1)} == {"one", "two", "three"}


@pytest.mark.parametrize(
    "command", [("run",), ("load", "--users", "1", "--duration", "0.1", "--think", "0")], ids=str
)
async def test_a_report_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    (asked := tmp_path / "set.jsonl").write_text('{"id": "one", "question": "one?"}\n')
    async with serve_fake(is_silent=False) as fake_server:
        words = (*command, str(asked), "--url", fake_server.url)
        assert await harbor(*words, "--output", str(tmp_path)) == 2
    assert capsys.readouterr().err.endswith(f"error: {tmp_path}: Is a directory\n")
