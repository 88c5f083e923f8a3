"""How many runs a user may have at once, and what their tenant lets them do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import (
    AgentDisabled,
    FileNotFound,
    TenantLimit,
    TooManyRuns,
)
from dataagent_core.events import AnyEvent, DoneEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.identity import Principal
from dataagent_core.identity.tenants import TenantTerms
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs import Run, RunOptions
from tests.requirements import requirement

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]
ROOT = Principal("root", "admin", "api_key")
SLOW = "!slow 1000 60"


async def started(core: Core, chat_in: ChatIn, owner: str = "anna") -> Run:
    return await (await chat_in(core, owner=owner)).start(SLOW)


def results_of(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(e.tool_name, e.status) for e in events if isinstance(e, ToolResultEvent)]


# -- runs at once -------------------------------------------------------------------------------


@requirement("G12")
async def test_a_user_has_so_many_runs_at_once_and_others_have_theirs(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(max_runs_per_user=2), grace_seconds=0) as core:
        first = await started(core, chat_in)
        await started(core, chat_in)
        chat = await chat_in(core)
        with pytest.raises(TooManyRuns) as refused:
            await chat.start("!echo third")
        assert refused.value.details == {"limit": 2, "used": 2}
        assert refused.value.retry_after_seconds == 5
        assert await chat.history() == []
        await started(core, chat_in, owner="bert")
        await core.runs.cancel(first.run_id, owner="anna")
        events = await chat.ask("!echo third")
        assert isinstance(events[-1], DoneEvent)


@requirement("G12")
async def test_messages_that_come_at_the_same_moment_do_not_pass_the_limit(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(max_runs_per_user=3), grace_seconds=0) as core:
        chats = [await chat_in(core) for _ in range(10)]
        outcomes = await asyncio.gather(*(c.start(SLOW) for c in chats), return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, TooManyRuns)]
        assert len(refused) == 7
        assert core.limits.budgets.active_of("anna") == 3


@requirement("G15", "G12")
async def test_a_message_that_is_sent_again_finds_its_run_whatever_its_user_may_start_by_now(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(max_runs_per_user=1), grace_seconds=0) as core:
        chat = await chat_in(core)
        run = await chat.start(SLOW, client_message_id="m-1")
        again = await core.runs.start(chat.session_id, SLOW, owner="anna", client_message_id="m-1")
        assert (again.run.run_id, again.after, again.is_new) == (run.run_id, 0, False)
        await core.runs.cancel(run.run_id, owner="anna")
        gone = RunOptions(file_ids=("a-file-that-was-deleted-since",))
        again = await core.runs.start(
            chat.session_id, SLOW, owner="anna", client_message_id="m-1", options=gone
        )
        assert (again.run.run_id, again.is_new) == (run.run_id, False)
        with pytest.raises(FileNotFound):
            await chat.start(SLOW, client_message_id="m-2", options=gone)


# -- tenants ------------------------------------------------------------------------------------


@pytest.fixture
async def tenant_core(make_settings: MakeSettings) -> AsyncIterator[Core]:
    """A core where anna is in the tenant `acme`, and bert in none."""
    settings = make_settings(multi_tenant=True, auto_approve=True, enable_shell=True)
    async with open_core(settings, grace_seconds=0) as core:
        await core.limits.tenancy.create(TenantTerms(name="Acme"), ROOT, tenant_id="acme")
        await core.limits.tenancy.put_member("acme", "anna", "member", ROOT)
        yield core


async def settle(core: Core, **terms: Any) -> None:
    """Give the tenant other terms."""
    await core.limits.tenancy.update("acme", TenantTerms(name="Acme", **terms), ROOT)


@requirement("R35.5")
async def test_a_tool_that_is_off_is_not_run_even_if_the_model_names_it(
    tenant_core: Core, chat_in: ChatIn
) -> None:
    await settle(tenant_core, features_enabled={"tool:shell": False})
    message = '!tool shell {"command": "touch files/made"}\n!tool ls {"path": "/"}\n!echo on'
    anna, bert = await chat_in(tenant_core), await chat_in(tenant_core, owner="bert")
    assert results_of(await anna.ask(message)) == [("shell", "denied"), ("ls", "success")]
    assert await anna.files() == {}
    assert results_of(await bert.ask(message)) == [("shell", "success"), ("ls", "success")]
    assert "made" in await bert.files()
    await settle(tenant_core)
    assert results_of(await anna.ask(message)) == [("shell", "success"), ("ls", "success")]


@requirement("R35.5")
async def test_a_tool_that_is_off_is_off_for_sub_agents_and_nobody_is_asked(
    tenant_core: Core, chat_in: ChatIn
) -> None:
    await settle(tenant_core, features_enabled={"tool:write_file": False})
    write = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'
    task = json.dumps({"description": write, "subagent_type": "general-purpose"})
    chat = await chat_in(tenant_core)
    events = await chat.ask(f"!tool task {task}\n{write}", auto_approve=False)
    denied = [name for name, status in results_of(events) if status == "denied"]
    assert denied == ["write_file", "write_file"]
    assert {event.event_type for event in events}.isdisjoint({"hitl_request", "file_operation"})
    assert await chat.files() == {}


@requirement("R35.5")
async def test_the_model_is_not_shown_a_tool_that_is_off(
    tenant_core: Core, chat_in: ChatIn, with_agent: Callable[..., None]
) -> None:
    bound: list[set[str]] = []

    class Listening(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            bound.append({tool.name for tool in tools})
            return super().bind_tools(tools, **kwargs)

    with_agent(tenant_core, model=Listening())
    await settle(tenant_core, features_enabled={"tool:shell": False})
    await (await chat_in(tenant_core)).ask("hi")
    await (await chat_in(tenant_core, owner="bert")).ask("hi")
    assert bound[1] - bound[0] == {"shell"}


@requirement("R35.5")
async def test_an_agent_that_is_off_cannot_be_addressed(tenant_core: Core, chat_in: ChatIn) -> None:
    await settle(tenant_core, features_enabled={"agent:sql": False, "agent:agent": False})
    chat = await chat_in(tenant_core)
    for agent in ("sql", None):  # by name, or as the session's own
        with pytest.raises(AgentDisabled):
            await chat.start("!echo hi", assistant_id=agent)
    assert await chat.history() == []
    assert (await chat.ask("!echo hi", assistant_id="research"))[-1].event_type == "done"


@requirement("R35.5")
async def test_an_agent_that_is_off_gets_no_task(tenant_core: Core, chat_in: ChatIn) -> None:
    await settle(tenant_core, features_enabled={"agent:general-purpose": False})
    task = json.dumps({"description": "!echo hi", "subagent_type": "general-purpose"})
    events = await (await chat_in(tenant_core)).ask(f"!tool task {task}\n!echo then")
    assert results_of(events) == [("task", "denied")]


@requirement("R35.5")
async def test_a_switch_counts_in_a_run_under_way(tenant_core: Core, chat_in: ChatIn) -> None:
    write = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'
    ls = '!tool ls {"path": "/"}'
    chat = await chat_in(tenant_core)
    run = await chat.start(f"{ls}\n{write}\n{ls}", auto_approve=False)
    (request,) = await chat.requests(run)
    await settle(tenant_core, features_enabled={"tool:ls": False})
    await chat.decide(run, request.request_id, Decision("approve"))
    expected = [("ls", "success"), ("write_file", "success"), ("ls", "denied")]
    assert results_of(await chat.events(run)) == expected


async def test_a_run_knows_its_tenant(tenant_core: Core, chat_in: ChatIn) -> None:
    anna = await (await chat_in(tenant_core)).start("!echo hi")
    bert = await (await chat_in(tenant_core, owner="bert")).start("!echo hi")
    worker = tenant_core.worker
    tenants = [worker._config_for(run).tenant_id for run in (anna, bert)]
    assert tenants == ["acme", None]


@requirement("R35.4")
async def test_a_user_has_as_many_sessions_as_the_tenant_says(tenant_core: Core) -> None:
    await settle(tenant_core, max_sessions_per_user=2)
    sessions = tenant_core.sessions
    making = [sessions.get_or_create_session("anna", "agent") for _ in range(8)]
    outcomes = await asyncio.gather(*making, return_exceptions=True)
    assert {type(each) for each in outcomes if isinstance(each, BaseException)} == {TenantLimit}
    while (await sessions.list(owner="anna"))[1] < 2:
        await sessions.get_or_create_session("anna", "agent")
    with pytest.raises(TenantLimit) as refused:
        await sessions.get_or_create_session("anna", "agent")
    details = {"what": "max_sessions_per_user", "limit": 2, "used": 2}
    assert refused.value.details == details
    found, total = await sessions.list(owner="anna")
    assert total == 2
    await sessions.get_or_create_session("anna", "agent", found[0].session_id)  # there already
    await sessions.delete(found[0].session_id, owner="anna")
    await sessions.get_or_create_session("anna", "agent")
    for _ in range(3):
        await sessions.get_or_create_session("bert", "agent")


@requirement("R35.4", "R33.5")
async def test_the_tenants_quota_holds_at_once_also_for_files_that_are_open(
    tenant_core: Core, chat_in: ChatIn
) -> None:
    def write(name: str, size: int) -> str:
        args = {"file_path": f"/files/{name}", "content": "x" * size}
        return f"!tool write_file {json.dumps(args)}"

    chat = await chat_in(tenant_core)
    await chat.ask(write("one", 500))
    await settle(tenant_core, workspace_quota=1000)
    events = await chat.ask(f"{write('two', 600)}\n{write('three', 400)}")
    assert [status for _, status in results_of(events)] == ["error", "success"]
    assert sorted(await chat.files()) == ["one", "three"]
    assert tenant_core.workspaces.quota("anna") == 1000
    assert tenant_core.workspaces.quota("bert") == tenant_core.settings.workspace_quota
