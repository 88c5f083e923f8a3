"""The server's messages over WebSocket and SSE as typed values, and the client's own.

Events of a run have a `seq` and a `run_id`; other messages are about the connection. An event of an
unknown type becomes an `UnknownFrame`, so that an older client can read on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import orjson

from dataagent_client.errors import ClientError, ProtocolError
from dataagent_protocol.errors import UnknownEvent
from dataagent_protocol.events import AnyEvent, event_from_dict


@dataclass(frozen=True, slots=True)
class Received:
    """One numbered event of a run."""

    seq: int
    run_id: str
    event: AnyEvent


@dataclass(frozen=True, slots=True)
class ConnectedFrame:
    """The handshake: the session's last `seq`, and the active run if there is one."""

    session_id: str
    last_seq: int
    active_run: str | None


@dataclass(frozen=True, slots=True)
class AcceptedFrame:
    """A message was stored, and its run has started."""

    run_id: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """An `error` that belongs to no run."""

    error_code: str
    message: str


@dataclass(frozen=True, slots=True)
class GapFrame:
    """Events that the server no longer has."""

    first_seq: int
    last_seq: int
    snapshot: Any  # JSON


@dataclass(frozen=True, slots=True)
class UnknownFrame:
    """Any other message: `pong`, `mcp_changed`, or an event of a newer server, with its `seq`."""

    event_type: str
    seq: int | None


Frame = Received | ConnectedFrame | AcceptedFrame | ErrorFrame | GapFrame | UnknownFrame


def parse_frame(raw: str | bytes) -> Frame:
    """One message of the server.

    Raises:
        ProtocolError: it is not JSON, or not an object with an `event_type`.
    """
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"The server sent something that is not JSON: {error}.") from error
    match message:
        case {"event_type": str(), "seq": int(seq), "run_id": str(run_id)}:
            return _event(message, seq, run_id)  # pyright: ignore[reportUnknownArgumentType] JSON
        case {"event_type": str(event_type), "data": dict()}:
            return _notice(event_type, message["data"])
        case {"event_type": str(event_type)}:
            return UnknownFrame(event_type, None)
        case _:
            raise ProtocolError("The server sent a message without an 'event_type'.")


def received_from(message: dict[str, Any]) -> Received | UnknownFrame:
    """A numbered event from parsed JSON.

    Raises:
        KeyError: it has no `seq`, `run_id` or `event_type`.
    """
    return _event(message, message["seq"], message["run_id"])


def _event(message: dict[str, Any], seq: int, run_id: str) -> Received | UnknownFrame:
    try:
        return Received(seq, run_id, event_from_dict(message))
    except UnknownEvent:
        return UnknownFrame(message["event_type"], seq)


def _notice(event_type: str, data: dict[str, Any]) -> Frame:
    match event_type, data:
        case "connected", {"session_id": str(session_id), "last_seq": int(last_seq)}:
            return ConnectedFrame(session_id, last_seq, _run_id(data.get("active_run")))
        case "accepted", {"run_id": str(run_id)}:
            return AcceptedFrame(run_id, data.get("message_id"))
        case "error", _:
            code = data.get("error_code") or "error"
            return ErrorFrame(str(code), str(data.get("error") or data.get("message") or code))
        case "gap", {"from": int(first), "to": int(last)}:
            return GapFrame(first, last, data.get("snapshot"))
        case _:
            return UnknownFrame(event_type, None)


def _run_id(active_run: object) -> str | None:
    """The active run's id, whether the server names it or describes it."""
    match active_run:
        case str():
            return active_run
        case {"run_id": str(run_id)}:
            return run_id
        case _:
            return None


def client_frame(kind: str, payload: dict[str, Any]) -> str:
    """A message to the server; fields that are None are left out."""
    given = {name: value for name, value in payload.items() if value is not None}
    return encode_body({"type": kind, "payload": given}).decode()


def encode_body(body: dict[str, Any]) -> bytes:
    """A request's body as JSON.

    Raises:
        ClientError: it has half of a character in a text, or an object that JSON cannot have.
    """
    try:
        return orjson.dumps(body)
    except TypeError as error:
        raise ClientError(f"The request cannot be written as JSON: {error}.") from error


def socket_url(base_url: str, session_id: str, *, after: int | None) -> str:
    """The address of a session's WebSocket, below `base_url`."""
    parts = urlsplit(base_url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    path = f"{parts.path.rstrip('/')}/ws/chat/{quote(session_id, safe='')}"
    query = "" if after is None else urlencode({"after": after})
    return urlunsplit((scheme, parts.netloc, path, query, ""))
