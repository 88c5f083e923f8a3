"""What goes wrong on a machine: a sentence and a hint each, never a traceback."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.standins.mcp_server import stdio_command

from ..pseudo_terminal import FROM_NOTHING, Terminal
from .program import Ended, dataagent

ASK = ("-p", "!echo hi")


def complained(ended: Ended, *, of: str, code: int = 1) -> None:
    assert ended.code == code, ended
    assert "error: " in ended.err
    assert of in ended.err
    assert "hint: " in ended.err
    assert "Traceback" not in ended.out + ended.err
    assert "Unexpected" not in ended.err


@pytest.mark.parametrize(
    ("model", "url", "why"),
    [
        ("openai:gpt-5", None, "Models of OpenAI need a key"),
        ("anthropic:claude-sonnet-4-5", None, "Models of Anthropic need a key"),
        ("nonsense", None, "There is no model 'nonsense'"),
        ("nobody:m", None, "'nobody:m' cannot be set up"),
        ("openai:m", "http://127.0.0.1:1/v1", "Cannot reach the model at http://127.0.0.1:1"),
        ("openai:m", "http://no-such-host.invalid/v1", "Cannot reach the model"),
    ],
)
async def test_a_model_that_cannot_be_used(model: str, url: str | None, why: str) -> None:
    told = await dataagent(
        "-p", "hi", DATAAGENT_MODEL=model, OPENAI_BASE_URL=url, DATAAGENT_MODEL_MAX_RETRIES="0"
    )
    complained(told, of=why)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("model = \n", "is not valid TOML: Invalid value (at line 1"),
        ('workspace_quota = "many"\n', "The setting DATAAGENT_WORKSPACE_QUOTA cannot be used"),
    ],
)
async def test_a_bad_configuration_file(home: Path, config: str, why: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(config)
    complained(await dataagent(*ASK), of=why)


async def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = await dataagent(*ASK, DATAAGENT_HOME=str(tmp_path / "file"))
    complained(told, of=f"Cannot use {tmp_path / 'file'}: File exists.")
    told = await dataagent("init", "--model", "offline", "--home", str(tmp_path / "file" / "x"))
    complained(told, of="Not a directory")


@contextmanager
def mounted(path: Path, options: str) -> Generator[None]:
    """A small file system of its own. Only root can make one, and root can write anywhere else."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="mounting takes root")
async def test_a_read_only_home_and_a_full_disk(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    with mounted(place, "ro,size=100k"):
        told = await dataagent(*ASK, DATAAGENT_HOME=str(place / "home"))
        complained(told, of="Read-only file system")
        told = await dataagent("init", "--model", "offline", DATAAGENT_HOME=str(place / "home"))
        complained(told, of="Read-only file system")
    place.rmdir()
    with mounted(place, "size=200k"):
        told = await dataagent(*ASK, DATAAGENT_HOME=str(place))
        complained(told, of="full")


@pytest.mark.slow
async def test_a_damaged_database_and_one_that_is_held(home: Path) -> None:
    home.mkdir()
    database = home / "dataagent.db"
    database.write_bytes(b"no database at all" * 1000)
    complained(await dataagent(*ASK), of="file is not a database")
    database.unlink()
    assert (await dataagent(*ASK)).out == "hi\n"
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        complained(await dataagent(*ASK), of="database is locked")


async def test_a_broken_mcp_server_is_a_warning_and_the_others_work(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    servers = {"dead": {"command": "no-such-program"}, "calc": stdio_command()}
    file.write_text(json.dumps({"mcpServers": servers}))
    question = '!tool calc__add {"a": 19, "b": 23}'
    told = await dataagent("-p", question, "--auto-approve", "--mcp-config", str(file))
    assert told.code == 0
    assert "warning: MCP server 'dead' is not connected: " in told.err
    assert "hint: correct it in mcp.json; dataagent doctor tries it." in told.err
    assert "Traceback" not in told.err


def closed(redirection: str) -> Ended:
    command = " ".join([*FROM_NOTHING, "-p", "'!echo hi'", redirection])
    done = subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_streams_that_are_closed_or_full() -> None:
    complained(closed(">&-"), of="Standard output is closed")
    complained(closed(">/dev/full"), of="Cannot write: No space left on device.")
    assert closed("2>&- <&-") == Ended(0, "hi\n", "")


def test_a_dumb_terminal_is_answered_in_plain_text(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del home
    terminal = Terminal("-p", "!echo some **bold** words", term="dumb")
    terminal.wait_for("some **bold** words")
    assert terminal.leave() == 0
    assert "\x1b[" not in terminal.raw
    terminal.end()
