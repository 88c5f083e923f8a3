"""What was said in a conversation, with what was seen of it live. Parsing is pure."""

from __future__ import annotations

from dataclasses import dataclass

from dataagent_client.models import MessageInfo, parse_message
from dataagent_client.parsing import JsonDict, apply_parser
from dataagent_client.wire import Received, received_from


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message; an answer has its run's events."""

    message: MessageInfo
    events: tuple[Received, ...]


@dataclass(frozen=True, slots=True)
class ThreadHistory:
    """A page of messages; `total` is how many there are. Later events are after `last_seq`."""

    messages: tuple[HistoryMessage, ...]
    total: int
    last_seq: int


def parse_history(data: object) -> ThreadHistory:
    """A page of a conversation. Raises `ProtocolError` if it is none."""
    return apply_parser(_history, data, "history")


def _history(data: JsonDict) -> ThreadHistory:
    return ThreadHistory(
        tuple(_message(each) for each in data["messages"]),
        int(data["total"]),
        int(data["last_seq"]),
    )


def _message(data: JsonDict) -> HistoryMessage:
    found = (received_from(each) for each in data.get("events") or ())
    events = tuple(each for each in found if isinstance(each, Received))
    return HistoryMessage(parse_message(data), events)
