"""A database of the first version, with data in it, under the present server.

The rows are written as that version wrote them, by plain SQL: nothing here uses the present tables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate, migrate_to, pending, revision_of
from dataagent_core.storage.tables import metadata
from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import Server
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES

SESSION = "0b0e8d1c-0000-4000-8000-000000000001"
OTHER_SESSION = "0b0e8d1c-0000-4000-8000-000000000002"
RUN = "0b0e8d1c-0000-4000-8000-00000000000a"
WAITING_RUN = "0b0e8d1c-0000-4000-8000-00000000000b"
KEY = "dak_0badcafe" + "k" * 43
PASSWORD = "correct horse battery"
AT = "2026-01-02 03:04:05.678"
LATER = "2099-01-02 03:04:05.678"
SAID = "Umsätze 🙂 'quoted' \\ back"


@pytest.fixture(params=SQL_STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    with fresh_database(request.param, tmp_path) as fresh:
        yield fresh


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Database]:
    database = open_database(url)
    try:
        yield database
    finally:
        await database.close()


def rows() -> dict[str, list[dict[str, Any]]]:
    """What a small installation of version 0001 had."""
    user = {"user_id": "u-dora", "username": "dora", "role": "user", "status": "active"}
    digest = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    key_hash = hashlib.sha256(KEY.encode()).hexdigest()
    key = {"key_id": "k-1", "name": "report", "prefix": KEY[:12], "key_hash": key_hash}
    return {
        "users": [{**user, "password_hash": digest, "created_at": AT}],
        "api_keys": [{**key, "user_id": "u-dora", "created_at": AT, "last_used": None}],
        "secrets": [{"name": "login_tokens", "value": "a" * 64, "created_at": AT}],
        "workspace_usage": [{"user_id": "u-dora", "bytes_used": 12, "updated_at": AT}],
        "sessions": [_session(SESSION, "0badcafe"), _session(OTHER_SESSION, "0badcaff")],
        "messages": [
            _message("m-1", SESSION, RUN, "user", SAID, "complete"),
            _message("m-2", SESSION, RUN, "assistant", "The answer.", "complete"),
            _message("m-3", OTHER_SESSION, WAITING_RUN, "user", "write it", "complete"),
            _message("m-4", OTHER_SESSION, WAITING_RUN, "assistant", "", "running"),
        ],
        "runs": [_run(RUN, SESSION, 1), _run(WAITING_RUN, OTHER_SESSION, 3, is_waiting=True)],
        "event_batches": [_events(SESSION, RUN), _asked(OTHER_SESSION, WAITING_RUN)],
        "approvals": [
            {
                "run_id": WAITING_RUN,
                "request_id": "r-1",
                "session_id": OTHER_SESSION,
                "action": json.dumps({"name": "ls", "args": {}, "description": "List."}),
                "allowed": json.dumps(["approve", "reject"]),
                "created_at": AT,
                "expires_at": LATER,
                "decision": None,
                "decided_at": None,
            }
        ],
    }


def _session(session_id: str, thread_id: str) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "thread_id": thread_id,
        "user_id": "u-dora",
        "assistant_id": "agent",
        "title": SAID,
        "created_at": AT,
        "last_active": AT,
        "state": "{}",
        "metadata": json.dumps({"ticket": 17}),
    }


def _message(
    message_id: str, session_id: str, run_id: str, role: str, content: str, status: str
) -> dict[str, Any]:
    return {
        "message_id": message_id,
        "session_id": session_id,
        "run_id": run_id,
        "role": role,
        "content": content,
        "status": status,
        "created_at": AT,
        "metadata": "{}",
    }


def _run(run_id: str, session_id: str, first: int, *, is_waiting: bool = False) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "session_id": session_id,
        "user_id": "u-dora",
        "active_session": session_id if is_waiting else None,
        "assistant_id": "agent",
        "status": "waiting" if is_waiting else "done",
        "attempt": 1,
        "message_id": f"m-{first}",
        "answer_id": f"m-{first + 1}",
        "client_message_id": None,
        "created_at": AT,
        "started_at": AT,
        "ended_at": None if is_waiting else AT,
        "lease_owner": None,
        "lease_until": None,
        "cancel_requested": False,
        "token_usage": None,
        "error": None,
        "input": json.dumps({"message": "x"}),
    }


def _event(seq: int, run_id: str, event_type: str, data: dict[str, Any]) -> str:
    return json.dumps(
        {"event_type": event_type, "data": data, "timestamp": 1.5, "seq": seq, "run_id": run_id}
    )


def _batch(session_id: str, run_id: str, *events: str) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "run_id": run_id,
        "first_seq": 1,
        "last_seq": len(events),
        "attempt": 1,
        "events": "\n".join(events),
    }


def _events(session_id: str, run_id: str) -> dict[str, Any]:
    return _batch(
        session_id,
        run_id,
        _event(1, run_id, "text", {"content": "The answer.", "is_final": True}),
        _event(2, run_id, "done", {"cancelled": False, "reason": "completed"}),
    )


def _asked(session_id: str, run_id: str) -> dict[str, Any]:
    action: dict[str, Any] = {"name": "ls", "args": {}, "description": "List.", "args_schema": None}
    asked: dict[str, Any] = {
        "request_id": "r-1",
        "action": action,
        "allowed": ["approve"],
        "expires_at": 4e9,
    }
    return _batch(session_id, run_id, _event(1, run_id, "hitl_request", asked))


def write_rows(connection: Connection) -> None:
    """Insert them, values as literals: what a JSON column takes differs by driver."""
    for table, lines in rows().items():
        for line in lines:
            values = ", ".join(_literal(value, connection.dialect.name) for value in line.values())
            statement = f"INSERT INTO {table} ({', '.join(line)}) VALUES ({values})"
            connection.execute(text(statement.replace(":", r"\:")))


def _literal(value: Any, dialect: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value).lower()
    quoted = str(value).replace("'", "''")
    is_mysql = dialect in ("mysql", "mariadb")
    return f"'{quoted.replace(chr(92), chr(92) * 2) if is_mysql else quoted}'"


def differences(connection: Connection) -> list[object]:
    """How our tables differ from what they should be; checkpoints are their savers' own."""

    def is_ours(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or name in metadata.tables

    context = MigrationContext.configure(connection, opts={"include_name": is_ours})
    return list(compare_metadata(context, metadata))


async def check_all_is_there(server: Server) -> None:
    """Through the API, with the key of then: what was said, what ran, what waits."""
    async with server.http(KEY) as http:

        async def get(path: str) -> Any:
            async with http.get(path) as answer:
                assert answer.status == 200, await answer.text()
                return await answer.json()

        sessions = (await get("/api/v1/sessions"))["items"]
        assert {each["session_id"] for each in sessions} == {SESSION, OTHER_SESSION}
        assert sessions[0]["title"] == SAID
        assert sessions[0]["metadata"] == {"ticket": 17}
        assert sessions[0]["created_at"] == "2026-01-02T03:04:05.678Z"
        history = await get("/api/threads/0badcafe/history")
        assert [each["content"] for each in history["messages"]] == [SAID, "The answer."]
        assert [each["event_type"] for each in history["messages"][1]["events"]] == ["text", "done"]
        assert (await get(f"/api/v1/runs/{RUN}"))["status"] == "done"
        waiting = await get(f"/api/v1/runs/{WAITING_RUN}")
        assert [each["request_id"] for each in waiting["pending"]] == ["r-1"]
        assert [each["prefix"] for each in (await get("/api/v1/api-keys"))["items"]] == [KEY[:12]]
        body = {"username": "dora", "password": PASSWORD}
        async with http.post("/api/auth/login", json=body) as answer:
            assert answer.status == 200, await answer.text()


@requirement("R25.7", "G8")
async def test_a_database_of_the_first_version_serves_on_after_the_upgrade(
    url: str, start_server: StartServer
) -> None:
    async with opened(url) as database:
        await migrate_to(database, "0001")
        await database.write(write_rows)
        assert await pending(database)
    server = await start_server(DATAAGENT_DATABASE_URL=url)  # a start upgrades
    await check_all_is_there(server)
    status, made = await server.post("/sessions", {})
    assert status == 201
    await server.signal()
    async with opened(url) as database:
        assert not await pending(database)
        assert await database.read(differences) == []
        newest = await revision_of(database)
        await migrate_to(database, "0002")  # one step down
        assert await revision_of(database) == "0002"
        await migrate(database)
        assert await revision_of(database) == newest
        assert await database.read(differences) == []
    await server.start()
    await check_all_is_there(server)
    assert (await server.get(f"/sessions/{made['session_id']}"))["user_id"] == "alice"


@requirement("R25.7", "S6.3")
async def test_every_step_goes_down_and_up_again(url: str) -> None:
    async with opened(url) as database:
        await migrate_to(database, "0001")
        await database.write(write_rows)
        await migrate(database)
        newest = await revision_of(database)
        assert newest is not None
        for number in range(int(newest) - 1, 0, -1):
            await migrate_to(database, f"{number:04}")
            await migrate(database)
            assert await database.read(differences) == [], number
        counted = text("SELECT COUNT(*) FROM messages")
        assert await database.read(lambda c: c.execute(counted).scalar()) == 4
