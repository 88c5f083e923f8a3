"""The scenarios of the MCP requirements, each through a run of an agent."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from dataagent_core.audit import AuditFilter, AuditRow
from dataagent_core.events import DoneEvent, TextEvent, ToolResultEvent
from dataagent_core.telemetry.context import bind_request_id
from tests.requirements import requirement

from .hub.shop import Program, Shop, failure_of, told

DETAIL, SEARCH = "mall4j.order.get_detail", "mall4j.product.search"


@requirement("M2.1")
async def test_a_bound_tool_is_called_on_its_server(shop: Shop, mall: Program) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    talk = await shop.talk()
    result = await talk.call(shop.tool(spec, DETAIL).exposed_name, {"orderId": "o1"})
    assert (result.status, result.result) == ("success", f"mall: {DETAIL} ['orderId']")


@requirement("M2.2", "M2.3")
async def test_an_unbound_tool_is_denied_and_the_refusal_is_traced(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    await shop.bind(spec, SEARCH, agent="sql")
    search = shop.tool(spec, SEARCH)
    talk = await shop.talk()
    refused = await talk.call(search.exposed_name, {"text": "shoes"}, auto_approve=False)
    assert refused.status == "denied"
    assert failure_of(refused)["code"] == "MCP_TOOL_FORBIDDEN"
    assert search.exposed_name not in await visible(shop, "agent")
    [row] = await shop.calls(tool_name=SEARCH)
    assert (row.status, row.error_code, row.agent_id) == ("denied", "MCP_TOOL_FORBIDDEN", "general")
    [note] = [n.record for n in await audited(shop) if n.record.target == search.exposed_name]
    assert note.outcome == "denied"

    other = await shop.talk(agent="sql")
    allowed = await other.call(search.exposed_name, {"text": "shoes"})
    assert allowed.result == f"mall: {SEARCH} ['text']"


@requirement("M3.2")
async def test_a_missing_argument_is_named_and_written_down(shop: Shop, mall: Program) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    talk = await shop.talk()
    result = await talk.call(shop.tool(spec, DETAIL).exposed_name, {})
    assert result.status == "error"
    error = failure_of(result)
    assert error["code"] == "MCP_INVALID_ARGUMENT"
    assert [fault["rule"] for fault in error["errors"]] == ["required"]
    assert "orderId" in error["errors"][0]["message"]
    [row] = await shop.calls()
    assert (row.status, row.input_valid) == ("invalid", False)
    assert row.error_message is not None
    assert "orderId" in row.error_message


@pytest.mark.slow
@requirement("M4.2")
async def test_a_call_that_takes_longer_than_five_seconds_ends_and_the_run_goes_on(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall, call_timeout_seconds=5.0)
    await shop.bind(spec, "slow", DETAIL)
    slow, detail = (shop.tool(spec, name).exposed_name for name in ("slow", DETAIL))
    talk = await shop.talk()
    started = time.monotonic()
    script = f"{told(slow, seconds=3600)}\n{told(detail, orderId='o1')}\n!echo goes on"
    events = await talk.ask(script)
    assert time.monotonic() - started >= 5
    first, second = (event for event in events if isinstance(event, ToolResultEvent))
    assert first.status == "timeout"
    assert failure_of(first)["code"] == "MCP_TIMEOUT"
    assert failure_of(first)["retryable"]
    assert second.status == "success"
    assert "goes on" in "".join(e.content for e in events if isinstance(e, TextEvent))
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"
    assert [row.status for row in await shop.calls(tool_name="slow")] == ["timeout"]


@requirement("M5.1", "M5.2")
async def test_every_call_has_a_row_with_all_that_is_to_be_traced(
    shop: Shop, mall: Program
) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, DETAIL)
    tool = shop.tool(spec, DETAIL)
    talk = await shop.talk()
    bind_request_id("req-4711")
    before = datetime.now(UTC)
    await talk.call(tool.exposed_name, {"orderId": "o1"})
    [row] = await shop.calls()
    assert (row.trace_id, row.user_id, row.session_id) == ("req-4711", "anna", talk.session_id)
    assert (row.agent_id, row.server_id, row.tool_name) == ("general", spec.server_id, DETAIL)
    assert (row.tool_id, row.schema_version) == (tool.tool_id, tool.schema_version)
    assert row.definition_hash == tool.definition_hash
    assert row.ended_at is not None
    assert before <= row.started_at <= row.ended_at <= datetime.now(UTC)
    assert row.duration_ms > 0
    assert (row.status, row.error_code, row.attempts) == ("ok", None, 1)
    assert (row.input_valid, row.protocol_version) == (True, "2026-07-28")
    assert row.run_id
    assert row.args_digest
    assert row.result_bytes


@requirement("M6.1", "M6.2", "M6.3")
async def test_servers_with_the_same_tools_do_not_touch_each_other(
    shop: Shop, mall: Program, mortal: Program
) -> None:
    a = await shop.add("serverA", mortal)
    b = await shop.add("serverB", mall)
    await shop.bind(a, SEARCH)
    await shop.bind(b, SEARCH)
    names = {shop.tool(spec, SEARCH).exposed_name: spec for spec in (a, b)}
    assert sorted(names) == ["serverA__mall4j_product_search", "serverB__mall4j_product_search"]
    talk = await shop.talk()
    on_a = await talk.call("serverA__mall4j_product_search", {})
    on_b = await talk.call("serverB__mall4j_product_search", {})
    assert [on_a.result, on_b.result] == [f"mortal: {SEARCH} []", f"mall: {SEARCH} []"]
    mortal.kill()
    assert (await talk.call("serverB__mall4j_product_search", {})).status == "success"
    assert {row.server_id for row in await shop.calls()} == {a.server_id, b.server_id}


@pytest.mark.slow
@requirement("M1.3")
async def test_tools_of_a_server_that_is_gone_are_hidden_and_come_back_with_it(
    shop: Shop, mortal: Program
) -> None:
    spec = await shop.add("mall", mortal)
    await shop.bind(spec, DETAIL)
    name = shop.tool(spec, DETAIL).exposed_name
    assert name in await visible(shop, "agent")
    mortal.kill()
    talk = await shop.talk()
    gone = await talk.call(name, {"orderId": "o1"})
    assert failure_of(gone)["code"] == "MCP_SERVER_UNAVAILABLE"
    assert name not in await visible(shop, "agent")
    mortal.start()
    await shop.ready(spec)
    assert name in await visible(shop, "agent")
    assert (await talk.call(name, {"orderId": "o1"})).status == "success"


async def visible(shop: Shop, agent: str, user: str = "anna") -> list[str]:
    """What an agent is shown in a run that begins now."""
    tools = await shop.core.mcp.tools_for(user_id=user, session_id=f"look-{user}", wait_seconds=0)
    return [tool.exposed_name for tool in await tools.visible(agent)]


async def audited(shop: Shop) -> list[AuditRow]:
    await shop.core.observers.audit.flush()
    return (await shop.core.observers.audit.list(AuditFilter(action="tool.call")))[0]
