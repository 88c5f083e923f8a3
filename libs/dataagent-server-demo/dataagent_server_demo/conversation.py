"""A conversation as data: turns of a question and an answer made of parts, and decisions on calls.

`fold` adds one event to a turn; `from_history` makes the turns of a stored conversation. An event
that is in a turn already changes nothing, so a reader may start anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never

from dataagent_client import (
    ActionRequest,
    ArtifactEvent,
    Decision,
    DoneEvent,
    EditedAction,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    Received,
    TextEvent,
    ThinkingEvent,
    ThreadHistory,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)

ToolState = Literal["running", "success", "error", "timeout", "denied"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of an agent; `agent` is None for the one that answers."""

    content: str
    agent: str | None = None
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """The model's reasoning."""

    content: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A call and, when it has ended, its result."""

    call_id: str
    name: str
    args: dict[str, Any]  # the tool's own JSON
    state: ToolState = "running"
    result: Any = None  # text, or JSON of the tool


@dataclass(frozen=True, slots=True)
class ApprovalPart:
    """A call that waits for approval, or waited: then `is_open` is false."""

    request_id: str
    action: ActionRequest
    allowed: tuple[str, ...]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The agent's plan, as it is now."""

    todos: tuple[dict[str, Any], ...]  # JSON of the agent


Part = (
    TextPart
    | ThinkingPart
    | ToolPart
    | ApprovalPart
    | PlanPart
    | FileOperationEvent
    | ArtifactEvent
    | ErrorEvent
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, its answer up to `last_seq`, and its end if it has one.

    Where the events are no longer stored, `parts` is the answer's text alone.
    """

    question: str
    run_id: str | None = None
    parts: tuple[Part, ...] = ()
    last_seq: int = 0
    end: DoneEvent | None = None
    is_running: bool = True

    @property
    def waiting(self) -> tuple[ApprovalPart, ...]:
        """The calls that wait for a decision."""
        if not self.is_running:
            return ()
        return tuple(part for part in self.parts if isinstance(part, ApprovalPart) and part.is_open)


def mark_decided(turn: Turn, request_ids: Collection[str]) -> Turn:
    """The turn after decisions on these requests, before its run continues."""
    parts = (
        _close_request(part)
        if isinstance(part, ApprovalPart) and part.request_id in request_ids
        else part
        for part in turn.parts
    )
    return replace(turn, parts=tuple(parts))


def fold(turn: Turn, item: Received) -> Turn:
    """The turn after an event of its run."""
    if item.seq <= turn.last_seq:
        return turn
    turn = replace(turn, last_seq=item.seq)
    if isinstance(item.event, DoneEvent):
        return replace(turn, parts=_close_open_parts(turn.parts), end=item.event, is_running=False)
    parts = _with(turn.parts, item)
    if isinstance(item.event, HITLRequestEvent):
        return replace(turn, parts=parts)
    running = {
        part.name for part in parts if isinstance(part, ToolPart) and part.state == "running"
    }
    return replace(turn, parts=tuple(_resume_part(part, running) for part in parts))


def _with(parts: tuple[Part, ...], item: Received) -> tuple[Part, ...]:
    match item.event:
        case TextEvent() | ThinkingEvent() as event:
            return _with_words(parts, event)
        case ToolCallEvent() | ToolResultEvent() as event:
            return _with_call(parts, event)
        case HITLRequestEvent() as event:
            return _with_request(parts, event)
        case TodoUpdateEvent(todos=todos):
            return _with_plan(parts, PlanPart(tuple(todos)))
        case FileOperationEvent() | ArtifactEvent() | ErrorEvent() as event:
            return (*parts, event)
        case DoneEvent():
            return parts
        case _:
            assert_never(item.event)


def _with_words(parts: tuple[Part, ...], event: TextEvent | ThinkingEvent) -> tuple[Part, ...]:
    """Consecutive pieces of one agent's text or thinking are one part."""
    match parts, event:
        case (*before, TextPart(content, agent, False)), TextEvent() if agent == event.subagent:
            return (*before, TextPart(content + event.content, agent, event.is_final))
        case (*before, ThinkingPart(content, agent)), ThinkingEvent() if agent == event.subagent:
            return (*before, ThinkingPart(content + event.content, agent))
        case _, TextEvent():
            new = TextPart(event.content, event.subagent, event.is_final)
            return (*parts, new) if event.content else parts
        case _, ThinkingEvent():
            return (*parts, ThinkingPart(event.content, event.subagent))


def _with_call(parts: tuple[Part, ...], event: ToolCallEvent | ToolResultEvent) -> tuple[Part, ...]:
    """A result belongs to the part of its call."""
    if isinstance(event, ToolCallEvent):
        return (*parts, ToolPart(event.tool_call_id, event.tool_name, event.tool_args))
    ended = ToolPart(event.tool_call_id, event.tool_name, {}, event.status, event.result)
    for at in reversed(range(len(parts))):
        part = parts[at]
        if isinstance(part, ToolPart) and (part.call_id, part.state) == (ended.call_id, "running"):
            return (*parts[:at], replace(ended, args=part.args), *parts[at + 1 :])
    return (*parts, ended)


def _with_request(parts: tuple[Part, ...], event: HITLRequestEvent) -> tuple[Part, ...]:
    """A request that is sent again after a restart of the server is shown once."""
    known = {part.request_id for part in parts if isinstance(part, ApprovalPart)}
    if event.request_id in known:
        return parts
    return (*parts, ApprovalPart(event.request_id, event.action, event.allowed))


def _with_plan(parts: tuple[Part, ...], plan: PlanPart) -> tuple[Part, ...]:
    """An answer has one plan, where it was first made."""
    if any(isinstance(part, PlanPart) for part in parts):
        return tuple(plan if isinstance(part, PlanPart) else part for part in parts)
    return (*parts, plan)


def _resume_part(part: Part, running: Collection[str]) -> Part:
    """Close a request, as its run continues; a question of a running call stays open."""
    if isinstance(part, ApprovalPart) and part.action.is_question and part.action.name in running:
        return part
    return _close_request(part)


def _close_request(part: Part) -> Part:
    return replace(part, is_open=False) if isinstance(part, ApprovalPart) else part


def _close_open_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Close calls and requests that are still open when their run has ended."""
    return tuple(
        replace(part, state="error")
        if isinstance(part, ToolPart) and part.state == "running"
        else _close_request(part)
        for part in parts
    )


def from_history(history: ThreadHistory) -> tuple[Turn, ...]:
    """The turns of a stored conversation; the last may still be running."""
    turns: list[Turn] = []
    for item in history.messages:
        message = item.message
        if message.role == "user":
            turns.append(Turn(message.content, is_running=False))
            continue
        if not turns or turns[-1].parts or turns[-1].end is not None:
            turns.append(Turn("", is_running=False))
        turn = replace(turns[-1], run_id=message.run_id, is_running=message.status == "running")
        for event in item.events:
            turn = fold(turn, event)
        if not turn.parts and message.content:
            turn = replace(turn, parts=(TextPart(message.content),))
        turns[-1] = turn
    return tuple(turns)


class BadAnswer(ValueError):
    """A typed answer cannot be used; the message says why."""


def arguments_text(action: ActionRequest) -> str:
    """The arguments as JSON, to be edited."""
    return json.dumps(action.args, indent=2, ensure_ascii=False)


def edit_decision(action: ActionRequest, text: str) -> Decision:
    """Approval with these arguments; unchanged ones are a plain approval, except of a question.

    Raises:
        BadAnswer: the text is not a JSON object.
    """
    try:
        args: Any = json.loads(text)
    except ValueError as error:
        raise BadAnswer(f"参数不是 JSON：{error}") from error
    if not isinstance(args, dict):
        raise BadAnswer('参数应为 JSON 对象，例如 {"path": "/a.txt"}。')
    if args == action.args and not action.is_question:
        return Decision("approve")
    # JSON
    return Decision(
        "edit",
        edited_action=EditedAction(action.name, args),  # pyright: ignore[reportUnknownArgumentType]
    )


def respond_decision(text: str) -> Decision:
    """Not that call: the assistant continues with these words instead.

    Raises:
        BadAnswer: there are none.
    """
    if not text.strip():
        raise BadAnswer("请填写助手应该怎么做。")
    return Decision("respond", message=text.strip())
