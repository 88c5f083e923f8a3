"""Files that come in forms: a file to keep, or files to make a data source of."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from dataagent_core.app.assembly import FileServices
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import BadInput, FileNotFound
from dataagent_core.workspace import FileStore, StoredFile
from dataagent_server.deps.forms import Form
from dataagent_server.models.files import SourceUpload

MAX_FILES = 20
FORM_BYTES = 128 * 1024  # of headers and fields around a file
_TEXTS = ("name", "description")


async def receive_file(request: Request, files: FileStore, *, owner: str) -> StoredFile:
    """Keep the one file of a form, in its field `file`.

    Raises:
        BadInput: the form has something else, or nothing.
        BadFile, UploadTooLarge, QuotaExceeded: as `FileStore.add_upload`.
    """
    kept: StoredFile | None = None
    try:
        async with Form(request) as form:
            async for part in form:
                if part.name != "file" or part.filename is None or kept is not None:
                    raise BadInput("The form must have one file, in the field 'file'.")
                kept = await files.add_upload(owner, part.filename, part)
    except BaseException:
        await _delete_files(files, owner, [] if kept is None else [kept])
        raise
    if kept is None:
        raise BadInput("The form has no file. Send one in the field 'file'.")
    return kept


async def receive_source(request: Request, files: FileServices, reader: Reader) -> Source:
    """Make a data source of the files in a form, and of earlier uploads it names.

    Raises:
        BadInput: the form does not fit.
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
        raise BadInput("A field of the form is not known, or comes twice.")


def _validate(fields: dict[str, Any]) -> SourceUpload:
    try:
        return SourceUpload.model_validate(fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def _delete_files(files: FileStore, owner: str, received: list[StoredFile]) -> None:
    for file in received:
        with suppress(FileNotFound):
            await files.delete(file.file_id, owner=owner)
