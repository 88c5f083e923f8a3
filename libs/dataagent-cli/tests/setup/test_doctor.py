"""`dataagent doctor`: a line for each thing, a hint for each trouble, never a traceback."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.standins.mcp_server import stdio_command
from tests.standins.openai_server import openai_server

from .program import Ended, dataagent

EVERYTHING = [
    "versions",
    "configuration file",
    "data directory",
    "database",
    "tables",
    "model",
    "sandbox",
    "MCP servers",
    "terminal",
    "git",
    "clock",
]


def findings(ended: Ended) -> dict[str, dict[str, str]]:
    found = [json.loads(line) for line in ended.out.splitlines()]
    return {each.pop("what"): each for each in found}


async def test_all_is_well_with_a_model_that_answers_and_servers_that_connect(
    home: Path, tmp_path: Path
) -> None:
    servers = tmp_path / "agents" / "agent" / "mcp.json"
    servers.parent.mkdir(parents=True)
    servers.write_text(json.dumps({"mcpServers": {"calc": stdio_command()}}))
    async with openai_server() as server:
        told = await dataagent(
            *("doctor", "--json"),
            DATAAGENT_MODEL="openai:m",
            OPENAI_BASE_URL=server.base_url,
            DATAAGENT_SANDBOX="off",
        )
    found = findings(told)
    assert list(found) == EVERYTHING
    assert [what for what, each in found.items() if each["level"] == "fail"] == []
    assert found["model"]["found"] == "openai:m answers"
    assert found["MCP servers"] == {"level": "ok", "found": "1 of 1 connect", "hint": None}
    assert told.code == 0


async def test_what_does_not_work_has_a_cross_and_a_hint(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('modle = "x"\n')
    (home / "dataagent.db").write_bytes(b"no database at all" * 100)
    servers = tmp_path / "agents" / "agent" / "mcp.json"
    servers.parent.mkdir(parents=True)
    servers.write_text(json.dumps({"mcpServers": {"dead": {"command": "no-such-program"}}}))
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"calc": stdio_command()}}))
    told = await dataagent(
        "doctor",
        DATAAGENT_MODEL="openai:m",
        OPENAI_BASE_URL="http://127.0.0.1:1/v1",
        DATAAGENT_SANDBOX="off",
    )
    assert told.code == 1
    assert "✗ database: The database does not answer: file is not a database." in told.out
    assert "✗ model: Cannot reach the model at http://127.0.0.1:1" in told.out
    assert "! configuration file: " in told.out
    assert "hint: did you mean 'model'?" in told.out
    assert "'dead': " in told.out
    assert ".mcp.json of this folder is not trusted yet and not tried" in told.out
    assert told.out.count("hint: ") >= 4
    assert "Traceback" not in told.out + told.err


async def test_a_bad_configuration_file_is_the_one_finding(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("model = \n")
    told = await dataagent("doctor")
    assert told.code == 1
    assert told.out.startswith("✗ configuration: The configuration file ")
    assert "line 1" in told.out


@pytest.mark.parametrize(("version", "level"), [("0099", "fail"), ("0003", "warn")])
async def test_tables_of_another_version_are_told(home: Path, version: str, level: str) -> None:
    assert (await dataagent("schema")).code == 0
    with closing(sqlite3.connect(home / "dataagent.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", (version,))
        database.commit()
    found = findings(await dataagent("doctor", "--json", DATAAGENT_SANDBOX="off"))["tables"]
    assert found["level"] == level
    if level == "warn":
        assert "0004 Agents, tools, and which tools are bound to which agent" in found["found"]
        return
    assert "newer version of DataAgent" in found["found"]
    said = await dataagent("--version")
    assert said.code == 0
    assert "a newer DataAgent wrote" in said.err
    refused = await dataagent("-p", "hi")
    assert refused.code == 1
    assert "hint: upgrade DataAgent" in refused.err
