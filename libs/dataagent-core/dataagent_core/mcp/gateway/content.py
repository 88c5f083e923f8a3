"""What an MCP tool answered → text for the model, and files to keep. Pure.

Text stays text. Pictures, sounds and other bytes become files; so does a result that is too long
for a model to read, which then gets its beginning. Above: `langchain.py`, and `tools/mcp.py`, which
keeps the files.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from dataagent_core.mcp.types import JsonObject, RemoteResult

MOST_SHOWN = 1024 * 1024
"""Bytes of text a model is given; more is kept as a file."""
_PREVIEW_CHARACTERS = 4_000
_MOST_FILES = 20
_EXTENSIONS = {
    "image/jpeg": ".jpg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "text/plain": ".txt",
}


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file that came in a result."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ModelResult:
    """A result in two parts."""

    text: str
    files: tuple[ResultFile, ...] = ()


def result_for_model(result: RemoteResult, tool_name: str) -> ModelResult:
    """The text, and the files it is about."""
    lines: list[str] = []
    files: list[ResultFile] = []
    left_out = 0
    for block in result.content:
        file = _file_in(block, tool_name, len(files) + 1)
        if file is None:
            lines.append(_line(block))
        elif len(files) < _MOST_FILES:
            files.append(file)
        else:
            left_out += 1
    text = "\n".join(line for line in lines if line)
    if not text and result.structured is not None:
        text = _json(result.structured)
    if left_out:
        note = f"[{left_out} more files were left out: at most {_MOST_FILES} of a result are kept]"
        text = f"{text}\n{note}".lstrip()
    if len(text) * 4 > MOST_SHOWN and len(text.encode(errors="replace")) > MOST_SHOWN:
        whole = ResultFile(f"{tool_name}.txt", text.encode(errors="replace"))
        text = (
            f"The result has {len(whole.content)} bytes, too many to read here; the whole of it is "
            f"in the file {whole.name}. It begins:\n{text[:_PREVIEW_CHARACTERS]}"
        )
        files.append(whole)
    return ModelResult(text, tuple(files))


def _json(value: JsonObject) -> str:
    """As text, integers of any length among it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _file_in(block: JsonObject, tool_name: str, number: int) -> ResultFile | None:
    """The file in a block; None if it is text."""
    match block.get("type"):
        case "image" | "audio":
            return _decode_file(block.get("data"), f"{tool_name}-{number}", block.get("mimeType"))
        case "resource":
            resource: Any = block.get("resource") or {}
            if "blob" not in resource:
                return None
            name = _file_name(str(resource.get("uri", ""))) or f"{tool_name}-{number}"
            return _decode_file(resource["blob"], name, resource.get("mimeType"))
        case _:
            return None


def _decode_file(data: Any, name: str, mime_type: Any) -> ResultFile | None:
    try:
        content = base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not PurePosixPath(name).suffix:
        kind = str(mime_type or "").split(";")[0].strip().lower()
        name += _EXTENSIONS.get(kind) or mimetypes.guess_extension(kind) or ".bin"
    return ResultFile(name, content)


def _file_name(uri: str) -> str:
    try:
        return PurePosixPath(urlsplit(uri).path).name
    except ValueError:
        return ""


def _line(block: JsonObject) -> str:
    """A block as text."""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource":
            resource: Any = block.get("resource") or {}
            return f"{resource.get('uri', '')}:\n{resource.get('text', '')}"
        case "resource_link":
            return " ".join(_link_parts(block))
        case other:
            return f"[a part of kind {str(other)[:40]!r} that cannot be shown]"


def _link_parts(block: JsonObject) -> Iterator[str]:
    yield f"[{block.get('title') or block.get('name') or 'resource'}]"
    yield str(block.get("uri", ""))
    if block.get("description"):
        yield f"- {block['description']}"
