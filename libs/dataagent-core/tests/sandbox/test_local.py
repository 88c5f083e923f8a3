from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from dataagent_core.errors import ToolFailed
from dataagent_core.sandbox import CommandResult, LocalRunner
from dataagent_core.sandbox.local import TruncatedOutput
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

NAPS = "sleep 600 & echo $! > nap.pid; echo $$ > leader.pid; sleep 600"


async def run(command: str, directory: Path, timeout_seconds: float = 20) -> CommandResult:
    return await LocalRunner().run(command, directory=directory, timeout_seconds=timeout_seconds)


async def appears(path: Path) -> str:
    async with asyncio.timeout(WAIT_SECONDS):
        while not (path.exists() and path.read_text().strip()):
            await asyncio.sleep(0.01)
    return path.read_text().strip()


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@requirement("R7.4")
async def test_output_and_errors_come_in_order_with_the_exit_code(tmp_path: Path) -> None:
    result = await run("echo one; echo two >&2; echo three; exit 3", tmp_path)
    assert result == CommandResult(output="one\ntwo\nthree\n", exit_code=3)


@requirement("R7.4")
async def test_a_command_sees_its_directory_and_none_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    result = await run("pwd; echo $HOME; env; cat", tmp_path)
    assert result.output.splitlines()[:2] == [str(tmp_path), str(tmp_path)]
    names = {line.partition("=")[0] for line in result.output.splitlines()[2:]}
    assert names <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}
    assert "sk-secret" not in result.output


@requirement("R7.4")
async def test_long_output_keeps_both_ends_and_says_what_is_missing(tmp_path: Path) -> None:
    result = await LocalRunner(output_limit=1000).run(
        "echo begin; yes | head -c 300000; echo end", directory=tmp_path, timeout_seconds=20
    )
    assert result.is_cut
    assert result.output.startswith("begin\n")
    assert result.output.endswith("end\n")
    assert "[299010 of 300010 bytes cut]" in result.output


def test_output_within_the_limit_is_whole_wherever_it_is_split() -> None:
    output = TruncatedOutput(8)
    for byte in "aüöz!?".encode():
        output.add(bytes([byte]))
    assert (output.text(), output.is_cut) == ("aüöz!?", False)


@requirement("R7.4")
async def test_a_command_over_its_time_is_killed_with_all_its_children(tmp_path: Path) -> None:
    result = await run(f"echo so far; {NAPS}", tmp_path, timeout_seconds=0.5)
    assert (result.output, result.exit_code, result.timed_out) == ("so far\n", None, True)
    assert not is_alive(int((tmp_path / "nap.pid").read_text()))


@requirement("R7.4")
async def test_cancelling_kills_and_reaps_the_whole_group(tmp_path: Path) -> None:
    running = asyncio.ensure_future(run(NAPS, tmp_path, timeout_seconds=600))
    leader = int(await appears(tmp_path / "leader.pid"))
    nap = int(await appears(tmp_path / "nap.pid"))
    assert is_alive(leader)
    assert is_alive(nap)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not psutil.pid_exists(leader)
    assert not is_alive(nap)


@requirement("R7.4")
async def test_what_a_command_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    result = await run("sleep 600 & echo $! > nap.pid; echo done", tmp_path)
    assert (result.output, result.exit_code) == ("done\n", 0)
    assert not is_alive(int((tmp_path / "nap.pid").read_text()))


@requirement("R7.4")
async def test_a_directory_that_is_missing_is_a_failed_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="could not be started"):
        await run("echo", tmp_path / "none")
    with pytest.raises(ToolFailed, match="could not be started"):
        await run("echo \0", tmp_path)
