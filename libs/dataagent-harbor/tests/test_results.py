"""Results on the disk: what was written stays, and what cannot be is told."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from dataagent_client import DataAgentClient
from dataagent_harbor import Question, cli
from dataagent_harbor.arguments import Options
from dataagent_harbor.asking import Asker
from dataagent_harbor.pacing import Pace
from dataagent_harbor.results import ResultFile, kept_results
from dataagent_harbor.runner import Plan, Runner
from dataagent_harbor.transcripts import Transcript

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


class Echo:
    """Stands for a server that answers at once: how it does is no matter here."""

    async def ask(self, message: str, *_: object, **__: object) -> Transcript:
        await asyncio.sleep(0)
        return Transcript(end="answered", answer=message)


async def _ask(path: Path) -> None:
    with ResultFile(path) as file:
        runner = Runner(cast("DataAgentClient", None), cast("Asker", Echo()), file.add)
        await runner.run(QUESTIONS, Plan(Pace(concurrency=1)))


def test_a_full_disk_is_one_sentence_and_the_results_before_it_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.jsonl"
    asyncio.run(_ask(path))
    first = len(path.read_bytes().split(b"\n")[0])
    path.unlink()

    async def command(_: Options) -> int:
        with full_disk(first + 20):
            await _ask(path)
        return 0

    monkeypatch.setattr(cli, "_command", command)
    assert cli.main(["run", "sample", "--transcripts", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {path}: File too large\nhint: the same command goes on where it stopped.\n"
    )
    assert [each.key for each in kept_results(path, QUESTIONS, rounds=1)] == ["one"]
    asyncio.run(_ask(path))
    assert {each.key for each in kept_results(path, QUESTIONS, rounds=1)} == {"one", "two", "three"}


def test_a_load_that_cannot_write_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def command(_: Options) -> int:
        (tmp_path / "no" / "such").write_text("")
        return 0

    monkeypatch.setattr(cli, "_command", command)
    assert cli.main(["load", "sample"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/no/such: No such file or directory\n"
