"""The wire between supervisor and runner."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox.channel import FrameStream
from dataagent_core.sandbox.runner.frames import (
    BadFrame,
    Frame,
    FrameBuffer,
    encode,
    pack_files,
    unpack_files,
)
from tests.requirements import requirement

_values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
_fields = st.dictionaries(st.text().filter(lambda name: name != "op"), _values | st.lists(_values))
_frames = st.builds(Frame, st.text(min_size=1), _fields, st.binary())


@requirement("S10.3")
@given(st.lists(_frames, max_size=4), st.data())
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    frames: list[Frame], data: st.DataObject
) -> None:
    wire = b"".join(map(encode, frames))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=5)))
    buffer, found = FrameBuffer(), list[Frame]()
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += buffer.add(wire[start:end])
    assert found == frames


@requirement("S10.3")
@given(st.lists(st.tuples(st.text(), st.binary())), st.binary())
def test_files_come_out_of_a_body_as_they_went_in(
    files: list[tuple[str, bytes]], before: bytes
) -> None:
    listed, body = pack_files(files)
    assert unpack_files(listed, before + body, len(before)) == files


@requirement("S10.3")
@given(st.binary(max_size=64))
def test_bytes_that_are_no_frame_are_refused_or_waited_for(noise: bytes) -> None:
    buffer = FrameBuffer()
    try:
        found = buffer.add(noise)
    except BadFrame:
        return
    assert all(isinstance(frame, Frame) for frame in found)


@requirement("S10.3")
@pytest.mark.parametrize(
    "wire",
    [
        b"\xff\xff\xff\xff\x00\x00\x00\x00",
        b"\x00\x00\x00\x02\xff\xff\xff\xff{}",
        b"\x00\x00\x00\x02\x00\x00\x00\x00{}",
        b"\x00\x00\x00\x02\x00\x00\x00\x00[]",
        b"\x00\x00\x00\x08\x00\x00\x00\x00" + b'{"op":1}',
    ],
)
def test_a_frame_that_is_too_long_or_has_no_meaning_is_refused(wire: bytes) -> None:
    with pytest.raises(BadFrame):
        FrameBuffer().add(wire)


@requirement("S10.3")
@pytest.mark.parametrize("listed", [[["a", 4]], [["a", -1]], [["a"]], [[1, 1]], ["a"]])
def test_a_list_of_files_that_does_not_fit_its_body_is_refused(listed: object) -> None:
    with pytest.raises(BadFrame):
        unpack_files(listed, b"abc")


@requirement("S10.3")
async def test_a_stream_that_ends_within_a_frame_is_a_sandbox_that_is_gone() -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(encode(Frame("hello")) + encode(Frame("done", body=b"12345"))[:-1])
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        stream = FrameStream(reader, writer)
        assert await stream.receive() == Frame("hello")
        with pytest.raises(SandboxGone):
            await stream.receive()
        stream.close()
        await writer.wait_closed()
