"""What the server says, byte by byte: SSE, frames, errors, addresses, pauses."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_client import ApiError, Backoff, ClientError, DataAgentClient, ProtocolError
from dataagent_client import errors as client_errors
from dataagent_client.event_stream import SseMessage, SseParser
from dataagent_client.models import parse_chat, parse_page, parse_run, parse_session
from dataagent_client.wire import (
    AcceptedFrame,
    ConnectedFrame,
    ErrorFrame,
    GapFrame,
    Received,
    UnknownFrame,
    client_frame,
    parse_frame,
    socket_url,
)
from dataagent_protocol.events import TextEvent, event_to_wire
from tests.requirements import requirement

STREAM = (
    ": heartbeat\r\n\r\n"
    "id: 7\r\nevent: text\r\ndata: 你好\r\ndata: two\r\n\r\n"
    "retry: 1500\ndata:bare\n\n"
    "id: bad\0id\ndata: same id\n\n"
    "event: nothing\n\n"
    "data: unfinished"
).encode()
MESSAGES = [
    SseMessage("text", "你好\ntwo", "7"),
    SseMessage("message", "bare", "7"),
    SseMessage("message", "same id", "7"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_server_sent_events_are_read_however_they_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    parser = SseParser()
    found = [
        message for start, end in pairwise(edges) for message in parser.feed(STREAM[start:end])
    ]
    assert found == MESSAGES
    assert parser.retry_seconds == 1.5


@given(st.binary(max_size=200))
def test_no_bytes_break_the_sse_parser(data: bytes) -> None:
    SseParser().feed(data)


@requirement("R17.4")
def test_an_event_is_received_as_it_was_sent() -> None:
    event = TextEvent(content="x", timestamp=2.0)
    assert parse_frame(event_to_wire(event, seq=4, run_id="r")) == Received(4, "r", event)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        (
            '{"event_type":"connected","data":{"session_id":"s","last_seq":3,"active_run":"r"}}',
            ConnectedFrame("s", 3, "r"),
        ),
        (
            '{"event_type":"connected",'
            '"data":{"session_id":"s","last_seq":3,"active_run":{"run_id":"r"}}}',
            ConnectedFrame("s", 3, "r"),
        ),
        ('{"event_type":"accepted","data":{"run_id":"r"}}', AcceptedFrame("r", None)),
        ('{"event_type":"error","data":{"error_code":"c","error":"m"}}', ErrorFrame("c", "m")),
        ('{"event_type":"gap","data":{"from":1,"to":2}}', GapFrame(1, 2, None)),
        ('{"event_type":"pong"}', UnknownFrame("pong", None)),
        ('{"event_type":"new","seq":1,"run_id":"r","data":{}}', UnknownFrame("new", 1)),
    ],
)
def test_each_kind_of_message_is_told_apart(text: str, frame: object) -> None:
    assert parse_frame(text) == frame


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"event_type":1}', "null"])
def test_what_is_no_message_is_a_protocol_error(text: str) -> None:
    with pytest.raises(ProtocolError):
        parse_frame(text)


def test_what_was_not_given_is_not_sent() -> None:
    assert client_frame("chat", {"message": "m", "skill": None}) == (
        '{"type":"chat","payload":{"message":"m"}}'
    )


@pytest.mark.parametrize(
    ("base", "after", "url"),
    [
        ("http://h:8000", None, "ws://h:8000/ws/chat/a%2Fb%3Fc"),
        ("https://h/prefix/", 7, "wss://h/prefix/ws/chat/a%2Fb%3Fc?after=7"),
    ],
)
def test_the_socket_is_below_the_base_address(base: str, after: int | None, url: str) -> None:
    assert socket_url(base, "a/b?c", after=after) == url


@pytest.mark.parametrize("api_key", ["k\n", " k", "clé", "k\r\nX-User-Id: eve", "k\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(api_key: str) -> None:
    with pytest.raises(ClientError, match="X-API-Key") as refused:
        DataAgentClient("http://localhost", api_key)
    assert api_key not in refused.value.message


def test_an_address_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(ClientError, match="http://"):
        DataAgentClient("localhost:8000")


@requirement("R16.4")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, client_errors.NotAuthenticatedError),
        (403, client_errors.DeniedError),
        (404, client_errors.NotFoundError),
        (409, client_errors.ConflictError),
        (422, client_errors.InvalidError),
        (429, client_errors.LimitError),
        (503, client_errors.UnavailableError),
        (500, client_errors.FailedError),
    ],
)
def test_each_status_is_an_error_of_its_class(status: int, kind: type[ApiError]) -> None:
    body = b'{"error_code": "c", "message": "m", "details": {"field": "x"}}'
    headers = {"x-request-id": "q", "retry-after": "7"}
    error = client_errors.error_from_response(status, headers, body)
    assert type(error) is kind
    assert (error.status, error.error_code, error.message) == (status, "c", "m")
    assert (error.details, error.request_id, error.retry_after) == ({"field": "x"}, "q", 7.0)


@pytest.mark.parametrize("body", [b"", b"<html>Bad Gateway</html>", b"[]", b'{"message": 1}'])
def test_the_answer_of_a_proxy_is_an_error_too(body: bytes) -> None:
    error = client_errors.error_from_response(502, {"retry-after": "soon"}, body)
    assert (error.message, error.error_code) == ("The server answered 502.", "http_502")
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("session_busy", 409),
        ("session_not_found", 404),
        ("not_authenticated", 401),
        ("storage_unavailable", 503),
        ("too_many_connections", 503),
        ("tenant_limit", 429),
        ("bad_input", 422),
        ("something_new", 400),
    ],
)
def test_the_codes_of_messages_have_the_status_of_answers(code: str, status: int) -> None:
    assert client_errors.error_from_frame(code, "m").status == status


@given(st.integers(1, 7), st.none() | st.floats(0, 60))
def test_pauses_grow_up_to_a_limit_and_honour_the_server(
    failures: int, retry_after: float | None
) -> None:
    backoff = Backoff()
    pause = backoff.pause(failures, retry_after=retry_after)
    assert pause is not None
    most = min(0.2 * 2.0 ** (failures - 1), 10.0)
    assert most / 2 <= pause <= max(most, retry_after or 0)
    assert pause >= (retry_after or 0)
    assert backoff.pause(8) is None


def test_answers_that_are_not_what_they_should_be_are_protocol_errors() -> None:
    for parse in (parse_session, parse_run, parse_chat):
        for text in ("null", "[]", "{}", '{"session_id": "s", "created_at": "yesterday"}'):
            with pytest.raises(ProtocolError):
                parse(orjson.loads(text))
    with pytest.raises(ProtocolError):
        parse_page(orjson.loads('{"items": [{}], "total": 1}'), parse_session)
