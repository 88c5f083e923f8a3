"""Calls through the gateway that end in other ways than with a result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.mcp.gateway.attempts import (
    MOST_FAILURES,
    Attempts,
    CallExecutor,
    ToolCallRequest,
)
from dataagent_core.mcp.types import (
    Caller,
    CallFailed,
    CallFailure,
    CatalogueTool,
    ConnectionKey,
    ConnectionStatus,
    RemoteResult,
    RemoteTool,
    ServerSpec,
)
from tests.requirements import requirement
from tests.waiting import until

from .hub.shop import Program, Shop

ANNA = Caller(user_id="anna", agent_id="agent", session_id="s1", run_id="r1")
DETAIL = "mall4j.order.get_detail"


@pytest.fixture
async def mall_tools(shop: Shop, mall: Program) -> Callable[[str], CatalogueTool]:
    spec = await shop.add("mall", mall)
    tools = {tool.name: tool for tool in shop.core.mcp.catalogue.tools_of(spec.server_id)}
    await shop.bind(spec, *tools)
    return tools.__getitem__


async def test_a_cancelled_call_has_its_row(
    shop: Shop, mall_tools: Callable[[str], CatalogueTool], tmp_path: Path
) -> None:
    gateway, slow = shop.core.mcp.gateway, mall_tools("slow")
    started = tmp_path / "started"
    arguments = {"seconds": 3600, "started": str(started)}
    call = asyncio.create_task(gateway.call(slow.tool_id, arguments, ANNA))
    await until(started.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    [row] = await shop.calls()
    assert (row.status, row.error_code) == ("cancelled", "MCP_CANCELLED")
    assert row.ended_at is not None


@requirement("M4.1")
async def test_a_tools_own_time_limit_comes_before_its_servers(
    shop: Shop, mall_tools: Callable[[str], CatalogueTool]
) -> None:
    slow = mall_tools("slow")
    await shop.core.mcp.catalogue.set(
        slow.tool_id, enabled=True, retry_safe=False, timeout_seconds=0.3
    )
    outcome = await shop.core.mcp.gateway.call(slow.tool_id, {"seconds": 60}, ANNA)
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.retryable) == ("MCP_TIMEOUT", True)


async def test_a_tool_that_was_switched_off_is_not_called(
    shop: Shop, mall_tools: Callable[[str], CatalogueTool]
) -> None:
    detail = mall_tools(DETAIL)
    await shop.core.mcp.catalogue.set(
        detail.tool_id, enabled=False, retry_safe=False, timeout_seconds=None
    )
    outcome = await shop.core.mcp.gateway.call(detail.tool_id, {"orderId": "o1"}, ANNA)
    assert outcome.failure is not None
    assert outcome.failure.code == "MCP_TOOL_FORBIDDEN"
    assert (await shop.core.mcp.gateway.call(10**9, {}, ANNA)).failure is not None


async def test_too_many_calls_in_a_minute_are_refused(
    make_settings: Callable[..., Settings], mall: Program
) -> None:
    async with open_core(make_settings(mcp_calls_per_minute=2), grace_seconds=2) as core:
        shop = Shop(core)
        spec = await shop.add("mall", mall)
        await shop.bind(spec, DETAIL)
        tool_id = shop.tool(spec, DETAIL).tool_id
        outcomes = [await core.mcp.gateway.call(tool_id, {"orderId": "1"}, ANNA) for _ in range(3)]
        codes = [each.failure and each.failure.code for each in outcomes]
        assert codes == [None, None, "MCP_RATE_LIMITED"]
        bob = replace(ANNA, user_id="bob", session_id="s2")
        assert (await core.mcp.gateway.call(tool_id, {"orderId": "1"}, bob)).failure is None


# -- tries ----------------------------------------------------------------------------------------


class Line:
    """A connection that answers what it is told to.

    In place of a real one: that a request provably never left, or was lost on its way, cannot be
    brought about at will with a server of flesh and blood.
    """

    def __init__(self, answers: Sequence[CallFailed | RemoteResult]) -> None:
        self.key = ConnectionKey("srv", "shared")
        self.status = ConnectionStatus("ready", generation=1)
        self.answers = list(answers)
        self.calls = 0

    def wake(self) -> None:
        return

    async def call(self, *_: object, **__: object) -> RemoteResult:
        self.calls += 1
        answer = self.answers.pop(0)
        if isinstance(answer, CallFailed):
            raise answer
        return answer


DONE = RemoteResult(({"type": "text", "text": "done"},))


def broken(*, was_sent: bool, code: Any = "MCP_SERVER_UNAVAILABLE") -> CallFailed:
    return CallFailed(CallFailure(code, "gone", retryable=True), was_sent=was_sent)


def asked(*, retry_safe: bool = False, timeout_seconds: float | None = None) -> ToolCallRequest:
    tool = CatalogueTool(
        tool_id=1,
        server_id="srv",
        name="t",
        exposed_name="s__t",
        definition=RemoteTool("t"),
        definition_hash="h",
        schema_version=1,
        status="active",
        retry_safe=retry_safe,
        timeout_seconds=timeout_seconds,
    )
    return ToolCallRequest(
        tool, ServerSpec(server_id="srv", scope="global", name="s", alias="s"), {}
    )


@requirement("M4.1")
@pytest.mark.parametrize(
    ("answers", "retry_safe", "calls", "is_done"),
    [
        ([broken(was_sent=False), DONE], False, 2, True),
        ([broken(was_sent=True), DONE], False, 1, False),
        ([broken(was_sent=True), DONE], True, 2, True),
        ([broken(was_sent=True, code="MCP_TIMEOUT"), DONE], True, 1, False),
        ([broken(was_sent=True, code="MCP_TOOL_ERROR"), DONE], False, 1, False),
        ([broken(was_sent=False)] * 4, False, 3, False),
    ],
)
async def test_only_unsent_or_retry_safe_calls_are_retried(
    answers: list[CallFailed | RemoteResult], retry_safe: bool, calls: int, is_done: bool
) -> None:
    line, attempts = Line(answers), Attempts()
    # as a connection
    call = asked(retry_safe=retry_safe)
    work = CallExecutor().run(call, line, attempts)  # type: ignore[arg-type]
    if is_done:
        assert await work == DONE
    else:
        with pytest.raises(CallFailed):
            await work
    assert (line.calls, attempts.made) == (calls, calls)


async def test_a_call_is_not_tried_again_once_its_time_is_up() -> None:
    line, attempts = Line([broken(was_sent=False), DONE]), Attempts()
    call = asked(timeout_seconds=0.05)
    with pytest.raises(CallFailed) as failed:
        # as a connection
        await CallExecutor().run(call, line, attempts)  # type: ignore[arg-type]
    assert failed.value.failure.code == "MCP_TIMEOUT"
    assert (line.calls, attempts.made) == (1, 1)


async def test_a_line_that_breaks_again_and_again_is_left_alone() -> None:
    execution = CallExecutor()
    line = Line([broken(was_sent=True)] * MOST_FAILURES + [DONE])
    for _ in range(MOST_FAILURES):
        with pytest.raises(CallFailed):
            await execution.run(asked(), line, Attempts())  # type: ignore[arg-type] as a connection
    with pytest.raises(CallFailed, match="left alone"):
        await execution.run(asked(), line, Attempts())  # type: ignore[arg-type] as a connection
    assert line.calls == MOST_FAILURES
