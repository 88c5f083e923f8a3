"""`keep_files`: copies files that code changed in its sandbox into the user's workspace.

The sandbox sees the user's files and changes only copies. The call names each file, so that the
person who approves it sees what will be written and what deleted. All of it or nothing: within the
quota, and only if the workspace's files are still those the code has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from langgraph.config import get_stream_writer
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.errors import BadInput, DataAgentError, Misconfigured, ToolFailed
from dataagent_core.events import FileOperation
from dataagent_core.sandbox.pool import Sandboxes
from dataagent_core.sandbox.types import FileChange
from dataagent_core.sandbox.workspace_changes import CommitResult
from dataagent_core.tools.context import ToolContext
from dataagent_core.tools.file_ops import FileOpRecord, diff_texts
from dataagent_core.tools.python import unkept_note
from dataagent_core.workspace import (
    FolderBackend,
    UserWorkspaceManager,
    run_context,
)

_MAX_PATHS: Final = 500
_MAX_DIFFED: Final = 200_000
_INSIDE: Final = "/workspace/"
_APPROVAL: Final = "Write files that code made or changed into the workspace, and delete others."
_ABOUT: Final = """\
Take over what code changed in the sandbox's /workspace into the user's own files. Until then the \
user's files are as they were. execute_python and execute say what has changed and is not kept. \
Name each file; the user is asked first. What is in /output needs none of this."""


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module: nothing without a sandbox, or where it has the user's own files."""
    if context.sandboxes is None or context.workspaces is None:
        return []
    if context.workspaces.project is not None:
        return []
    return [KeepFiles(sandboxes=context.sandboxes, workspaces=context.workspaces)]


class KeepArguments(BaseModel):
    """Arguments of `keep_files`."""

    paths: list[str] = Field(
        default_factory=list[str],
        max_length=_MAX_PATHS,
        description="Files that code made or changed, relative to /workspace.",
    )
    deleted: list[str] = Field(
        default_factory=list[str],
        max_length=_MAX_PATHS,
        description="Files that code deleted and that the user is to lose as well.",
    )


class KeepFiles(BaseTool):
    """`keep_files`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "keep_files"
    description: str = _ABOUT
    args_schema: ArgsSchema | None = KeepArguments
    metadata: dict[str, Any] | None = Field(default_factory=lambda: {"approval": _APPROVAL})
    sandboxes: Sandboxes = Field(exclude=True)
    workspaces: UserWorkspaceManager = Field(exclude=True)

    async def _arun(self, paths: list[str] | None = None, deleted: list[str] | None = None) -> str:
        context = run_context()
        written = frozenset(map(_relative, paths or ()))
        gone = frozenset(map(_relative, deleted or ()))
        session = self.sandboxes.find_session(context.user_id, context.session_id)
        if session is None:
            raise ToolFailed(
                "There is no sandbox any more, nor what it changed. Run the code anew."
            )
        _check(await session.changes(), written, gone)
        writer = _UserFiles(
            await self.workspaces.open_workspace(context.user_id), self.workspaces, context.user_id
        )
        try:
            done = await session.commit(writer, written | gone)
        except DataAgentError as error:
            if writer.done:  # another write has just used the quota
                error.message += f" Kept before that: {', '.join(writer.done)}."
            raise
        finally:
            for record in writer.records:
                get_stream_writer()({"file_operation": record.event_data()})
        return _report(done, session.uncommitted)

    def _run(self, **_arguments: Any) -> str:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")


@dataclass(slots=True)
class _UserFiles:
    """A user's workspace as a `Keeper`, with records of its changes."""

    files: FolderBackend
    workspaces: UserWorkspaceManager
    user_id: str
    done: list[str] = field(default_factory=list[str])
    records: list[FileOpRecord] = field(default_factory=list[FileOpRecord])

    async def room(self) -> int:
        """As `Keeper.room`."""
        used = await self.workspaces.usage(self.user_id)
        return max(0, self.workspaces.quota(self.user_id) - used)

    async def size(self, path: str) -> int:
        """As `Keeper.size`."""
        return await self.files.size(path)

    async def put(self, path: str, content: bytes) -> None:
        """As `Keeper.put`."""
        before = await self._text(path)
        try:
            await self.files.put(path, content)
        except OSError as error:
            raise _write_error(path, error) from error
        self._note("write", path, before, content)

    async def delete(self, path: str) -> None:
        """As `Keeper.delete`."""
        before = await self._text(path)
        try:
            await self.files.remove(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _write_error(path, error) from error
        self._note("delete", path, before, b"")

    async def _text(self, path: str) -> bytes:
        if await self.size(path) > _MAX_DIFFED:
            return b"\0"
        [found] = await self.files.adownload_files([path])
        return found.content or b""

    def _note(self, operation: FileOperation, path: str, before: bytes, after: bytes) -> None:
        self.done.append(path)
        metrics, diff = _diff(path, before, after)
        self.records.append(
            FileOpRecord("keep_files", "", operation, f"/{path}", "success", metrics, diff)
        )


def _diff(path: str, before: bytes, after: bytes) -> tuple[dict[str, int], str | None]:
    """Metrics and diff of a text; of anything else its size."""
    size = {"bytes_written": len(after)}
    if b"\0" in before or b"\0" in after or len(after) > _MAX_DIFFED:
        return size, None
    try:
        metrics, diff = diff_texts(f"/{path}", before.decode(), after.decode())
    except UnicodeDecodeError:
        return size, None
    return {**metrics, **size}, diff


def _relative(path: str) -> str:
    """A path in the form of the sandbox's changes."""
    return path.removeprefix(_INSIDE).lstrip("/")


def _check(changes: list[FileChange], written: frozenset[str], gone: frozenset[str]) -> None:
    """Refuse files that were not changed as the call says.

    Raises:
        BadInput: no file is named, or one that code did not change in this way.
    """
    if not written and not gone:
        raise BadInput(f"Name the files to keep. {unkept_note(changes) or 'Nothing has changed.'}")
    kinds = {change.path: change.kind for change in changes}
    wrong = [path for path in written if kinds.get(path) != "written"]
    wrong += [path for path in gone if kinds.get(path) != "deleted"]
    if wrong:
        named = ", ".join(repr(path) for path in sorted(wrong))
        raise BadInput(
            f"Not changed in this way, or kept already: {named}. Nothing was kept. "
            f"{unkept_note(changes) or 'There is nothing left to keep.'}"
        )


def _write_error(path: str, error: OSError) -> ToolFailed:
    return ToolFailed(f"{path!r} cannot be kept there: {error.strerror or type(error).__name__}.")


def _report(done: CommitResult, uncommitted: list[FileChange]) -> str:
    parts: list[str] = []
    if done.written:
        parts.append(f"Kept in the user's files: {', '.join(done.written)}.")
    if done.deleted:
        parts.append(f"Deleted there: {', '.join(done.deleted)}.")
    if done.left:
        parts.append(
            f"Not kept, because they are too large or were changed meanwhile: "
            f"{', '.join(done.left)}."
        )
    return " ".join([*parts, unkept_note(uncommitted)]).strip()
