"""Bytes become messages the same however they are cut, and none is kept above the limit."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.mcp.wire.frames import LineBuffer, OversizedMessage, SseEvent, SseParser


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


cuts = st.lists(st.integers(0, 10_000), max_size=12)
texts = st.binary(max_size=60).map(lambda text: text.replace(b"\n", b"").replace(b"\r", b""))


@given(st.lists(texts, max_size=8), cuts)
def test_lines_do_not_depend_on_how_they_arrive(lines: list[bytes], where: list[int]) -> None:
    splitter = LineBuffer(most_bytes=30)
    data = b"".join(line + b"\n" for line in lines)
    found = [line for piece in pieces(data, where) for line in splitter.feed(piece)]
    assert [isinstance(line, OversizedMessage) for line in found] == [
        len(line) > 30 for line in lines
    ]
    kept = [line for line in found if not isinstance(line, OversizedMessage)]
    assert kept == [line for line in lines if len(line) <= 30]


@given(st.lists(st.lists(texts.filter(bool), min_size=1, max_size=4), max_size=5), cuts)
def test_events_do_not_depend_on_how_they_arrive(
    events: list[list[bytes]], where: list[int]
) -> None:
    splitter = SseParser(most_bytes=80)
    data = b"".join(b"".join(b"data: " + v + b"\r\n" for v in event) + b"\r\n" for event in events)
    found = [event for piece in pieces(data, where) for event in splitter.feed(piece)]
    assert len(found) == len(events)
    for event, values in zip(found, events, strict=True):
        whole = b"\n".join(values)
        if len(whole) <= 70:
            assert event == SseEvent("message", whole)
        elif len(whole) > 90:
            assert isinstance(event, OversizedMessage)


def test_comments_names_and_other_fields_are_understood() -> None:
    data = b": ping\n\nevent: endpoint\ndata:/messages\nid: 3\n\ndata: a\ndata: b\n\n"
    found = list(SseParser(most_bytes=100).feed(data))
    assert found == [SseEvent("endpoint", b"/messages"), SseEvent("message", b"a\nb")]


def test_an_id_inside_the_answer_is_not_taken_for_its_own() -> None:
    """Only ids of requests that wait count, and only at the edges of the message."""
    nested = b'{"jsonrpc":"2.0","result":{"id":1,"x":"' + b"y" * 2000 + b'"},"id":2}'
    [line] = LineBuffer(most_bytes=100).feed(nested + b"\n")
    assert isinstance(line, OversizedMessage)
    assert line.request_id({1, 2}) == 2
    assert line.request_id({1}) is None
    [text] = LineBuffer(most_bytes=100).feed(b'{"id":"a-1","result":"' + b"y" * 2000 + b'"}\n')
    assert isinstance(text, OversizedMessage)
    assert text.request_id({"a-1"}) == "a-1"
