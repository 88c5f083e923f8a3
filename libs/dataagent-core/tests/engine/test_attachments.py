"""A turn's files reach the model through the whole agent, also after the turn died."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage

from dataagent_core.engine import AgentExecutor
from dataagent_core.identity import RunContext

Listening = Callable[..., Any]  # the class `ListeningModel` of conftest.py
FILES = [{"file_id": "f1", "filename": "a.csv", "size": 8, "path": "/uploads/f1.csv"}]


async def test_the_model_is_told_of_files_and_the_users_words_stay_as_they_are(
    executor_of: Callable[..., AgentExecutor], listening: Listening
) -> None:
    model = listening(["one", "two"])
    executor = executor_of(model=model)
    context = RunContext("u", "s", "r", "agent")
    async for _ in executor.execute("look", "s", context, files=FILES):
        pass
    assert '"file_id": "f1"' in model.prompt
    asked = [m for m in model.heard[-1] if isinstance(m, HumanMessage)]
    assert [m.text for m in asked] == ["look"]
    async for _ in executor.execute("and now?", "s", context):
        pass
    assert '"file_id": "f1"' in model.prompt


async def test_a_turn_that_died_leaves_its_files_in_the_thread(
    executor_of: Callable[..., AgentExecutor], listening: Listening
) -> None:
    model = listening(["one"])
    executor = executor_of(model=model)
    await executor.adopt("look", "I beg", "s", files=FILES)
    async for _ in executor.execute("again", "s", RunContext("u", "s", "r", "agent")):
        pass
    assert '"file_id": "f1"' in model.prompt
