"""`/mcp` as an MCP client sees it: the SDK's own client, over HTTP, in both eras."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import mcp_types as wire
import pytest
from mcp import MCPError

from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

    from conftest import LiveServer

ALICE = {"X-API-Key": "alice-key-4f9a0c"}
ROOT = {"X-API-Key": "root-key-55aa33"}
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


def text_of(result: wire.CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, wire.TextContent)
    return first.text


@pytest.fixture
def chinook(start_server: Callable[..., LiveServer]) -> LiveServer:
    """A server whose model answers questions about the sample database by rule."""
    return start_server(model="offline")


async def test_a_client_of_either_era_finds_the_four_tools(
    live: LiveServer, connect: Any, era: str
) -> None:
    async with connect(live, ALICE, era) as client:
        assert client.session.protocol_version == VERSIONS[era]
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["ask", "list_sources", "describe_table", "run_sql"]
    for tool in tools.values():
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name != "ask")


async def test_a_question_is_answered_with_figures_and_links_that_can_be_fetched(
    chinook: LiveServer, connect: Any, era: str
) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total) == (len(told) + 1, None)
        told.append(message)

    async with connect(chinook, ALICE, era) as client:
        result = await client.call_tool(
            "ask", {"question": "How many tracks are there?"}, progress_callback=on_progress
        )
    answer = result.structured_content
    assert not result.is_error
    assert answer["status"] == "done"
    assert answer["answer"] in text_of(result)
    assert [each["value"] for each in answer["figures"]["verified"]][:1] == ["3581"]
    assert told == ["sql_db_schema", "sql_db_query"]
    [link] = [each for each in result.content if isinstance(each, wire.ResourceLink)]
    assert link.uri == answer["artifacts"][0]["url"]
    async with chinook.http() as http:
        csv = await http.get(f"{link.uri}?format=csv")
        run = await http.get(f"/api/v1/runs/{answer['run_id']}")
    assert csv.text.split() == ["track_count", "3581"]
    assert (run.json()["session_id"], run.json()["status"]) == (answer["session_id"], "done")


async def test_a_conversation_goes_on_with_its_session_id(live: LiveServer, connect: Any) -> None:
    async with connect(live, ALICE) as client:
        first = await client.call_tool("ask", {"question": "!echo one"})
        session_id = first.structured_content["session_id"]
        second = await client.call_tool("ask", {"question": "!echo two", "session_id": session_id})
        stranger = await client.call_tool("ask", {"question": "x", "session_id": "not-mine"})
    assert text_of(first) == "one"
    assert second.structured_content["session_id"] == session_id
    async with live.http() as http:
        messages = (await http.get(f"/api/v1/sessions/{session_id}/messages")).json()
    assert [each["content"] for each in messages["items"]] == [
        "!echo one",
        "one",
        "!echo two",
        "two",
    ]
    assert stranger.is_error
    assert "not-mine" in text_of(stranger)


async def test_cancelling_the_request_cancels_the_run(
    live: LiveServer, connect: Any, era: str
) -> None:
    runs = live.container.core.runs
    begun = asyncio.Event()
    arguments: dict[str, Any] = {
        "question": '!tool read_file {"file_path": "/nothing.txt"}\n!slow 2000 50'
    }

    async def on_progress(*_: object) -> None:
        begun.set()

    async with connect(live, ALICE, era) as client:
        call = asyncio.create_task(
            client.call_tool("ask", arguments, progress_callback=on_progress)
        )
        await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
        [run] = await _active(live)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        async def ended() -> str:
            while (found := await runs.get(run, owner="alice")).run.is_active:
                await asyncio.sleep(0.01)
            return found.run.status

        status = await asyncio.wait_for(live.on_server(ended()), WAIT_SECONDS)
    assert status == "cancelled"


async def _active(live: LiveServer) -> list[str]:
    """The runs of alice's that are under way."""
    async with live.http() as http:
        sessions = (await http.get("/api/v1/sessions")).json()["items"]
    found: list[str] = []
    for session in sessions:
        run = await live.on_server(live.container.core.runs.active_run(session["session_id"]))
        if run is not None:
            found.append(run.run_id)
    return found


async def test_a_run_that_fails_or_waits_says_so(live: LiveServer, connect: Any) -> None:
    async with connect(live, ALICE) as client:
        failed = await client.call_tool("ask", {"question": "!fail"})
        call = '!tool write_file {"file_path": "/a.txt", "content": "x"}'
        waiting = await client.call_tool("ask", {"question": call})
    assert failed.is_error
    assert failed.structured_content["status"] == "failed"
    assert text_of(failed)
    assert not waiting.is_error
    found = waiting.structured_content
    assert (found["status"], [each["tool"] for each in found["waiting_for"]]) == (
        "waiting",
        ["write_file"],
    )
    assert "A person must allow this first: write_file." in text_of(waiting)
    async with live.http() as http:
        run = (await http.get(f"/api/v1/runs/{found['run_id']}")).json()
        assert [each["request_id"] for each in run["pending"]] == [
            each["request_id"] for each in found["waiting_for"]
        ]
        await http.post(f"/api/v1/runs/{found['run_id']}/cancel")


async def test_sources_and_tables_are_described(live: LiveServer, connect: Any) -> None:
    async with connect(live, ALICE) as client:
        listed = await client.call_tool("list_sources", {})
        table = await client.call_tool("describe_table", {"table": "customer"})
        unknown = await client.call_tool("describe_table", {"table": "Custumer"})
        nowhere = await client.call_tool("describe_table", {"table": "a", "source": "nowhere"})
    [source] = listed.structured_content["sources"]
    assert json.loads(text_of(listed)) == listed.structured_content
    assert (source["name"], source["problem"], source["omitted_tables"]) == ("chinook", None, 0)
    assert len(source["tables"]) == 11
    described = table.structured_content
    assert (described["source"], described["dialect"]) == ("chinook", "sqlite")
    assert described["table"]["key"] == "Customer"
    assert described["table"]["columns"][0]["name"] == "CustomerId"
    assert text_of(unknown) == "There is no table 'Custumer'. Did you mean: Customer?"
    assert text_of(nowhere) == "There is no data source 'nowhere'. There are: 'chinook'."


async def test_a_statement_returns_the_exact_count_and_the_first_rows(
    live: LiveServer, connect: Any, era: str
) -> None:
    sql = "SELECT TrackId, Name FROM Track ORDER BY TrackId"
    async with connect(live, ALICE, era) as client:
        result = await client.call_tool("run_sql", {"sql": sql, "max_rows": 3})
    found = result.structured_content
    assert (found["row_count"], len(found["rows"]), found["omitted_rows"]) == (3581, 3, 3578)
    assert (found["truncated"], found["policy"]) == (False, [])
    assert [column["name"] for column in found["columns"]] == ["TrackId", "Name"]
    async with live.http() as http:
        whole = await http.get(f"{found['url']}?format=csv")
    assert whole.text.count("\n") == 3582


async def test_rows_that_do_not_fit_are_left_out_whole(live: LiveServer, connect: Any) -> None:
    sql = f"SELECT '{'x' * 20_000}' AS long FROM Track LIMIT 100"
    async with connect(live, ALICE) as client:
        found = (await client.call_tool("run_sql", {"sql": sql})).structured_content
    assert {len(row[0]) for row in found["rows"]} == {20_000}
    assert 0 < len(found["rows"]) < 100
    assert found["omitted_rows"] == 100 - len(found["rows"])
    assert found["row_count"] == 100


@pytest.mark.parametrize(
    ("arguments", "sentence", "code"),
    [
        ({"sql": "DROP TABLE Track"}, "A statement that starts with DROP", "query_refused"),
        ({"sql": "SELECT Nmae FROM Track"}, "Nmae", "unknown_name"),
        ({}, "sql: Field required.", "bad_input"),
        ({"sql": "SELECT 1", "limit": 2}, "limit: Extra inputs are not permitted.", "bad_input"),
        ({"sql": "SELECT 1", "max_rows": 1001}, "max_rows: Input should be less", "bad_input"),
    ],
)
async def test_what_cannot_be_done_is_a_result_that_says_why(
    live: LiveServer, connect: Any, arguments: dict[str, Any], sentence: str, code: str
) -> None:
    async with connect(live, ALICE) as client:
        result = await client.call_tool("run_sql", arguments)
    assert result.is_error
    assert sentence in text_of(result)
    assert result.meta is not None
    assert result.meta["dataagent/error_code"] == code


async def test_an_unknown_tool_is_an_error_of_the_protocol(
    live: LiveServer, connect: Any, era: str
) -> None:
    async with connect(live, ALICE, era) as client:
        with pytest.raises(MCPError, match=r"There is no tool 'nothing'\. Use one of: ask, "):
            await client.call_tool("nothing", {})


async def test_row_filters_and_masks_hold_for_the_keys_user(
    chinook: LiveServer, connect: Any
) -> None:
    rules = {
        "subjects": {"users": ["alice"]},
        "tables": {"Customer": {"row_filter": "Country = 'Brazil'", "deny_columns": ["Phone"]}},
    }
    async with chinook.http("root") as http:
        made = await http.post(
            "/api/v1/data-sources/chinook/policies", json={"name": "brazil", "rules": rules}
        )
        assert made.status_code == 201, made.text
    sql = "SELECT DISTINCT Country FROM Customer"

    async def countries(client: Client) -> dict[str, Any]:
        return (await client.call_tool("run_sql", {"sql": sql})).structured_content

    async with connect(chinook, ALICE) as hers, connect(chinook, ROOT) as theirs:
        seen = await countries(hers)
        assert (seen["rows"], len(seen["policy"])) == ([["Brazil"]], 1)
        assert (await countries(theirs))["row_count"] > 1
        phone = await hers.call_tool("run_sql", {"sql": "SELECT Phone FROM Customer"})
        table = await hers.call_tool("describe_table", {"table": "Customer"})
    assert phone.is_error
    names = [column["name"] for column in table.structured_content["table"]["columns"]]
    assert "Phone" not in names


async def test_a_call_is_noted_with_who_and_how_but_not_with_what(
    start_server: Callable[..., LiveServer], connect: Any, era: str
) -> None:
    server = start_server()
    async with connect(server, ALICE, era) as client:
        await client.call_tool("run_sql", {"sql": "SELECT 1 AS canary_4711"})
        await client.call_tool("describe_table", {"table": "canary_4711"})
    await server.on_server(server.container.core.observers.audit.flush())
    async with server.http("root") as http:
        rows = (await http.get("/api/v1/audit?action=mcp.call")).json()["items"]
    seen = [(row["target"], row["outcome"], row["user_id"], row["via"]) for row in reversed(rows)]
    assert seen == [
        ("run_sql", "success", "alice", "api_key"),
        ("describe_table", "failed", "alice", "api_key"),
    ]
    assert all(row["request_id"] and row["address"] == "127.0.0.1" for row in rows)
    assert "canary_4711" not in json.dumps(rows)


async def test_limits_of_runs_and_messages_hold_here_too(
    start_server: Callable[..., LiveServer], connect: Any
) -> None:
    server = start_server(rate_limit_per_minute=1)
    async with connect(server, ALICE) as client:
        first = await client.call_tool("ask", {"question": "!echo one"})
        second = await client.call_tool("ask", {"question": "!echo two"})
        third = await client.call_tool("run_sql", {"sql": "SELECT 1"})
    assert not first.is_error
    for refused in (second, third):
        assert refused.is_error
        assert text_of(refused).startswith("At most 1 messages a minute are accepted.")
