"""`execute_python` and `execute_python_with_file`: the agent's Python, in the user's sandbox.

State persists from call to call within a conversation. Files that the code writes are stored as the
user's, within the quota, with an artefact event each. Output is cut to what a model can read; the
limit that ended a run is named, never "exit -9".
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Final
from urllib.parse import quote

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools.base import ArgsSchema
from langgraph.config import get_stream_writer
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.errors import BudgetExhausted, DataAgentError, Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.sandbox.local import TruncatedOutput
from dataagent_core.sandbox.observer import CodeObserver
from dataagent_core.sandbox.pool import Sandboxes
from dataagent_core.sandbox.types import CodeResult, FileChange, OutputFile, SandboxLimits
from dataagent_core.tools.context import ToolContext
from dataagent_core.workspace import FileStore, run_context

MOST_SHOWN: Final = 50 * 1024
_MAX_NAMES: Final = 40
_MAX_PATHS: Final = 50
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file that code made: stored under an id, or the reason why not."""

    name: str
    size: int
    file_id: str | None = None
    problem: str | None = None

    @property
    def url(self) -> str:
        """The path at which its owner can fetch it."""
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
    """The user's files that code changed, and how to keep that; empty if there are none."""
    if not changes:
        return ""
    shown = [
        f"{change.path} (deleted)" if change.kind == "deleted" else change.path
        for change in changes[:_MAX_PATHS]
    ]
    more = f" and {len(changes) - _MAX_PATHS} more" if len(changes) > _MAX_PATHS else ""
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
    state = lost or " Variables are as they were before this call."
    match result.status:
        case "ok":
            return f"Ran in {result.wall_seconds:.2f} s.{lost}"
        case "timeout":
            return (
                f"Stopped at the time limit of {seconds:g} s.{state} Do less at once, or set "
                f"timeout_seconds (at most {limits.max_wall_seconds:g})."
            )
        case "memory":
            return (
                f"Stopped at the memory limit of {limits.memory_bytes // _MIB} MiB.{state} Read "
                "less at once: fewer columns, chunks, or a query in DuckDB."
            )
        case "killed":
            return f"Stopped: its process was ended (exit {result.exit_code}).{state}"
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
    more = len(names) - _MAX_NAMES
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def _plain(name: str) -> str:
    """A file's name that does not end a Markdown link."""
    return name.replace("[", "(").replace("]", ")")


_MOST_CODE = 1_000_000

_ABOUT = """\
Run Python in this conversation's own sandbox. Variables, imports and files live on from call to \
call until the sandbox was idle for long; a call that fails or is stopped leaves variables as they \
were. The last expression is shown. There is no network and no pip install; installed are pandas, \
numpy, matplotlib, duckdb, pyarrow, openpyxl, python-docx, python-pptx, Pillow, pypdf, pdfplumber \
and reportlab. {files} Save what the user should get in /output; open matplotlib \
figures are saved by themselves."""
_COPIES = (
    "The user's files are in /workspace (uploads in /workspace/uploads); code changes copies, "
    "which keep_files takes over."
)
_IN_PLACE = "The user's project is in /workspace, and what code changes there is changed at once."


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module: what an agent can do with a sandbox; nothing without one."""
    if context.sandboxes is None or context.files is None:
        return []
    given: Mapping[str, Any] = {
        "sandboxes": context.sandboxes,
        "files": context.files,
        "watch": context.watch,
    }
    files = _COPIES if context.settings.project is None else _IN_PLACE
    about = _ABOUT.format(files=files)
    return [ExecutePython(**given, description=about), ExecutePythonWithFile(**given)]


class PythonArguments(BaseModel):
    """Arguments of `execute_python`."""

    tool_call_id: Annotated[str, InjectedToolCallId] = ""
    code: str = Field(min_length=1, max_length=_MOST_CODE, description="Python source.")
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="Stop it after so many seconds; 30 if left out."
    )
    reset: bool = Field(default=False, description="Forget all variables first.")


class FileArguments(PythonArguments):
    """Arguments of `execute_python_with_file`."""

    filename: str = Field(
        min_length=1,
        max_length=255,
        description="Name of the file the code saves in /output, for example report.xlsx.",
    )


class ExecutePython(BaseTool):
    """`execute_python`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "execute_python"
    description: str = _ABOUT.format(files=_COPIES)
    args_schema: ArgsSchema | None = PythonArguments
    sandboxes: Sandboxes = Field(exclude=True)
    files: FileStore = Field(exclude=True)
    watch: CodeObserver = Field(exclude=True, default_factory=CodeObserver)

    async def _arun(
        self,
        code: str,
        timeout_seconds: float | None = None,
        reset: bool = False,
        filename: str | None = None,
        tool_call_id: str = "",
    ) -> ToolMessage:
        context = run_context()
        seconds = self._seconds(context, timeout_seconds)
        try:
            result, uncommitted = await self._run_code(context, code, seconds, reset=reset)
        except DataAgentError as error:
            self.watch.record_refusal(code, context, error.code)
            raise
        self.watch.record_run(code, context, result, self._limits, wall=self.sandboxes.wall.name)
        made = await self._store_files(context, result, filename)
        notes = _missing(filename, made) if filename is not None and result.status == "ok" else ""
        text = report(
            result, made, self._limits, seconds=seconds, notes=notes, uncommitted=uncommitted
        )
        return _message(self.name, tool_call_id, text, result)

    def _run(self, **_arguments: Any) -> str:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")

    @property
    def _limits(self) -> SandboxLimits:
        return self.sandboxes.limits

    def _seconds(self, context: RunContext, requested: float | None) -> float:
        """How long the code may run: as requested, within the limits and the run's budget.

        Raises:
            BudgetExhausted: no time is left.
        """
        seconds = self._limits.seconds(requested)
        left = None if context.budget is None else context.budget.left("wall_seconds")
        if left is not None and left <= 0:
            raise BudgetExhausted("The budget is used up; the code was not run.")
        return seconds if left is None else min(seconds, left)

    async def _run_code(
        self, context: RunContext, code: str, seconds: float, *, reset: bool
    ) -> tuple[CodeResult, list[FileChange]]:
        """How it ended, and what differs from the user's files since."""
        started = time.perf_counter()
        session = await self.sandboxes.session(
            context.user_id, context.session_id, sandbox_id=context.sandbox_id
        )
        self.watch.record_wait(time.perf_counter() - started)
        code_runs = session.run_python(code, timeout_seconds=seconds, reset=reset)
        result = await self.watch.observe(self.sandboxes.wall.name, code_runs)
        return result, session.uncommitted

    async def _store_files(
        self, context: RunContext, result: CodeResult, wanted: str | None
    ) -> list[MadeFile]:
        """Keep what the code made, the wanted file first, and tell the run's readers."""
        made = sorted(result.files, key=lambda file: _name(file) != wanted)
        whole = result.stdout + result.stderr
        if len(whole.encode(errors="replace")) > MOST_SHOWN:
            made.append(OutputFile("output.txt", whole.encode(errors="replace")))
        return [await self._keep(context, file) for file in made]

    async def _keep(self, context: RunContext, file: OutputFile) -> MadeFile:
        name, size = _name(file), len(file.content)
        try:
            stored = await self.files.add_generated(
                context.user_id,
                name,
                file.content,
                session_id=context.session_id,
                run_id=context.run_id,
            )
        except DataAgentError as error:  # the quota, say: the code has run all the same
            return MadeFile(name, size, problem=error.message)
        made = MadeFile(stored.filename, size, stored.file_id)
        _announce(made, {"size": size, "content_type": stored.content_type})
        return made


class ExecutePythonWithFile(ExecutePython):
    """`execute_python_with_file`."""

    name: str = "execute_python_with_file"
    description: str = (
        "As execute_python, for code that makes one file for the user: save it in /output under "
        "`filename`. Returns a download link."
    )
    args_schema: ArgsSchema | None = FileArguments


def _name(file: OutputFile) -> str:
    return PurePosixPath(file.path).name


def _missing(filename: str, made: list[MadeFile]) -> str:
    if any(file.name == filename for file in made):
        return ""
    return f"The code wrote no file {filename!r}. Save it as /output/{filename}."


def _announce(made: MadeFile, preview: dict[str, Any]) -> None:
    """Tell the run's readers of a new file."""
    fields = {"artifact_id": made.file_id, "kind": "file", "title": made.name, "url": made.url}
    get_stream_writer()({"artifact": {**fields, "preview": preview}})


def _message(name: str, tool_call_id: str, text: str, result: CodeResult) -> ToolMessage:
    if result.status == "ok":
        return ToolMessage(text, tool_call_id=tool_call_id, name=name)
    status = "timeout" if result.status == "timeout" else "error"
    extra = {"status": status}
    return ToolMessage(
        text, tool_call_id=tool_call_id, name=name, status="error", additional_kwargs=extra
    )
