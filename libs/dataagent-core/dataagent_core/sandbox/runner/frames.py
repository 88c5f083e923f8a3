"""The wire between supervisor and runner: a JSON header and bytes, each with its length.

    header length (4 bytes, big-endian) | body length (4) | header | body

A frame's `op` says what it is; the header's other fields are below. Files travel in the body, one
after another, and the header's `files` lists `[path, size]` for each. Pure: bytes in, frames out.

To the runner, answered by exactly one frame each, except `cancel`:

    bind     {workspace?, memory, processes, file, disk, inodes, output, harvest_files,
              harvest_bytes, cpus}: set the limits, mount the workspace      -> done
    put      {files, known?}: write files, paths relative to the workspace or absolute; `known`
              are as the workspace has them, no changes            -> done {errors}
    get      {paths}: read files                                   -> files {files, errors}
    python   {seconds, reset}, body: the code                      -> result
    shell    {seconds}, body: the command                          -> result
    changes  {}: what differs from the workspace                   -> done {changes}
    cancel   {}: end what runs; its answer is then a `result` with status `killed`

From the runner:

    hello    {overlay}: ready, after the walls stand
    done     {...}
    files    {files, errors}, body
    result   {status, exit_code, stdout, stderr (sizes in the body), is_cut, files, left_out,
              has_changed, wall, cpu, rss, names, state_lost}, body: stdout, stderr, files
    failed   {reason}: the request could not be served; no code has run
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import Any, cast

HEADER_LIMIT = 4 * 1024 * 1024
BODY_LIMIT = 512 * 1024 * 1024
_LENGTHS = struct.Struct(">II")
LENGTHS_SIZE = _LENGTHS.size


class BadFrame(ValueError):
    """The bytes are not a frame."""


@dataclass(frozen=True)
class Frame:
    """One message. `fields` is what JSON can say."""

    op: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])  # Any: it is JSON
    body: bytes = b""


def encode(frame: Frame) -> bytes:
    """The frame as bytes."""
    return prefix(frame, len(frame.body)) + frame.body


def prefix(frame: Frame, body_size: int) -> bytes:
    """What comes before a body that is sent by itself."""
    header = json.dumps({**frame.fields, "op": frame.op}, ensure_ascii=True).encode()
    return _LENGTHS.pack(len(header), body_size) + header


def lengths(prefix: bytes) -> tuple[int, int]:
    """How long header and body are.

    Raises:
        BadFrame: longer than a frame may be.
    """
    header, body = _LENGTHS.unpack(prefix)
    if header > HEADER_LIMIT or body > BODY_LIMIT:
        raise BadFrame(f"A frame of {header} and {body} bytes is too long.")
    return header, body


def decode(header: bytes, body: bytes) -> Frame:
    """The frame that these two parts are.

    Raises:
        BadFrame: the header is not an object with an `op`.
    """
    try:
        content: Any = json.loads(header)  # Any: checked below
    except (ValueError, RecursionError) as error:
        raise BadFrame("A frame's header is not JSON.") from error
    match content:
        case {"op": str(op), **fields}:
            return Frame(op, dict(fields), body)
        case _:
            raise BadFrame("A frame's header has no `op`.")


class FrameBuffer:
    """Puts frames together from bytes as they come."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> list[Frame]:
        """Take more bytes; the frames that are complete now.

        Raises:
            BadFrame: as `lengths` and `decode`.
        """
        self._bytes += chunk
        found: list[Frame] = []
        while (frame := self._next()) is not None:
            found.append(frame)
        return found

    def _next(self) -> Frame | None:
        if len(self._bytes) < LENGTHS_SIZE:
            return None
        header, body = lengths(bytes(self._bytes[:LENGTHS_SIZE]))
        middle, end = LENGTHS_SIZE + header, LENGTHS_SIZE + header + body
        if len(self._bytes) < end:
            return None
        frame = decode(bytes(self._bytes[LENGTHS_SIZE:middle]), bytes(self._bytes[middle:end]))
        del self._bytes[:end]
        return frame


def items(value: object) -> list[Any]:
    """A list of a header, or none if it is something else."""
    return cast("list[Any]", value) if isinstance(value, list) else []  # JSON has no more to say


def pack_files(files: list[tuple[str, bytes]]) -> tuple[list[list[Any]], bytes]:
    """The `files` field and the body for some files."""
    return [[path, len(content)] for path, content in files], b"".join(c for _, c in files)


def unpack_files(listed: object, body: bytes, start: int = 0) -> list[tuple[str, bytes]]:
    """The files a body holds from `start` on.

    Raises:
        BadFrame: the list does not fit the body.
    """
    files: list[tuple[str, bytes]] = []
    for entry in items(listed):
        match entry:
            case [str(path), int(size)] if 0 <= size <= len(body) - start:
                files.append((path, body[start : start + size]))
                start += size
            case _:
                raise BadFrame("A frame's list of files does not fit its body.")
    return files
