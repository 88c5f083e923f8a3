"""A turn's files reach the model through the whole agent, also after the turn died."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage

from dataagent_core.engine import AgentExecutor
from dataagent_core.identity import RunContext
from dataagent_core.models.messages import with_files
from tests.requirements import requirement

Listening = Callable[..., Any]  # the class `ListeningModel` of conftest.py
FILES = [{"file_id": "f1", "filename": "a.csv", "size": 8, "path": "/uploads/f1.csv"}]
TOLD = with_files("look", FILES, message_id="any").text


def asked_of(model: Any) -> list[str]:
    """What the model got from the user, last time it was asked."""
    return [message.text for message in model.heard[-1] if isinstance(message, HumanMessage)]


@requirement("S5.2")
async def test_the_model_is_told_of_files_in_the_users_message(
    executor_of: Callable[..., AgentExecutor], listening: Listening
) -> None:
    model = listening(["one", "two"])
    executor = executor_of(model=model)
    context = RunContext("u", "s", "r", "agent")
    async for _ in executor.execute("look", "s", context, files=FILES):
        pass
    assert asked_of(model) == [TOLD]
    assert '"file_id": "f1"' in TOLD
    async for _ in executor.execute("and now?", "s", context):
        pass
    assert asked_of(model) == [TOLD, "and now?"]


async def test_a_turn_that_died_leaves_its_files_in_the_thread(
    executor_of: Callable[..., AgentExecutor], listening: Listening
) -> None:
    model = listening(["one"])
    executor = executor_of(model=model)
    await executor.record_interrupted_turn("look", "I beg", "s", files=FILES)
    async for _ in executor.execute("again", "s", RunContext("u", "s", "r", "agent")):
        pass
    assert asked_of(model) == [TOLD, "again"]
