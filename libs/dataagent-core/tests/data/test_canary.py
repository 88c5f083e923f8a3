"""What a policy protects shows nowhere: not in events, prompts or logs, and in no file of ours.

"No file" is every byte below the data directory, our own database with its log among them, while it
is open and after. What a reader was allowed to read lies in their own results; that is theirs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.data.sources import EVERYONE, NewSource, Source, SourceChanges
from dataagent_core.data.types import Catalogue
from dataagent_core.engine import graph as lg
from dataagent_core.runs.types import Run
from dataagent_core.session import now
from tests.waiting import WAIT_SECONDS

CANARY = "canary-9f31c2"
POLICY: dict[str, Any] = {
    "name": "regions",
    "subjects": "everyone",
    "tables": {
        "people": {"row_filter": "region = 'EU'", "masks": {"email": "null"}},
        "secrets": {"grant": False},
        "wide": {"deny_columns": [f"c{number}" for number in range(60)]},
    },
}
STATEMENTS = (
    "SELECT * FROM people",
    "SELECT * FROM secrets",
    "SELECT p.name, s.word FROM people p JOIN secrets s ON s.id = p.id",
    "SELECT name FROM people WHERE email LIKE 'canary%'",
    "SELECT CAST(email AS INTEGER) FROM people",
    "SELECT MAX(name) AS m FROM people UNION SELECT word FROM secrets",
    "SELECT * FROM everything",
    "SELECT * FROM wide",
)


def source_file(folder: Path) -> Path:
    """People, secrets, a view of both, and a table whose samples fill several pages of ours."""
    path = folder / "source.db"
    columns = ", ".join(f"c{number} TEXT" for number in range(60))
    cells = ", ".join(["'" + f"{CANARY} " * 5 + "'"] * 60)
    with sqlite3.connect(path) as connection:
        connection.executescript(
            f"""
            CREATE TABLE people (id INTEGER, name TEXT, region TEXT, email TEXT);
            INSERT INTO people VALUES (1, 'Ana', 'EU', '{CANARY}@x'), (2, '{CANARY}', 'US', 'b@x');
            CREATE TABLE secrets (id INTEGER, word TEXT);
            INSERT INTO secrets VALUES (1, '{CANARY}');
            CREATE TABLE wide (id INTEGER, kind TEXT, {columns});
            INSERT INTO wide VALUES (1, 'ordinary', {cells});
            CREATE VIEW everything AS SELECT name, word FROM people, secrets;
            """
        )
    connection.close()
    return path


def places(home: Path) -> list[str]:
    """The files below the data directory that hold the value, in whichever part of them."""
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]


def values(catalogue: Catalogue) -> set[str]:
    return {
        value for table in catalogue.tables for column in table.columns for value in column.samples
    }


async def said(core: Core, session_id: str, message: str) -> str:
    """All events of a run, as they are kept."""
    started = await core.runs.start(session_id, message, owner="anna")
    async with asyncio.timeout(WAIT_SECONDS):
        entries = [entry async for entry in core.runs.read(started.run.run_id)]
    return "\n".join(entry.wire.decode() for entry in entries)


async def talk(core: Core) -> tuple[str, str]:
    """Ask for everything in every way: the events of it, and the thread as the model reads it."""
    session = await core.sessions.get_or_create_session("anna", "sql")
    calls = [f"sql_db_query {json.dumps({'query': sql})}" for sql in STATEMENTS]
    calls += ["sql_db_schema {}", "sql_db_list_tables {}"]
    calls += ['search_catalogue {"query": "secrets email region canary"}']
    events = "".join([await said(core, session.session_id, f"!tool {call}") for call in calls])
    # the thread as the model reads it
    graph, _ = core.factory.create_agent(core.worker._config_for(_run(session.session_id)))
    bound = lg.bind(graph, core.checkpoints.saver())
    thread = await lg.snapshot(bound, lg.thread(session.session_id, 10))
    return events, "\n".join(str(message) for message in thread.messages)


def _run(session_id: str) -> Any:
    return Run("r", session_id, "anna", "sql", "running", 1, now(), "m", "a")


def write_config(home: Path, source: Path, *policies: dict[str, Any]) -> None:
    described = {"name": "hr", "url": f"sqlite:///{source}", "grants": ["everyone"]}
    home.mkdir(exist_ok=True)
    text = yaml.safe_dump({"sources": [{**described, "policies": list(policies)}]})
    (home / "sources.yaml").write_text(text)


async def registered(core: Core, path: Path) -> Source:
    new = NewSource("hr", url=SecretStr(f"sqlite:///{path}"), grants=(EVERYONE,))
    return await core.data.service.register(new)


@pytest.mark.parametrize("by", ["api", "configuration file"])
async def test_protected_value_is_nowhere_in_events_prompts_logs_and_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, by: str
) -> None:
    caplog.set_level(logging.DEBUG)
    home, path = tmp_path / "home", source_file(tmp_path)
    if by == "configuration file":
        write_config(home, path, POLICY)
    async with open_core(Settings(home=home, model="scripted", sample_data=False)) as core:
        if by == "api":
            source = await registered(core, path)
            await core.data.service.put_policy(source, "regions", POLICY)
        events, prompts = await talk(core)
        reader = await core.data.service.reader("anna")
        source = await core.data.service.source(reader, "hr")
        await core.data.service.catalogue_state(source, reader, is_fresh=True)
        assert places(home) == []
    assert places(home) == []
    assert "Ana" in events  # it did read
    assert "ordinary" in events  # what nobody is kept from is still sampled
    assert '"status":"denied"' in events
    for place in (events, prompts, caplog.text):
        asked = place.replace("LIKE 'canary%'", "")
        assert CANARY not in asked
        assert "word" not in asked.replace("s.word", "").replace("SELECT word", "")


async def test_policy_put_later_takes_the_value_out_of_every_file_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = Settings(home=home, model="scripted", sample_data=False)
    async with open_core(settings) as core:
        service = core.data.service
        source = await registered(core, source_file(tmp_path))
        for _ in range(3):  # rewritten in our file, each time with pages of its own
            await service.catalogues.refresh(source)
        assert places(home) != []  # else nothing is shown below
        kept = await service.put_policy(source, "regions", {**POLICY, "tables": {"people": {}}})
        assert places(home) != []
        await service.put_policy(source, "regions", POLICY, policy_id=kept.policy_id)
        assert places(home) == []
        admin = await service.reader("root", role="admin")
        assert values(await service.catalogue(source, admin)) == {"ordinary"}
        await service.sources.policies.delete(source.source_id, kept.policy_id)
        await service.catalogues.refresh(source)
        assert places(home) != []  # protected by nothing any more
        await service.change(source, SourceChanges(default_policy="deny"))
        assert places(home) == []
    assert places(home) == []


async def test_policy_that_the_configuration_file_brings_later_does_the_same(
    tmp_path: Path,
) -> None:
    home, path = tmp_path / "home", source_file(tmp_path)
    settings = Settings(home=home, model="scripted", sample_data=False)
    write_config(home, path)
    async with open_core(settings) as core:
        admin = await core.data.service.reader("root", role="admin")
        source = await core.data.service.source(admin, "hr")
        assert CANARY in values(await core.data.service.catalogue(source, admin))
    assert places(home) != []
    write_config(home, path, POLICY)
    async with open_core(settings) as core:
        assert places(home) == []
        source = await core.data.service.source(admin, "hr")
        assert values(await core.data.service.catalogue(source, admin)) == {"ordinary"}
    assert places(home) == []


async def test_policy_for_one_person_takes_values_from_everyones_search(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", model="scripted", sample_data=False)
    async with open_core(settings) as core:
        service = core.data.service
        source = await registered(core, source_file(tmp_path))
        bob = await service.reader("bob")
        assert CANARY in values(await service.catalogue(source, bob))
        await service.put_policy(
            source, "one", {**POLICY, "subjects": {"users": ["anna"]}, "name": "one"}
        )
        seen = await service.catalogue(source, bob)
        assert values(seen) == {"ordinary"}
        assert [table.name for table in seen.tables] == ["everything", "people", "secrets", "wide"]
