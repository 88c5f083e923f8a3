"""Conversations as `client.conversations`: listed by title, with messages and their events.

A conversation's id is its session's; `thread_id` identifies the model's memory. The web app's chat
has other names for some events (`text_delta` for `text`), which are translated here; its events
have no timestamp.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from dataagent_client.errors import ProtocolError
from dataagent_client.event_stream import EventReader, EventSource, SseMessage
from dataagent_client.http import Backoff, Http, child_path
from dataagent_client.models import MessageInfo, Page, parse_message, parse_page
from dataagent_client.parsing import JsonDict, apply_parser, json_field, make_parser
from dataagent_client.wire import Frame, Received, UnknownFrame, received_from
from dataagent_protocol.events import DoneEvent


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


_EVENTS = {"text_delta": "text", "tool_call_start": "tool_call", "tool_call_result": "tool_result"}
_CALL = {"id": "tool_call_id", "name": "tool_name", "args": "tool_args", "output": "result"}
_FIELDS: dict[str, dict[str, str]] = {
    "text_delta": {"text": "content"},
    "tool_call_start": _CALL,
    "tool_call_result": _CALL,
    "error": {"message": "error"},
}


def web_frame(message: SseMessage) -> Frame:
    """One message of the stream.

    Raises:
        ProtocolError: it is not JSON, or not an object.
    """
    try:
        data = orjson.loads(message.data)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"The server sent something that is not JSON: {error}.") from error
    match data:
        case {"seq": int(), "run_id": str()}:
            # JSON
            return received_from(_flat(message.event, data))
        case dict():
            return UnknownFrame(message.event, None)
        case _:
            raise ProtocolError("The server sent a message that is not a JSON object.")


def _flat(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The event as programs have it."""
    fields = _FIELDS.get(name, {})
    own = {fields.get(key, key): value for key, value in data.items()}
    return {**own, "event_type": _EVENTS.get(name, name)}


_ALL = "conversations"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """A conversation."""

    conversation_id: str = json_field("id")
    thread_id: str
    title: str
    created_at: datetime
    updated_at: datetime


_conversation = make_parser(ConversationInfo, "conversation")


class ConversationCalls:
    """What the caller talked about."""

    def __init__(self, http: Http, backoff: Backoff) -> None:
        self._http = http
        self._backoff = backoff

    async def list(
        self, *, search: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[ConversationInfo]:
        """The caller's conversations, the last active first; with `search` those that say it."""
        params = {"search": search, "limit": limit, "offset": offset}
        found = await self._http.request("GET", _ALL, params=params, is_web=True)
        return parse_page(found, _conversation)

    async def create(self, *, title: str | None = None) -> ConversationInfo:
        """Begin one. Without a title it gets one from its first message."""
        made = await self._http.request("POST", _ALL, body={"title": title}, is_web=True)
        return _conversation(made)

    async def get(self, conversation_id: str) -> ConversationInfo:
        """One of them."""
        path = child_path(_ALL, conversation_id)
        return _conversation(await self._http.request("GET", path, is_web=True))

    async def rename(self, conversation_id: str, title: str) -> ConversationInfo:
        """Give it another title."""
        path = child_path(_ALL, conversation_id)
        body = {"title": title}
        return _conversation(await self._http.request("PATCH", path, body=body, is_web=True))

    async def delete(self, conversation_id: str) -> None:
        """Put it away and stop what runs in it; `restore` brings it back for some days."""
        await self._http.request("DELETE", child_path(_ALL, conversation_id), is_web=True)

    async def restore(self, conversation_id: str) -> ConversationInfo:
        """Restore a deleted conversation; nothing happens if it is not deleted."""
        path = f"{child_path(_ALL, conversation_id)}/restore"
        found = await self._http.request("POST", path, is_web=True, is_repeatable=True)
        return _conversation(found)

    async def history(
        self, thread_id: str, *, limit: int = 1000, offset: int | None = None
    ) -> ThreadHistory:
        """What was said, each answer with its run's events; without an `offset` the last page."""
        path = f"{child_path('threads', thread_id)}/history"
        params = {"limit": limit, "offset": offset}
        return parse_history(await self._http.request("GET", path, params=params, is_web=True))

    async def chat(
        self,
        thread_id: str,
        message: str,
        *,
        agent: str | None = None,
        skill: str | None = None,
        file_ids: Sequence[str] | None = None,
        client_message_id: str | None = None,
    ) -> AsyncGenerator[Received]:
        """Ask as the web app does, in one request; the run's events to its `DoneEvent`.

        Resumed by `seq` as `client.chat` is. Where the server says so, leaving stops the run.
        """
        body = {
            "thread_id": thread_id,
            "message": message,
            "agent": agent,
            "skill": skill,
            "file_ids": None if file_ids is None else [*file_ids],
            "client_message_id": client_message_id or str(uuid.uuid4()),
        }
        async with aclosing(self._events(EventSource("chat", body, True, web_frame), 0)) as items:
            async for item in items:
                yield item
                if isinstance(item.event, DoneEvent):
                    return

    def events(self, thread_id: str, *, after: int = 0) -> AsyncGenerator[Received]:
        """A conversation's events, from `after` on and without end; resumes by itself."""
        path = f"{child_path('chat', thread_id)}/events"
        return self._events(EventSource(path, is_web=True, frame=web_frame), after)

    def _events(self, source: EventSource, after: int) -> AsyncGenerator[Received]:
        return EventReader(self._http, source, after=after, backoff=self._backoff).events()
