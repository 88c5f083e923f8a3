"""Translates what LangGraph streams into events. The one place that knows its shapes; no I/O.

`Translator` holds the state of a turn: unfinished text (for the repair after a cancel), interrupts
(sub-agents report theirs twice), and the tokens used. Beside it, exceptions are translated into
error events, whose detail goes to the log alone, and LangGraph's interrupts into approval requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Interrupt

from dataagent_core.agents.routing import hand_over_note
from dataagent_core.agents.types import SUPERVISOR
from dataagent_core.engine.graph import Part
from dataagent_core.errors import DataAgentError
from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    ErrorEvent,
    FileOperationEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    ToolStatus,
)
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType
from dataagent_core.models.failures import translate_error
from dataagent_core.models.token_stream import ModelText

logger = logging.getLogger(__name__)


def error_event(error: BaseException) -> ErrorEvent:
    """The event for a turn that failed."""
    if isinstance(error, Exception):
        error = translate_error(error) or error
    match error:
        case DataAgentError():
            logger.warning("turn failed: %s: %s", error.code, error.message)
            return ErrorEvent(
                error=error.message, error_code=error.code, recoverable=error.recoverable
            )
        case TimeoutError():
            logger.warning("turn timed out")
            return ErrorEvent(
                error="The turn took longer than allowed and was stopped.",
                error_code="run_timeout",
                recoverable=True,
            )
        case OSError():
            logger.warning("turn failed: a connection or a file is unavailable", exc_info=error)
            return ErrorEvent(
                error="A connection or a file failed while the agent worked. Try again.",
                error_code="connection_lost",
                recoverable=True,
            )
        case GraphRecursionError():
            logger.warning("turn reached its step limit")
            return ErrorEvent(
                error="The agent reached its step limit without finishing. Try a smaller task.",
                error_code="step_limit",
                recoverable=True,
            )
        case _:
            logger.error("turn failed", exc_info=error)
            return ErrorEvent(
                error="Something went wrong inside; the log has the details.",
                error_code="internal",
                recoverable=False,
            )


JsonObject = dict[str, Any]


def request_of(interrupt: Interrupt) -> ActionRequest:
    """The request to a user. Other interrupts than tool approvals show their value."""
    value = _object(interrupt.value)
    if value.get("type") != "tool_approval":
        return ActionRequest("input", {"value": interrupt.value}, "The agent asks.", interrupt.id)
    return ActionRequest(
        name=value["name"],
        args=value["args"],
        description=value.get("description", ""),
        request_id=interrupt.id,
        args_schema=value.get("args_schema") or _args_schema(interrupt),
        diff=value.get("diff"),
    )


def allowed_decisions(interrupt: Interrupt) -> tuple[DecisionType, ...]:
    """The decisions that the interrupt's schema names; all if it names none."""
    mapping = _object(_object(_schema(interrupt).get("discriminator")).get("mapping"))
    named: tuple[DecisionType, ...] = tuple(kind for kind in ALL_DECISIONS if kind in mapping)
    return named or ALL_DECISIONS


def resume_value(decision: Decision) -> JsonObject:
    """The decision in the form LangChain's middleware expects."""
    return decision.to_dict()


def _schema(interrupt: Interrupt) -> JsonObject:
    return _object(interrupt.response_schema)


def _args_schema(interrupt: Interrupt) -> JsonObject | None:
    """The JSON schema of the tool's arguments, for those who edit them, or None."""
    definitions = _object(_schema(interrupt).get("$defs"))
    edited = _object(definitions.get("EditedAction"))
    arguments = _object(_object(edited.get("properties")).get("args"))
    reference = str(arguments.get("$ref", ""))
    if reference.startswith("#/$defs/"):
        own = _object(definitions[reference.removeprefix("#/$defs/")])
        return {**own, **_shared(definitions)}
    return arguments or None


def _shared(definitions: JsonObject) -> JsonObject:
    """Definitions the arguments may refer to, without those of the decision itself."""
    own = {
        name: schema for name, schema in definitions.items() if not name.endswith(_DECISION_PARTS)
    }
    return {"$defs": own} if len(own) > 1 else {}


def _object(value: Any) -> JsonObject:
    """The value if it is a JSON object, else an empty one."""
    # JSON
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


_DECISION_PARTS = ("Decision", "EditedAction")


_MODEL = "model"
_ROUTE = "route"
THINKING_TOOLS = {"think_tool": "reflection", _ROUTE: "task_description"}
_STATUSES: dict[str, ToolStatus] = {
    "success": "success",
    "error": "error",
    "timeout": "timeout",
    "denied": "denied",
}


class Translator:
    """Translates the parts of one turn, in order.

    `depth` is the number of graphs around the main agent: in a team it is one level down, and what
    the level above repeats of it is left out.
    """

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self.interrupts: dict[str, Interrupt] = {}
        self.usage: dict[str, int] = {}
        self.partial_id: str | None = None
        self._partial: list[str] = []
        self._hidden_calls: set[str] = set()
        self._open_text: set[tuple[str, ...]] = set()

    def feed(self, part: Part) -> Iterator[AnyEvent]:
        """The events of one part."""
        ns: tuple[str, ...] = part["ns"][self._depth :]
        is_above = len(part["ns"]) < self._depth
        match part["type"]:
            case "updates":
                yield from self._updates(ns, part["data"], is_above=is_above)
            case "custom" if isinstance(part["data"], ModelText):
                yield from self._text(ns, part["data"])
            case "custom":
                yield from _custom(part["data"])
            case _:
                return

    @property
    def partial_text(self) -> str:
        """The main agent's text of a message that is not complete."""
        return "".join(self._partial)

    def resume_text(self, message_id: str, text: str) -> None:
        """Continue text of an earlier attempt."""
        self.partial_id, self._partial = message_id, [text]

    def take_interrupts(self) -> list[Interrupt]:
        """The interrupts since the last call."""
        taken = list(self.interrupts.values())
        self.interrupts.clear()
        return taken

    def _text(self, ns: tuple[str, ...], piece: ModelText) -> Iterator[AnyEvent]:
        if piece.thinking:
            yield ThinkingEvent(content=piece.thinking, agent=piece.agent)
        if not piece.text:
            return
        self._open_text.add(ns)
        if not ns:
            if piece.message_id != self.partial_id:
                self.partial_id, self._partial = piece.message_id, []
            self._partial.append(piece.text)
        yield TextEvent(content=piece.text, agent=piece.agent)

    def _updates(
        self, ns: tuple[str, ...], updates: dict[str, Any], *, is_above: bool
    ) -> Iterator[AnyEvent]:
        metadata: Any = updates.get("__metadata__")
        if metadata and metadata.get("cached"):
            return
        for node, update in updates.items():
            if node == "__interrupt__":
                self.interrupts.update({item.id: item for item in update})
            elif not is_above:
                # state of any shape
                listed = cast("list[object]", update) if isinstance(update, list) else [update]
                for each in listed:
                    if isinstance(each, dict):
                        yield from self._update(ns, node, cast("dict[str, Any]", each))

    def _update(self, ns: tuple[str, ...], node: str, update: dict[str, Any]) -> Iterator[AnyEvent]:
        messages = update.get("messages")
        # state of any shape
        for message in cast("list[object]", messages) if isinstance(messages, list) else ():
            if isinstance(message, AIMessage):
                yield from self._message_finished(ns, message, is_new=node == _MODEL)
            elif isinstance(message, ToolMessage):
                yield from self._result(message)
        if isinstance(update.get("todos"), list):
            yield TodoUpdateEvent(todos=[dict(todo) for todo in update["todos"]])

    def _message_finished(
        self, ns: tuple[str, ...], message: AIMessage, *, is_new: bool
    ) -> Iterator[AnyEvent]:
        """A model's message is complete: mark its text as final, announce its calls."""
        agent = message.name if ns else None
        if ns in self._open_text:
            self._open_text.discard(ns)
            yield TextEvent(content="", is_final=True, agent=agent)
        elif is_new and message.text:  # a model that does not stream
            yield TextEvent(content=message.text, is_final=True, agent=agent)
        if not ns:
            self.partial_id, self._partial = None, []
        self._count(message)
        for call in message.tool_calls:
            yield self._call(call, agent, can_route=message.name == SUPERVISOR)

    def _result(self, message: ToolMessage) -> Iterator[AnyEvent]:
        if message.tool_call_id not in self._hidden_calls:
            yield ToolResultEvent(
                tool_call_id=message.tool_call_id,
                tool_name=message.name or "",
                # text or content blocks
                result=message.content,  # pyright: ignore[reportUnknownMemberType]
                status=_status(message),
            )

    def _call(self, call: ToolCall, agent: str | None, *, can_route: bool) -> AnyEvent:
        name, args, call_id = call["name"], call["args"], call["id"] or ""
        if name not in THINKING_TOOLS or (name == _ROUTE and not can_route):
            return ToolCallEvent(tool_name=name, tool_args=args, tool_call_id=call_id, agent=agent)
        self._hidden_calls.add(call_id)
        return ThinkingEvent(content=_thought(name, args), agent=agent)

    def _count(self, message: AIMessage) -> None:
        if message.usage_metadata:
            for name in ("input_tokens", "output_tokens", "total_tokens"):
                self.usage[name] = self.usage.get(name, 0) + message.usage_metadata[name]


def _thought(name: str, args: dict[str, Any]) -> str:
    """The text of a call that is shown as thinking."""
    text = str(args.get(THINKING_TOOLS[name], ""))
    return hand_over_note(str(args.get("agent_name", "")), text) if name == _ROUTE else text


def _status(message: ToolMessage) -> ToolStatus:
    """The status; `additional_kwargs["status"]` distinguishes timeouts and refusals from errors."""
    # provider-specific
    extra: Any = message.additional_kwargs  # pyright: ignore[reportUnknownMemberType]
    return _STATUSES.get(str(extra.get("status", message.status)), "error")


def _custom(data: Any) -> Iterator[AnyEvent]:
    """Events that our own middleware and tools report through the stream writer."""
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if "file_operation" in fields:
        yield FileOperationEvent(**fields["file_operation"])
    if "artifact" in fields:
        yield ArtifactEvent(**fields["artifact"])
    if "tool_progress" in fields:
        yield ThinkingEvent(content=f"{fields['tool_progress']}\n")
