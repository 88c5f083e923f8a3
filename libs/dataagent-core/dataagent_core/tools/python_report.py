"""How a run of code is told to the model: what it printed, what it made, what ended it. Pure.

Output is cut to what a model can read; the limit that ended a run is named, never "exit -9".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from dataagent_core.sandbox.output import TruncatedOutput
from dataagent_core.sandbox.types import CodeResult, FileChange, SandboxLimits

MOST_SHOWN: Final = 50 * 1024
_MOST_NAMES: Final = 40
_MOST_PATHS: Final = 50
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file the code made: kept under an id, or not, and then why."""

    name: str
    size: int
    file_id: str | None = None
    problem: str | None = None

    @property
    def url(self) -> str:
        """Where its owner can fetch it."""
        return f"/api/files/{self.file_id}/{quote(self.name)}"


def report(
    result: CodeResult,
    made: Sequence[MadeFile],
    limits: SandboxLimits,
    *,
    seconds: float,
    notes: str = "",
    uncommitted: Sequence[FileChange] = (),
) -> str:
    """The text the model reads."""
    parts = [_ending(result, limits, seconds)]
    if notes:
        parts.append(notes)
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text.strip():
            parts.append(f"{name}:\n{cut(text)}")
    if made or result.files_left_out:
        parts.append(_files(made, result.files_left_out))
    if uncommitted:
        parts.append(unkept_note(uncommitted))
    if result.names:
        parts.append(f"variables: {_listed(result.names)}")
    return "\n".join(parts)


def unkept_note(changes: Sequence[FileChange]) -> str:
    """What code changed of the user's files, and how to keep it; nothing if there is nothing."""
    if not changes:
        return ""
    shown = [
        f"{change.path} (deleted)" if change.kind == "deleted" else change.path
        for change in changes[:_MOST_PATHS]
    ]
    more = f" and {len(changes) - _MOST_PATHS} more" if len(changes) > _MOST_PATHS else ""
    return (
        f"Changed in the sandbox's /workspace, not in the user's own files: {', '.join(shown)}"
        f"{more}. To keep changes there, call keep_files."
    )


def cut(text: str) -> str:
    """The text, or its beginning and its end."""
    output = TruncatedOutput(MOST_SHOWN)
    output.add(text.encode(errors="replace"))
    return output.text().rstrip()


def _ending(result: CodeResult, limits: SandboxLimits, seconds: float) -> str:
    lost = _lost(result)
    kept = lost or " Variables are as they were before this call."
    match result.status:
        case "ok":
            return f"Ran in {result.wall_seconds:.2f} s.{lost}"
        case "timeout":
            return (
                f"Stopped at the time limit of {seconds:g} s.{kept} Do less at once, or set "
                f"timeout_seconds (at most {limits.max_wall_seconds:g})."
            )
        case "memory":
            return (
                f"Stopped at the memory limit of {limits.memory_bytes // _MIB} MiB.{kept} Read "
                "less at once: fewer columns, chunks, or a query in DuckDB."
            )
        case "killed":
            return f"Stopped: its process was ended (exit {result.exit_code}).{kept}"
        case "error":
            return f"Failed.{lost}"


def _lost(result: CodeResult) -> str:
    if result.files_lost:
        return (
            " The sandbox of earlier calls is gone, with its variables and with the files in "
            "/workspace that were not kept."
        )
    return " Variables of earlier calls are gone." if result.state_lost else ""


def _files(made: Sequence[MadeFile], left_out: int) -> str:
    lines = ["files, give the user these links:"]
    for file in made:
        if file.file_id is None:
            lines.append(f"- {file.name}: not kept. {file.problem}")
        else:
            lines.append(f"- [{_plain(file.name)}]({file.url}) {file.size} bytes")
    if left_out:
        lines.append(f"- {left_out} more were left out: too many or too large.")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def _plain(name: str) -> str:
    """A file's name that does not end a Markdown link."""
    return name.replace("[", "(").replace("]", ")")
