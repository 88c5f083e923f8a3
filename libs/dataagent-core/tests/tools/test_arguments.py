"""The tools that the requirements name, with the arguments they name."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import ToolResultEvent
from tests.homes import prepared_home
from tests.requirements import requirement

REQUIRED = {
    "sql_db_query": {"query": "string"},
    "sql_db_schema": {},
    "sql_db_list_tables": {},
    "sql_db_query_checker": {"query": "string"},
    "query_artifact": {"query": "string", "artifact_ids": "array"},
    "execute_python": {"code": "string"},
    "execute_python_with_file": {"code": "string", "filename": "string"},
    "read_uploaded_file": {"file_id": "string"},
    "think_tool": {"reflection": "string"},
    "tavily_search": {"query": "string"},
}


@pytest.fixture
async def core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Core]:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-key")
    settings = Settings(home=prepared_home(tmp_path / "home"), model="scripted")
    async with open_core(settings) as opened:
        yield opened


def schemas(core: Core) -> dict[str, dict[str, Any]]:
    """What the model is told of each tool's arguments."""
    tools = (convert_to_openai_tool(tool) for tool in core.factory.bindable_tools())
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}


async def answer(core: Core, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Status and content of a tool's result, called by a model."""
    session = await core.sessions.create("ann", "agent")
    message = f"!tool {tool} {json.dumps(arguments)}"
    started = await core.runs.start(session.session_id, message, owner="ann")
    events = [entry.event async for entry in core.runs.read(started.run.run_id)]
    (result,) = (event for event in events if isinstance(event, ToolResultEvent))
    return result.status, json.loads(result.result)


@requirement("S2.2.3a", "S2.2.5.1a", "S2.2.5.1b", "S2.2.5.2b")
async def test_the_tools_take_the_arguments_the_requirements_name(core: Core) -> None:
    known = schemas(core)
    for name, required in REQUIRED.items():
        told = known[name]
        types = {each: told["properties"][each]["type"] for each in told.get("required", ())}
        assert types == required, name
    assert known["sql_db_schema"]["properties"]["table_names"]["type"] == "string"
    assert known["sql_db_list_tables"]["properties"]["tool_input"]["type"] == "string"


@requirement("S2.2.5.2b")
@pytest.mark.parametrize(
    "names", ["Artist, Genre", "Artist,Genre", '"Artist", Genre\n', ["Artist", "Genre"]]
)
async def test_tables_are_named_in_one_text_or_in_a_list(
    core: Core, names: str | list[str]
) -> None:
    status, told = await answer(core, "sql_db_schema", table_names=names)
    assert status == "success"
    assert [table["name"] for table in told["tables"]] == ["Artist", "Genre"]


@requirement("S2.2.5.2b")
async def test_no_names_are_all_tables(core: Core) -> None:
    _, everything = await answer(core, "sql_db_schema", table_names="")
    _, listed = await answer(core, "sql_db_list_tables", tool_input="")
    assert {"Artist", "Track"} <= {table["name"] for table in everything["tables"]}
    assert {"Artist", "Track"} <= {table["name"] for table in listed["tables"]}


@requirement("S2.2.5.2b")
async def test_a_table_with_a_comma_in_its_name_stands_in_quotes(core: Core) -> None:
    status, told = await answer(core, "sql_db_schema", table_names='"Artist, Genre"')
    assert status == "error"
    assert told["error"]["code"] == "unknown_name"
    assert told["error"]["name"] == "Artist, Genre"


@requirement("S2.2.5.2b")
async def test_a_statement_is_checked_and_run(core: Core) -> None:
    statement = "SELECT COUNT(*) AS n FROM Artist"
    _, checked = await answer(core, "sql_db_query_checker", query=statement)
    assert checked["ok"] is True
    status, told = await answer(core, "sql_db_query", query=statement)
    assert (status, told["row_count"]) == ("success", 1)
