"""Events become turns: the same whenever and however often they arrive."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dataagent_client import (
    ActionRequest,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HistoryMessage,
    HITLRequestEvent,
    MessageInfo,
    Received,
    TextEvent,
    ThinkingEvent,
    ThreadHistory,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_server_demo.conversation import (
    ApprovalPart,
    PlanPart,
    TextPart,
    ThinkingPart,
    ToolPart,
    Turn,
    fold,
    from_history,
    mark_decided,
)

ACTION = ActionRequest("write_file", {"file_path": "/a"}, "Writes.", "r1")
CALL = ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id="c1")
RESULT = ToolResultEvent(tool_call_id="c1", tool_name="ls", result="a.txt")
REQUEST = HITLRequestEvent(request_id="r1", action=ACTION, allowed=("approve", "reject"))
DONE = DoneEvent()
EVENTS = [
    TextEvent(content="one "),
    TextEvent(content="two", is_final=True),
    TextEvent(content="aside", agent="sql"),
    ThinkingEvent(content="hm"),
    CALL,
    RESULT,
    REQUEST,
    TodoUpdateEvent(todos=[{"content": "look", "status": "pending"}]),
    TodoUpdateEvent(todos=[{"content": "look", "status": "completed"}]),
    FileOperationEvent(operation="read", file_path="/a"),
    ArtifactEvent(artifact_id="t", kind="table", title="T", url="/t"),
    ErrorEvent(error="no"),
]
Event = TextEvent | ThinkingEvent | ToolCallEvent | ToolResultEvent | HITLRequestEvent | DoneEvent


def heard(*events: Event | object, turn: Turn | None = None) -> Turn:
    turn = turn or Turn("Which?", "run")
    for seq, event in enumerate(events, turn.last_seq + 1):
        # an event
        turn = fold(turn, Received(seq, "run", event))  # pyright: ignore[reportArgumentType]
    return turn


def test_words_that_go_on_are_one_part_and_a_new_message_is_another() -> None:
    turn = heard(
        TextEvent(content="one "),
        TextEvent(content="two", is_final=True),
        TextEvent(content="", is_final=True),
        TextEvent(content="three"),
        ThinkingEvent(content="h"),
        ThinkingEvent(content="m"),
        TextEvent(content="aside", agent="sql"),
    )
    assert turn.parts == (
        TextPart("one two", None, True),
        TextPart("three"),
        ThinkingPart("hm"),
        TextPart("aside", "sql"),
    )


def test_a_result_stands_where_its_call_stands() -> None:
    other = ToolCallEvent(tool_name="glob", tool_args={}, tool_call_id="c2")
    turn = heard(CALL, other, RESULT)
    assert turn.parts == (
        ToolPart("c1", "ls", {"path": "/"}, "success", "a.txt"),
        ToolPart("c2", "glob", {}),
    )
    assert heard(DONE, turn=turn).parts[1] == ToolPart("c2", "glob", {}, "error")
    assert heard(RESULT).parts == (ToolPart("c1", "ls", {}, "success", "a.txt"),)


def test_a_request_waits_until_it_is_decided_or_the_run_goes_on() -> None:
    turn = heard(CALL, REQUEST, REQUEST)
    [waiting] = turn.waiting
    assert (waiting.request_id, waiting.allowed) == ("r1", ("approve", "reject"))
    assert mark_decided(turn, {"r1"}).waiting == ()
    assert mark_decided(turn, {"r2"}) == turn
    assert heard(RESULT, turn=turn).waiting == ()
    ended = heard(DONE, turn=turn)
    assert (ended.waiting, ended.is_running, ended.end) == ((), False, DONE)


def test_a_question_of_one_call_waits_while_other_calls_go_on() -> None:
    asking = ToolCallEvent(tool_name="mall__order", tool_args={}, tool_call_id="c2")
    question = ActionRequest("mall__order", {}, "How many?", "ask-1")
    asked = HITLRequestEvent(request_id="ask-1", action=question, allowed=("edit", "reject"))
    turn = heard(CALL, asking, asked, RESULT, TextEvent(content="aside", agent="sql"))
    assert [each.request_id for each in turn.waiting] == ["ask-1"]
    assert mark_decided(turn, {"ask-1"}).waiting == ()
    ordered = ToolResultEvent(tool_call_id="c2", tool_name="mall__order", result="ok")
    assert heard(ordered, turn=turn).waiting == ()
    assert [part for part in heard(DONE, turn=turn).parts if isinstance(part, ApprovalPart)] == [
        ApprovalPart("ask-1", question, ("edit", "reject"), is_open=False)
    ]


def test_the_plan_stands_once_as_it_is_now() -> None:
    [part, _] = heard(
        TodoUpdateEvent(todos=[{"content": "look"}]),
        TextEvent(content="a"),
        TodoUpdateEvent(todos=[{"content": "found"}]),
    ).parts
    assert part == PlanPart(({"content": "found"},))


@given(st.lists(st.sampled_from(EVENTS), max_size=12), st.data())
def test_events_that_come_twice_change_nothing(events: list[Any], data: st.DataObject) -> None:
    items = [Received(seq, "run", event) for seq, event in enumerate([*events, DONE], 1)]
    whole = Turn("Which?", "run")
    for item in items:
        whole = fold(whole, item)
    again = Turn("Which?", "run")
    at = 0
    while at < len(items):  # a reader that goes back now and then, as far as it likes
        again = fold(again, items[at])
        if data.draw(st.integers(0, 4)) == 0:
            at = data.draw(st.integers(0, at))
            again = fold(again, items[at])
        at = again.last_seq
    assert again == whole
    assert not whole.is_running
    assert not any(isinstance(part, ToolPart) and part.state == "running" for part in whole.parts)
    assert not any(isinstance(part, ApprovalPart) and part.is_open for part in whole.parts)


def message(
    role: str, content: str, status: str = "complete", run_id: str | None = "run"
) -> MessageInfo:
    moment = datetime.now(UTC)
    return MessageInfo(
        message_id="m",
        session_id="s",
        role=role,
        content=content,
        status=status,
        created_at=moment,
        run_id=run_id,
    )


def test_a_history_becomes_the_turns_that_were_seen_live() -> None:
    live = heard(CALL, RESULT, TextEvent(content="found"), DONE)
    items = [
        Received(seq, "run", event)
        for seq, event in enumerate([CALL, RESULT, TextEvent(content="found"), DONE], 1)
    ]
    history = ThreadHistory(
        (
            HistoryMessage(message("user", "Which?"), ()),
            HistoryMessage(message("assistant", "found"), tuple(items)),
        ),
        2,
        4,
    )
    [turn] = from_history(history)
    assert (turn.question, turn.run_id, turn.last_seq, turn.end) == ("Which?", "run", 4, live.end)
    assert [type(part) for part in turn.parts] == [type(part) for part in live.parts]
    assert not turn.is_running


def test_an_answer_whose_events_are_gone_has_its_text_and_one_under_way_runs() -> None:
    history = ThreadHistory(
        (
            HistoryMessage(message("assistant", "from before"), ()),
            HistoryMessage(message("user", "one"), ()),
            HistoryMessage(message("assistant", "kept"), ()),
            HistoryMessage(message("user", "two"), ()),
            HistoryMessage(message("assistant", "", "running", "r2"), ()),
        ),
        5,
        9,
    )
    before, first, second = from_history(history)
    assert (before.question, before.parts) == ("", (TextPart("from before"),))
    assert (first.question, first.parts, first.is_running) == ("one", (TextPart("kept"),), False)
    assert (second.question, second.run_id, second.is_running) == ("two", "r2", True)
