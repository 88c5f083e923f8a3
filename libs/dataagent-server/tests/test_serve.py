"""The program as an operator runs it: its own process, signals, commands."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.programs import quick
from tests.requirements import requirement
from tests.services import fresh_database
from tests.waiting import WAIT_SECONDS

KEY = "operator-key-9f8e7d"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DATAAGENT_HOME": str(home),
        "DATAAGENT_MODEL": "scripted",
        "DATAAGENT_HOST": "127.0.0.1",
        "DATAAGENT_API_KEYS": f"alice:{KEY}",
        "ADMIN_PASSWORD": "battery staple",
        **more,
    }


@asynccontextmanager
async def program(
    home: Path, *arguments: str, umask: int = -1, **more: str
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
        umask=umask,
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
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=WAIT_SECONDS) as client:
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
        log = (await asyncio.wait_for(process.stderr.read(), WAIT_SECONDS)).decode()
        await asyncio.wait_for(process.wait(), WAIT_SECONDS)
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(line.keys() >= {"timestamp", "level", "message", "request_id"} for line in lines)
    assert any(line["request_id"] == "find-me-1" for line in lines)
    assert KEY not in log
    assert "battery staple" not in log
    assert "token=" not in log


@requirement("R20.2", "R20.3")
async def test_without_a_host_it_listens_everywhere_and_says_so_loudly(tmp_path: Path) -> None:
    given = environment(tmp_path)
    del given["DATAAGENT_HOST"]
    process = await asyncio.create_subprocess_exec(
        quick("dataagent-server"),
        *("--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=given,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            first, second = [(await process.stdout.readline()).decode() for _ in range(2)]
        assert first.startswith("DataAgent is at http://127.0.0.1:")
        port = first.strip().rpartition(":")[2]
        assert second.startswith(f"WARNING: it listens on 0.0.0.0:{port}, so other machines can")
        assert "DATAAGENT_HOST=127.0.0.1" in second
    finally:
        process.kill()
        await process.wait()


@requirement("R15.5", "R23.3")
async def test_several_processes_of_another_server_do_not_start_without_what_they_need(
    tmp_path: Path,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "uvicorn", "dataagent_server.main:app", "--workers", "2", "--port", "0"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path, DATAAGENT_SAMPLE_DATA="false"),
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS * 2):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert "DataAgent does not start. A second server of one data directory" in said.decode()
    assert "Set DATAAGENT_REDIS_URL" in said.decode()
    assert "Traceback" not in said.decode()


async def test_a_setting_that_cannot_work_ends_the_program_with_a_sentence(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        quick("dataagent-server"),
        "serve",
        "--workers",
        "4",
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path),
    )
    _, error = await asyncio.wait_for(process.communicate(), WAIT_SECONDS)
    assert process.returncode == 1
    assert b"DATAAGENT_WORKERS=4" in error
    assert b"DATAAGENT_REDIS_URL" in error
    assert b"Traceback" not in error


async def test_a_server_that_cannot_open_says_why_and_what_to_do(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        quick("dataagent-server"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(tmp_path, DATAAGENT_PORT="0", DATAAGENT_SANDBOX="moat"),
    )
    async with asyncio.timeout(WAIT_SECONDS):
        out, said = await process.communicate()
    told = [line for line in said.decode().splitlines() if not line.startswith("{")]
    assert (process.returncode, out) == (1, b"")
    assert told[0].startswith("dataagent-server: There is no sandbox of type 'moat'.")
    assert told[1].startswith("hint: ")
    assert "Traceback" not in said.decode()


async def test_nothing_in_the_data_directory_is_for_other_users(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    options = ("serve", "--port", "0")
    async with program(home, *options, umask=0) as (_, url):
        headers = {"X-API-Key": KEY}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=WAIT_SECONDS) as client:
            upload = {"file": ("notes.txt", b"mine", "text/plain")}
            assert (await client.post("/api/files/upload", files=upload)).status_code == 201
            said = await client.post("/api/v1/chat", json={"message": "!echo hi"})
            assert said.json()["status"] == "done"
        found = {str(each): each.lstat().st_mode & 0o077 for each in (home, *home.rglob("*"))}
    assert len(found) > 5
    assert {path: mode for path, mode in found.items() if mode} == {}


async def test_an_open_data_directory_of_another_user_ends_the_start_with_a_sentence(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").touch()
    home.chmod(0o755)
    process = await asyncio.create_subprocess_exec(
        quick("dataagent-server"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home, DATAAGENT_PORT="0"),
    )
    async with asyncio.timeout(WAIT_SECONDS):
        out, said = await process.communicate()
    told = [line for line in said.decode().splitlines() if not line.startswith("{")]
    assert (process.returncode, out) == (1, b"")
    assert told[0].startswith(f"dataagent-server: Other users can read the data directory {home}")
    assert told[1].startswith(f"hint: chmod 700 {home}, or ")


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
async def test_a_database_that_is_missing_ends_the_start_with_a_sentence(
    kind: str, tmp_path: Path
) -> None:
    with fresh_database(kind, tmp_path) as url:
        missing = make_url(url).set(database="dataagent_not_there")
        process = await asyncio.create_subprocess_exec(
            quick("dataagent-server"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(
                tmp_path,
                DATAAGENT_PORT="0",
                DATAAGENT_DATABASE_URL=missing.render_as_string(hide_password=False),
            ),
        )
        async with asyncio.timeout(WAIT_SECONDS):
            out, said = await process.communicate()
    told = [line for line in said.decode().splitlines() if not line.startswith("{")]
    assert (process.returncode, out) == (1, b"")
    assert told[0].startswith("dataagent-server: There is no database 'dataagent_not_there'")
    assert told[1:] == ["hint: create the database, or correct DATAAGENT_DATABASE_URL."]
    assert "Traceback" not in said.decode()


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with taken:
        port = str(taken.sockets[0].getsockname()[1])
        process = await asyncio.create_subprocess_exec(
            quick("dataagent-server"),
            stderr=asyncio.subprocess.PIPE,
            env=environment(tmp_path, DATAAGENT_PORT=port),
        )
        async with asyncio.timeout(WAIT_SECONDS):
            _, said = await process.communicate()
    assert process.returncode == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in said.decode()
