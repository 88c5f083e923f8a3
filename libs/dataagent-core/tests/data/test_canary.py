"""What a policy hides shows nowhere in a run: not in events, prompts, logs or files."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.config import Settings
from dataagent_core.data.sources import EVERYONE, NewSource
from dataagent_core.engine import graph as lg
from dataagent_core.runs.assembly import Core, open_core
from dataagent_core.runs.types import Run
from dataagent_core.session import now

CANARY = "canary-9f31c2"
POLICY: dict[str, Any] = {
    "name": "regions",
    "subjects": "everyone",
    "tables": {
        "people": {"row_filter": "region = 'EU'", "masks": {"email": "null"}},
        "secrets": {"grant": False},
    },
}
STATEMENTS = (
    "SELECT * FROM people",
    "SELECT * FROM secrets",
    "SELECT p.name, s.word FROM people p JOIN secrets s ON s.id = p.id",
    "SELECT name FROM people WHERE email LIKE 'canary%'",
    "SELECT CAST(email AS INTEGER) FROM people",
    "SELECT MAX(name) AS m FROM people UNION SELECT word FROM secrets",
)


def source_file(folder: Path) -> Path:
    path = folder / "source.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            f"""
            CREATE TABLE people (id INTEGER, name TEXT, region TEXT, email TEXT);
            INSERT INTO people VALUES (1, 'Ana', 'EU', '{CANARY}@x'), (2, '{CANARY}', 'US', 'b@x');
            CREATE TABLE secrets (id INTEGER, word TEXT);
            INSERT INTO secrets VALUES (1, '{CANARY}');
            """
        )
    connection.close()
    return path


async def said(core: Core, session_id: str, message: str) -> str:
    """All events of a run, as they are kept."""
    started = await core.runs.start(session_id, message, owner="anna")
    async with asyncio.timeout(20):
        entries = [entry async for entry in core.runs.read(started.run.run_id)]
    return "\n".join(entry.wire.decode() for entry in entries)


async def test_hidden_value_is_nowhere_in_events_prompts_logs_and_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = SecretStr(f"sqlite:///{source_file(tmp_path)}")
    home = tmp_path / "home"
    settings = Settings(home=home, model="scripted", sample_data=False)
    async with open_core(settings) as core:
        new = NewSource("hr", url=url, grants=(EVERYONE,))
        source = await core.data.service.register(new)
        await core.data.service.put_policy(source, "regions", POLICY)
        session = await core.sessions.get_or_create_session("anna", "sql")
        events = ""
        for sql in STATEMENTS:
            call = json.dumps({"sql": sql})
            events += await said(core, session.session_id, f"!tool sql_db_query {call}")
        for call in ("sql_db_schema {}", "sql_db_list_tables {}"):
            events += await said(core, session.session_id, f"!tool {call}")
        events += await said(
            core, session.session_id, '!tool search_catalogue {"query": "secrets email region"}'
        )
        graph, _ = core.factory.create_agent(core.worker._config_for(_run(session.session_id)))  # pyright: ignore[reportPrivateUsage] the thread as the model reads it
        bound = lg.bind(graph, core.checkpoints.saver())
        thread = await lg.snapshot(bound, lg.thread(session.session_id, 10))
    prompts = "\n".join(str(message) for message in thread.messages)
    assert "Ana" in events  # it did read
    assert '"status":"denied"' in events
    for place in (events, prompts, caplog.text):
        asked = place.replace("LIKE 'canary%'", "")
        assert CANARY not in asked
        assert "word" not in asked.replace("s.word", "").replace("SELECT word", "")
    # our own database keeps the catalogue's samples; each reader's view leaves theirs out
    files = [path for path in home.rglob("*") if path.is_file() and ".db" not in path.name]
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []


def _run(session_id: str) -> Any:
    return Run("r", session_id, "anna", "sql", "running", 1, now(), "m", "a")
