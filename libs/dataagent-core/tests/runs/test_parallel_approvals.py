"""Ten approvals at once in five sub-agents, over restarts: each as decided, nothing twice."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import ANY

import pytest
from langchain_core.tools import BaseTool, tool

from dataagent_core.agents import SUPERVISOR
from dataagent_core.app import assembly
from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, SubAgentConfig
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    HITLRequestEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import Decision, DecisionType, EditedAction
from dataagent_core.runs import Run
from dataagent_core.runs.agents import agent_config
from tests.requirements import requirement

DONE = DoneEvent(token_usage=ANY, timestamp=ANY)
AGENTS = 5
COMMANDS = [f"{agent}.{call}" for agent in range(AGENTS) for call in range(2)]
AGAIN = ["0.again", "3.again"]  # asked for when the first answers have come

Opened = Callable[..., Any]
ChatIn = Callable[..., Awaitable[Any]]


class Work:
    """Tools that note each time they run, on the disk: `shell` asks first, `tally` does not."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def ran(self) -> Counter[str]:
        return Counter(self._log.read_text().split() if self._log.exists() else ())

    def tools(self) -> list[BaseTool]:
        def note(what: str) -> str:
            with self._log.open("a") as log:
                log.write(f"{what}\n")
            return f"ran {what}"

        @tool
        async def shell(command: str) -> str:
            """Do something that is asked for first."""
            return note(f"shell:{command}")

        @tool
        async def tally(name: str) -> str:
            """Do something that is not."""
            return note(f"tally:{name}")

        return [shell, tally]


def shell(command: str) -> dict[str, Any]:
    return {"name": "shell", "args": {"command": command}}


def tally(name: str) -> dict[str, Any]:
    return {"name": "tally", "args": {"name": name}}


def line(call: dict[str, Any]) -> str:
    return f"!tool {call['name']} {json.dumps(call['args'])}"


def script(agent: int) -> str:
    """What a sub-agent is told: one call, then two that are asked for beside one that is not."""
    at_once = [shell(f"{agent}.0"), tally(f"{agent}.beside"), shell(f"{agent}.1")]
    again = [line(shell(each)) for each in AGAIN if each.startswith(str(agent))]
    lines = [line(tally(f"{agent}.before")), f"!tools {json.dumps(at_once)}", *again]
    return "\n".join([*lines, f"!echo end of {agent}"])


def message() -> str:
    tasks: list[dict[str, Any]] = [
        {"name": "task", "args": {"subagent_type": f"helper{n}", "description": script(n)}}
        for n in range(AGENTS)
    ]
    return f"!tools {json.dumps([*tasks, tally('main')])}\n!echo all ended"


def decision(command: str, kind: str) -> Decision:
    if kind == "edit":
        return Decision("edit", edited_action=EditedAction(**shell(f"{command}-edited")))
    told = f"instead of {command}" if kind == "respond" else None
    return Decision(cast("DecisionType", kind), told)


def expected(command: str, kind: str) -> str:
    """What the sub-agent reads as the call's result."""
    if kind == "respond":
        return f"instead of {command}"
    return f"ran shell:{command}-edited" if kind == "edit" else f"ran shell:{command}"


def kinds(seed: int) -> dict[str, str]:
    """A decision for each call, all three kinds among them, in an order of the seed's."""
    order = random.Random(seed)
    chosen = [("approve", "edit", "respond")[n % 3] for n in range(len(COMMANDS) + len(AGAIN))]
    order.shuffle(chosen)
    commands = [*COMMANDS, *AGAIN]
    order.shuffle(commands)
    return dict(zip(commands, chosen, strict=True))


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "ran.txt")


@pytest.fixture
def opened(
    make_settings: Callable[..., Settings],
    chat_in: ChatIn,
    work: Work,
    monkeypatch: pytest.MonkeyPatch,
) -> Opened:
    """A chat in a core of its own over the same home: entering it again is a restart.

    The agent has its helpers from the moment the core opens, when a waiting run goes on.
    """
    tools = work.tools()
    helpers = [SubAgentConfig(f"helper{n}", "d", "p", tools=tuple(tools)) for n in range(AGENTS)]

    def with_helpers(*args: Any) -> AgentConfig:
        return replace(agent_config(*args), subagents=helpers, extra_tools=tools)

    monkeypatch.setattr(assembly, "agent_config", with_helpers)

    @asynccontextmanager
    async def enter(session_id: str | None = None) -> AsyncGenerator[Any]:
        async with open_core(make_settings(), grace_seconds=2) as core:
            yield await chat_in(core, session_id)

    return enter


def answers_of(events: list[AnyEvent]) -> dict[str, list[str]]:
    """What each `shell` call was answered with, by the command the model asked for."""
    asked = {
        e.tool_call_id: e.tool_args["command"]
        for e in events
        if isinstance(e, ToolCallEvent) and e.tool_name == "shell"
    }
    found: dict[str, list[str]] = {command: [] for command in asked.values()}
    for event in events:
        if isinstance(event, ToolResultEvent) and event.tool_call_id in asked:
            found[asked[event.tool_call_id]].append(event.result)
    return found


async def waiting(chat: Any, run: Run, count: int) -> dict[str, str]:
    """The run's open requests by command, once it has asked for so many in all."""
    await chat.seen(run, "hitl_request", times=count)
    view = await chat.core.runs.get(run.run_id, owner="anna")
    return {approval.action.args["command"]: approval.request_id for approval in view.pending}


@requirement("G3", "G11", "R3.3")
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_each_call_ends_as_it_was_decided_and_none_runs_twice(
    opened: Opened, work: Work, seed: int
) -> None:
    chosen, order = kinds(seed), random.Random(seed)
    first = [*COMMANDS]
    order.shuffle(first)

    async with opened() as chat:
        run = await chat.start(message())
        pending = await waiting(chat, run, len(COMMANDS))
        assert sorted(pending) == COMMANDS
        for command in first[:6]:
            await chat.decide(run, pending[command], decision(command, chosen[command]))
    assert not any(name.startswith("shell") for name in work.ran())

    async with opened(chat.session_id) as chat:
        pending = await waiting(chat, run, len(COMMANDS))
        assert sorted(pending) == sorted(first[6:])
        for command in first[6:]:
            await chat.decide(run, pending[command], decision(command, chosen[command]))
        pending = await waiting(chat, run, len(COMMANDS) + len(AGAIN))
        assert sorted(pending) == AGAIN
        await chat.decide(run, pending[AGAIN[1]], decision(AGAIN[1], chosen[AGAIN[1]]))

    async with opened(chat.session_id) as chat:
        pending = await waiting(chat, run, len(COMMANDS) + len(AGAIN))
        await chat.decide(run, pending[AGAIN[0]], decision(AGAIN[0], chosen[AGAIN[0]]))
        events = await chat.events(run)

    assert events[-1] == DONE
    check(events, work, chosen)


def check(events: list[AnyEvent], work: Work, chosen: dict[str, str]) -> None:
    """Every call has the one result that was decided, and ran at most once."""
    answers = answers_of(events)
    assert sorted(answers) == sorted(chosen)
    for command, kind in chosen.items():
        (answer,) = answers[command]
        assert expected(command, kind) in answer
    edited = {command: "-edited" if kind == "edit" else "" for command, kind in chosen.items()}
    ran = {f"shell:{c}{edited[c]}" for c, kind in chosen.items() if kind != "respond"}
    tallied = {f"tally:{n}.{when}" for n in range(AGENTS) for when in ("before", "beside")}
    assert work.ran() == Counter([*ran, *tallied, "tally:main"])
    calls = Counter(e.tool_call_id for e in events if isinstance(e, ToolCallEvent))
    results = Counter(e.tool_call_id for e in events if isinstance(e, ToolResultEvent))
    assert calls == results
    assert set(calls.values()) == {1}
    requests = [e.request_id for e in events if isinstance(e, HITLRequestEvent)]
    assert len(requests) == len(set(requests)) == len(chosen)
    told_apart(events)


def told_apart(events: list[AnyEvent]) -> None:
    """Text and calls of each sub-agent carry its name, and its own only."""
    for n in range(AGENTS):
        own = [e for e in events if isinstance(e, TextEvent) and e.agent == f"helper{n}"]
        assert "".join(e.content for e in own) == f"end of {n}"
        calls = [e for e in events if isinstance(e, ToolCallEvent) and e.agent == f"helper{n}"]
        named = [e.tool_args.get("command") or e.tool_args["name"] for e in calls]
        assert named
        assert all(name.startswith(f"{n}.") for name in named)
    main = [e for e in events if isinstance(e, TextEvent) and e.agent is None]
    assert "".join(e.content for e in main) == "all ended"


@requirement("R3.4", "G11", "P7")
async def test_one_rejection_after_a_restart_ends_all_and_none_of_the_calls_is_made(
    opened: Opened, work: Work
) -> None:
    async with opened() as chat:
        run = await chat.start(message())
        pending = await waiting(chat, run, len(COMMANDS))
        for command in COMMANDS[:9]:
            await chat.decide(run, pending[command], decision(command, "approve"))
    async with opened(chat.session_id) as chat:
        await chat.decide(run, pending[COMMANDS[9]], Decision("reject", "no"))
        events = await chat.events(run)
        assert events[-1] == DoneEvent(
            token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY
        )
        assert not any(name.startswith("shell") for name in work.ran())
        assert set(work.ran().values()) == {1}
        assert (await chat.ask("!echo on"))[-1] == DONE


@requirement("G3", "G11")
async def test_the_same_holds_for_an_agent_the_supervisor_chose(
    make_settings: Callable[..., Settings], chat_in: ChatIn, work: Work
) -> None:
    """Through the registered agents: `general` and, with `task`, the others."""
    route = line({"name": "route", "args": {"agent_name": "general", "task_description": "t"}})
    names = ["a.txt", "b.txt", "c.txt", "d.txt"]

    def write(name: str) -> dict[str, Any]:
        return {"name": "write_file", "args": {"file_path": f"/files/{name}", "content": name}}

    def task(agent: str, *inner: str) -> dict[str, Any]:
        calls = f"!tools {json.dumps([write(name) for name in inner])}"
        return {"name": "task", "args": {"subagent_type": agent, "description": calls}}

    tasks = [task("sql", "a.txt", "b.txt"), task("research", "c.txt"), write("d.txt")]
    async with open_core(make_settings(), grace_seconds=2) as core:
        chat = await chat_in(core)
        run = await chat.start(
            f"{route}\n!tools {json.dumps(tasks)}\n!echo all ended", assistant_id=SUPERVISOR
        )
        requests = await chat.requests(run, times=4)
        by_name = {r.action.args["content"]: r.request_id for r in requests}
        assert sorted(by_name) == names
        await chat.decide(run, by_name["c.txt"], Decision("respond", "not that one"))
    async with open_core(make_settings(), grace_seconds=2) as core:
        chat = await chat_in(core, chat.session_id)
        edited = EditedAction("write_file", {"file_path": "/files/e.txt", "content": "e"})
        await chat.decide(run, by_name["d.txt"], Decision("edit", edited_action=edited))
        for name in ("b.txt", "a.txt"):
            await chat.decide(run, by_name[name], Decision("approve"))
        events = await chat.events(run)
        assert events[-1] == DONE
        assert await chat.files() == {"a.txt": "a.txt", "b.txt": "b.txt", "e.txt": "e"}
        assert (await chat.history())[1].content == "all ended"
    calls = Counter(e.tool_call_id for e in events if isinstance(e, ToolCallEvent))
    assert calls == Counter(e.tool_call_id for e in events if isinstance(e, ToolResultEvent))
    assert set(calls.values()) == {1}
