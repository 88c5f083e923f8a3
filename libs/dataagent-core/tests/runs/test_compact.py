"""Putting a conversation in short: what the model sees changes, what people see stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.engine import graph as lg
from dataagent_core.errors import SessionBusy, SessionNotFound
from dataagent_core.events import AnyEvent, DoneEvent, ErrorEvent, TextEvent
from dataagent_core.runs import RunOptions
from dataagent_core.runs.agents import agent_config
from tests.waiting import WAIT_SECONDS

from .conftest import Chat

LOOK = '!tool ls {"path": "/"}\n!echo looked'


async def compact(chat: Chat, keep: str = "") -> list[AnyEvent]:
    started = await chat.core.runs.compact(chat.session_id, owner=chat.owner, keep=keep)
    return await chat.events(started.run)


def text_of(events: list[AnyEvent]) -> str:
    return "".join(event.content for event in events if isinstance(event, TextEvent))


async def seen_by_model(chat: Chat) -> list[str]:
    """The messages a model would get now."""
    core = chat.core
    run = await chat.start("!echo last")
    await chat.events(run)
    config = agent_config(core.settings, run, core.agents.registry)
    graph, _ = core.factory.create_agent(config)
    bound = lg.bind(graph, core.checkpoints.saver())
    values = await lg.values(bound, lg.thread(chat.session_id, 100))
    seen = core.factory.summarization(config).visible_messages(
        values["messages"], values.get("_summarization_event")
    )
    return [str(message.text) for message in seen]


async def test_older_messages_are_summarised_and_the_history_tells_of_it(chat: Chat) -> None:
    await chat.ask("!echo the first answer")
    await chat.ask(LOOK)
    await chat.ask("!echo the third answer")
    events = await compact(chat, keep="the {braces}")
    said = text_of(events)
    assert said.startswith("6 earlier messages are summarised: about ")
    assert "- Answered: the first answer" in said
    assert "- Used: ls" in said
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert done.reason == "completed"
    assert done.token_usage is not None
    assert done.token_usage["input_tokens"] > 0
    seen = await seen_by_model(chat)
    assert seen[0].startswith("Here is a summary of the conversation to date:")
    assert seen[1:] == ["!echo the third answer", "the third answer", "!echo last", "last"]
    history = [message.content for message in await chat.history()]
    assert history[0] == "!echo the first answer"
    assert history[6] == "/compact the {braces}"
    assert history[7] == said


async def test_what_is_summarised_stays_so_after_a_restart(
    make_settings: Callable[..., Settings],
) -> None:
    async with open_core(make_settings()) as core:
        session = await core.sessions.create("anna", "agent")
        chat = Chat(core, session.session_id)
        for number in range(3):
            await chat.ask(f"!echo answer {number}")
        await compact(chat)
    async with open_core(make_settings()) as core:
        seen = await seen_by_model(Chat(core, session.session_id))
        assert seen[0].startswith("Here is a summary")
        assert "answer 0" in seen[0]
        assert seen[1] == "!echo answer 2"


async def test_a_second_summary_takes_in_the_first(chat: Chat) -> None:
    for number in range(2):
        await chat.ask(f"!echo answer {number}")
    assert text_of(await compact(chat)).startswith("2 earlier messages")
    await chat.ask("!echo answer 2")
    assert text_of(await compact(chat)).startswith("2 earlier messages")
    seen = await seen_by_model(chat)
    assert seen[1:] == ["!echo answer 2", "answer 2", "!echo last", "last"]
    assert "answer 0" in seen[0]


async def test_one_turn_is_not_summarised(chat: Chat) -> None:
    await chat.ask("!echo only")
    events = await compact(chat)
    assert text_of(events).startswith("There is nothing to summarise")
    assert len(await seen_by_model(chat)) == 4


async def test_it_waits_for_no_other_run(chat: Chat) -> None:
    run = await chat.start("!slow 500 20")
    await chat.seen(run, "text")
    with pytest.raises(SessionBusy):
        await compact(chat)
    await chat.core.runs.cancel(run.run_id, owner=chat.owner)
    with pytest.raises(SessionNotFound):
        await chat.core.runs.compact(chat.session_id, owner="bob")


async def test_a_model_that_is_not_there_leaves_the_thread_as_it_was(chat: Chat) -> None:
    await chat.ask("!echo one")
    await chat.ask("!echo two")
    options = RunOptions(model="anthropic:none")
    started = await chat.core.runs.compact(chat.session_id, owner=chat.owner, options=options)
    events = await chat.events(started.run)
    assert isinstance(events[0], ErrorEvent)
    assert len(await seen_by_model(chat)) == 6


async def test_the_supervisors_thread_is_summarised_too(core: Core) -> None:
    session = await core.sessions.create("anna", "supervisor")
    chat = Chat(core, session.session_id)
    for number in range(3):
        async with asyncio.timeout(WAIT_SECONDS):
            await chat.ask(f"!echo answer {number}")
    assert "earlier messages are summarised" in text_of(await compact(chat))
    assert (await seen_by_model(chat))[0].startswith("Here is a summary")


async def test_another_model_answers_one_run(chat: Chat) -> None:
    options = RunOptions(model="offline")
    started = await chat.core.runs.start(
        chat.session_id, "!echo hi", owner=chat.owner, options=options
    )
    assert text_of(await chat.events(started.run)) != "hi"
    assert text_of(await chat.ask("!echo hi")) == "hi"
