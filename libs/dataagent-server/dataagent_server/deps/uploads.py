"""Receives forms with files, read as they arrive: only the current piece is in memory.

Parts come one after another, in the order they were sent; a part that is not read to its end is
skipped. `api/middleware.py` limits the body, the receiver of a file its size.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from dataagent_core.app.assembly import FileServices
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import BadInput, FileNotFound
from dataagent_core.workspace import FileStore, StoredFile
from dataagent_server.models.files import SourceUpload

MAX_TEXT_BYTES = 64 * 1024
MAX_PARTS = 100
_DRAIN_SECONDS = 10.0
_NO_FORM = "The body must be a form: multipart/form-data with a boundary."
_CUT = "The form is broken or cut short."


@dataclass(slots=True)
class _ParserState:
    """Parsed and not yet consumed: headers, data, and ends of parts."""

    parts: int = 0
    is_over: bool = False
    items: deque[bytes | PartHeader | None] = field(
        default_factory=deque["bytes | PartHeader | None"]
    )
    header: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    disposition: bytes = b""

    def begin(self) -> None:
        self.parts += 1
        self.disposition = b""

    def on_header_name(self, data: bytes, start: int, end: int) -> None:
        self.header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self.value += data[start:end]

    def end_header(self) -> None:
        if bytes(self.header).lower() == b"content-disposition":
            self.disposition = bytes(self.value)
        self.header.clear()
        self.value.clear()

    def end_headers(self) -> None:
        _, options = parse_options_header(self.disposition)
        name, filename = options.get(b"name"), options.get(b"filename")
        if name is None or self.parts > MAX_PARTS:
            raise FormParserError("a part has no name, or there are too many")
        self.items.append(PartHeader(_text(name), None if filename is None else _text(filename)))

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self.items.append(data[start:end])

    def end_part(self) -> None:
        self.items.append(None)

    def end(self) -> None:
        self.is_over = True


@dataclass(frozen=True, slots=True)
class PartHeader:
    """The headers of a part."""

    name: str
    filename: str | None


class FormPart:
    """One field or file of a form; iterating gives its content as it arrives."""

    def __init__(self, header: PartHeader, form: Form) -> None:
        self.name = header.name
        self.filename = header.filename
        self._form = form

    def __aiter__(self) -> Self:
        """The content."""
        return self

    async def __anext__(self) -> bytes:
        """The next piece of the content.

        Raises:
            BadInput: the form ends before the part does.
        """
        piece = await self._form.piece()
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def text(self) -> str:
        """The content of a field.

        Raises:
            BadInput: it is too long, or no text.
        """
        held = bytearray()
        async for piece in self:
            held += piece
            if len(held) > MAX_TEXT_BYTES:
                raise BadInput(f"A field of a form has at most {MAX_TEXT_BYTES} bytes.")
        try:
            return held.decode()
        except UnicodeDecodeError:
            raise BadInput("A field of the form is not UTF-8 text.") from None


class Form:
    """The parts of a request. Leaving it drains the body, so that its client sees the answer."""

    def __init__(self, request: Request) -> None:
        """Read the request's body.

        Raises:
            BadInput: it is not a form.
        """
        self._stream = request.stream()
        self._state = _ParserState()
        self._parser = _parser(request.headers.get("content-type", ""), self._state)
        self._is_in_part = False

    async def __aenter__(self) -> Self:
        """Begin to read."""
        return self

    async def __aexit__(self, *why: object) -> None:
        """Drain the body, within limits."""
        with suppress(TimeoutError, HTTPException, ClientDisconnect):
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for _ in self._stream:
                    pass

    def __aiter__(self) -> Self:
        """The parts, one after another."""
        return self

    async def __anext__(self) -> FormPart:
        """The next part.

        Raises:
            BadInput: the form is broken.
        """
        while await self.piece() is not None:
            pass
        header = await self._next()
        if not isinstance(header, PartHeader):
            raise StopAsyncIteration
        self._is_in_part = True
        return FormPart(header, self)

    async def piece(self) -> bytes | None:
        """The next piece of the current part; None at its end."""
        if not self._is_in_part:
            return None
        item = await self._next()
        if isinstance(item, bytes):
            return item
        self._is_in_part = False
        return None

    async def _next(self) -> bytes | PartHeader | None:
        """The next item; None for the end of a part, and of the form."""
        state = self._state
        while not state.items:
            if state.is_over:
                return None
            try:
                chunk = await anext(self._stream)
                self._parser.write(chunk)
            except (FormParserError, StopAsyncIteration):
                raise BadInput(_CUT) from None
            except ClientDisconnect:
                raise HTTPException(400, "The client left before the form was complete.") from None
        return state.items.popleft()


def _parser(content_type: str, state: _ParserState) -> MultipartParser:
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= 200:
        raise BadInput(_NO_FORM)
    try:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": state.begin,
                "on_header_field": state.on_header_name,
                "on_header_value": state.on_header_value,
                "on_header_end": state.end_header,
                "on_headers_finished": state.end_headers,
                "on_part_data": state.on_part_data,
                "on_part_end": state.end_part,
                "on_end": state.end,
            },
        )
    except FormParserError:
        raise BadInput(_NO_FORM) from None


def _text(raw: bytes) -> str:
    """A header's text: UTF-8 as browsers send it, else byte by byte."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


MAX_FILES = 20
FORM_BYTES = 128 * 1024  # of headers and fields around a file
_TEXTS = ("name", "description")


async def receive_file(request: Request, files: FileStore, *, owner: str) -> StoredFile:
    """Store the one file of a form, in its field `file`.

    Raises:
        BadInput: the form has other parts, or no file.
        BadFile, UploadTooLarge, QuotaExceeded: as `FileStore.add_upload`.
    """
    stored: StoredFile | None = None
    try:
        async with Form(request) as form:
            async for part in form:
                if part.name != "file" or part.filename is None or stored is not None:
                    raise BadInput("The form must have one file, in the field 'file'.")
                stored = await files.add_upload(owner, part.filename, part)
    except BaseException:
        await _delete_files(files, owner, [] if stored is None else [stored])
        raise
    if stored is None:
        raise BadInput("The form has no file. Send one in the field 'file'.")
    return stored


async def receive_source(request: Request, files: FileServices, reader: Reader) -> Source:
    """Create a data source from the files in a form, and earlier uploads it names.

    Raises:
        BadInput: the form is invalid.
        Others: as `FileStore.add_upload` and `UploadedSources.create`.
    """
    fields: dict[str, Any] = {}
    received: list[StoredFile] = []
    owner = reader.user_id
    try:
        async with Form(request) as form:
            async for part in form:
                if part.filename is None:
                    _add_field(fields, part.name, await part.text())
                elif part.name != "file" or len(received) >= MAX_FILES:
                    raise BadInput(f"A form has at most {MAX_FILES} files, in fields 'file'.")
                else:
                    received.append(await files.store.add_upload(owner, part.filename, part))
        wanted = _validate(fields)
        file_ids = [*(file.file_id for file in received), *wanted.file_ids]
        return await files.sources.create(
            wanted.name, file_ids, reader=reader, description=wanted.description
        )
    finally:  # the source has copies
        await _delete_files(files.store, owner, received)


def _add_field(fields: dict[str, Any], name: str, text: str) -> None:
    if name == "file_ids":
        fields.setdefault(name, []).append(text)
    elif name in _TEXTS and name not in fields:
        fields[name] = text
    else:
        raise BadInput("A field of the form is unknown or repeated.")


def _validate(fields: dict[str, Any]) -> SourceUpload:
    try:
        return SourceUpload.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def _delete_files(files: FileStore, owner: str, received: list[StoredFile]) -> None:
    for file in received:
        with suppress(FileNotFound):
            await files.delete(file.file_id, owner=owner)
