"""The program as an operator runs it: its own process, signals, commands."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from dataagent_server import cli
from tests.requirements import requirement

KEY = "operator-key-9f8e7d"
WAIT_SECONDS = 60


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DATAAGENT_HOME": str(home),
        "DATAAGENT_MODEL": "scripted",
        "DATAAGENT_API_KEYS": f"alice:{KEY}",
        "ADMIN_PASSWORD": "battery staple",
        **more,
    }


@asynccontextmanager
async def program(
    home: Path, *arguments: str, **more: str
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, str]]:
    """`python -m dataagent_server` and the address it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "dataagent_server",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home, **more),
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), WAIT_SECONDS)
        assert line, await _said(process)
        yield process, line.decode().rpartition(" ")[2].strip()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _said(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    return (await process.stderr.read()).decode()


@requirement("R15.5", "R20.3", "R22.1", "R22.2", "G9")
async def test_sigterm_tells_clients_ends_runs_and_logs_are_json_without_secrets(
    tmp_path: Path,
) -> None:
    options = ("serve", "--port", "0", "--log-level", "info")
    async with program(tmp_path, *options, DATAAGENT_SHUTDOWN_TIMEOUT="3") as (process, url):
        headers = {"X-API-Key": KEY, "X-Request-Id": "find-me-1"}
        async with httpx.AsyncClient(base_url=url, headers=headers) as client:
            assert (await client.get(f"/api/v1/sessions?api_key={KEY}")).status_code == 200
        session = "11111111-2222-3333-4444-555555555555"
        async with connect(
            f"{url.replace('http', 'ws')}/ws/chat/{session}", additional_headers=headers
        ) as socket:
            await socket.recv()
            await socket.send(json.dumps({"type": "chat", "payload": {"message": "!slow 9999 50"}}))
            for _ in range(3):
                await socket.recv()
            process.send_signal(signal.SIGTERM)
            said: list[dict[str, Any]] = []
            with suppress(ConnectionClosed):
                while True:
                    said.append(json.loads(await socket.recv()))
            assert socket.close_code in (1001, 1012)
        assert [event["event_type"] for event in said][-2:] == ["error", "done"]
        assert said[-1]["data"]["reason"] == "shutdown"
        assert process.stderr is not None
        log = (await asyncio.wait_for(process.stderr.read(), 30)).decode()
        await asyncio.wait_for(process.wait(), 30)
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(line.keys() >= {"timestamp", "level", "message", "request_id"} for line in lines)
    assert any(line["request_id"] == "find-me-1" for line in lines)
    assert KEY not in log
    assert "battery staple" not in log
    assert "token=" not in log


async def test_a_setting_that_cannot_work_ends_the_program_with_a_sentence(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "dataagent_server",
        "serve",
        "--workers",
        "4",
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path),
    )
    _, error = await asyncio.wait_for(process.communicate(), WAIT_SECONDS)
    assert process.returncode == 1
    assert b"DATAAGENT_WORKERS=1" in error
    assert b"Traceback" not in error


@pytest.fixture(autouse=True)
def logging_restored() -> Iterator[None]:
    """The program takes over all logging; the tests after it want theirs back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return ended.value.code, capsys.readouterr().out


def test_users_and_keys_are_managed_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path))
    assert run(capsys, "migrate") == (0, "tables brought up to date\n")
    assert run(capsys, "migrate") == (0, "tables are up to date\n")
    code, user_id = run(capsys, "user", "add", "dora", "--no-password", "--role", "admin")
    assert code == 0
    assert run(capsys, "user", "list")[1] == f"{user_id.strip()}  dora  admin  active\n"
    code, key = run(capsys, "key", "create", "dora", "--name", "laptop")
    assert key.startswith("dak_")
    listed = run(capsys, "key", "list", "dora")[1]
    assert "laptop" in listed
    assert key.strip() not in listed
    assert run(capsys, "key", "revoke", "dora", listed.split()[0])[0] == 0
    assert run(capsys, "key", "list", "dora")[1] == ""
    assert run(capsys, "user", "link", "dora")[1].startswith("/login?token=")
    assert run(capsys, "user", "disable", "dora")[0] == 0
    assert run(capsys, "user", "list")[1].endswith("disabled\n")
    assert run(capsys, "user", "enable", "dora")[0] == 0
    assert run(capsys, "user", "delete", "dora")[0] == 0
    code, _ = run(capsys, "user", "delete", "dora")
    assert "There is no user 'dora'" in str(code)


def test_the_doctor_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path))
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    code, report = run(capsys, "doctor")
    assert code == 0, report
    assert report.count("ok ") == 4
    monkeypatch.setenv("DATAAGENT_MODEL", "nonsense:model")
    code, report = run(capsys, "doctor")
    assert code == 1
    assert "BAD  model nonsense:model" in report


def test_help_is_there_for_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ((), ("serve",), ("migrate",), ("user",), ("key",), ("doctor",)):
        code, text = run(capsys, *command, "--help")
        assert code == 0
        assert "usage: dataagent-server" in text
