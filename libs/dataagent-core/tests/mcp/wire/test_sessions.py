"""A session over each transport and in each era: what is listed, called, told and asked."""

from __future__ import annotations

from dataagent_core.mcp.types import Elicitation, ElicitationAnswer, Progress
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep
from ..running import Party, text_of


@requirement("M1.1")
async def test_tools_are_listed_and_called_over_each_transport_in_each_era(
    steady: Party, keep: Keep, era: str
) -> None:
    connection = await keep(steady.spec()).ready()
    assert {"echo", "slow", "huge"} <= {tool.name for tool in connection.tools}
    [echo] = [tool for tool in connection.tools if tool.name == "echo"]
    assert echo.description == "Says it again."
    assert echo.input_schema["required"] == ["text"]
    result = await connection.call("echo", {"text": "hello"}, timeout_seconds=WAIT_SECONDS)
    assert (text_of(result), result.structured, result.is_error) == (
        "hello",
        {"result": "hello"},
        False,
    )
    status = connection.status
    assert status.protocol_version == ("2026-07-28" if era == "modern" else "2025-11-25")
    assert status.server_info == {"name": "own", "version": "1.2.3"}
    assert status.status == "connected"


async def test_progress_reaches_the_caller(steady: Party, keep: Keep) -> None:
    connection = await keep(steady.spec()).ready()
    seen: list[Progress] = []
    await connection.call("steps", {}, timeout_seconds=WAIT_SECONDS, on_progress=seen.append)
    await until(lambda: len(seen) == 3)
    assert [(one.progress, one.total, one.message) for one in seen][-1] == (3.0, 3.0, "step 3")


async def test_a_question_in_the_middle_of_a_call_reaches_its_caller(
    steady: Party, keep: Keep
) -> None:
    connection = await keep(steady.spec()).ready()
    asked: list[Elicitation] = []

    async def answer(question: Elicitation) -> ElicitationAnswer:
        asked.append(question)
        return ElicitationAnswer("accept", {"colour": "green"})

    result = await connection.call("colour", {}, timeout_seconds=WAIT_SECONDS, on_elicit=answer)
    assert text_of(result) == "accept green"
    [question] = asked
    assert (question.message, question.server_name) == ("Which colour?", "own")
    assert "colour" in question.schema["properties"]


async def test_a_question_without_a_caller_is_declined(steady: Party, keep: Keep) -> None:
    connection = await keep(steady.spec()).ready()
    result = await connection.call("colour", {}, timeout_seconds=WAIT_SECONDS)
    assert text_of(result) == "decline None"


async def test_new_tools_are_listed_after_a_notification(steady: Party, keep: Keep) -> None:
    """F6: the owner refreshes, and the catalogue hears of it before callers see it."""
    kept = keep(steady.spec())
    connection = await kept.ready()
    await connection.call("learn", {"name": "dance"}, timeout_seconds=WAIT_SECONDS)
    await until(lambda: "dance" in {tool.name for tool in connection.tools})
    assert "dance" in {tool.name for tool in kept.lists[-1]}
    assert text_of(await connection.call("dance", {}, timeout_seconds=WAIT_SECONDS)) == "dance"
