"""Parses a runner's answers. Pure; nothing that lacks the right shape is believed."""

from __future__ import annotations

import re
from typing import Any, get_args

from deepagents.backends.protocol import FileDownloadResponse, FileUploadResponse

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox.runner.frames import BadFrame, Frame, items, unpack_files
from dataagent_core.sandbox.types import CodeResult, CodeStatus, FileChange, OutputFile

_NOT_IN_NAMES = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\\]"
)
_NAME_LIMIT = 255


def code_result(answer: Frame, *, ran_out_of_memory: bool) -> CodeResult:
    """Return how a run ended. The number of memory kills comes from the system, not the runner.

    Raises:
        SandboxGone: the answer is none.
    """
    fields = answer.fields
    status = _status(fields.get("status"))
    if ran_out_of_memory and status in {"killed", "error"}:
        status = "memory"
    stdout, stderr = _size(fields, "stdout"), _size(fields, "stderr")
    body = answer.body
    try:
        files = unpack_files(fields.get("files"), body, stdout + stderr)
    except BadFrame as error:
        raise SandboxGone("The sandbox gave no answer that can be understood.") from error
    exit_code = fields.get("exit_code")
    return CodeResult(
        status=status,
        stdout=body[:stdout].decode(errors="replace"),
        stderr=body[stdout : stdout + stderr].decode(errors="replace"),
        is_cut=bool(fields.get("is_cut")),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        files=tuple(OutputFile(clean_path(path), content) for path, content in files),
        files_left_out=_size(fields, "left_out"),
        wall_seconds=_number(fields, "wall"),
        cpu_seconds=_number(fields, "cpu"),
        max_rss_bytes=_size(fields, "rss"),
        names=tuple(str(name) for name in items(fields.get("names"))),
        state_lost=bool(fields.get("state_lost")),
    )


def _status(said: object) -> CodeStatus:
    known: dict[object, CodeStatus] = {status: status for status in get_args(CodeStatus)}
    if said not in known:
        raise SandboxGone("The sandbox gave no answer that can be understood.")
    return known[said]


def clean_path(path: str) -> str:
    """Return a path that can be shown and stored: relative, without invisible characters."""
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    clean = [_NOT_IN_NAMES.sub("_", part)[:_NAME_LIMIT] for part in parts]
    return "/".join(clean) or "_"


def file_changes(answer: Frame) -> list[tuple[FileChange, str]]:
    """Return what differs from the workspace, each with a stamp of its content."""
    found: list[tuple[FileChange, str]] = []
    for entry in items(answer.fields.get("changes")):
        match entry:
            case [str(path), "written", int(size), str(stamp)]:
                found.append((FileChange(path, "written", size), stamp))
            case [str(path), "deleted", _, str(stamp)]:
                found.append((FileChange(path, "deleted"), stamp or "deleted"))
            case _:
                continue
    return found


def uploads(paths: list[str], answer: Frame) -> list[FileUploadResponse]:
    """Return the result for each file that was sent."""
    errors = _errors(answer)
    return [FileUploadResponse(path, errors.get(path)) for path in paths]


def downloads(paths: list[str], answer: Frame) -> list[FileDownloadResponse]:
    """Return each requested file, or why it is missing."""
    errors = _errors(answer)
    files = dict(unpack_files(answer.fields.get("files"), answer.body))
    return [
        FileDownloadResponse(path, files[path])
        if path in files
        else FileDownloadResponse(path, None, errors.get(path, "file_not_found"))
        for path in paths
    ]


def _errors(answer: Frame) -> dict[str, str]:
    return {str(path): str(why) for path, why in items(answer.fields.get("errors"))}


def _number(fields: dict[str, Any], name: str) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, (int, float)) and value >= 0 else 0.0


def _size(fields: dict[str, Any], name: str) -> int:
    return int(_number(fields, name))
