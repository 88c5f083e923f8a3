"""A sandbox of one user's conversation, as the rest of DataAgent uses it.

`run_python` runs a cell whose variables persist; `execute` and deepagents' file tools act in the
same place, because this is a deepagents `BaseSandbox`. One thing runs at a time, and cancelling the
caller ends it. The user's workspace is visible but not changed: `uncommitted` returns what differs,
`commit` writes it. Only a project is changed in place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox

from dataagent_core.errors import Conflict
from dataagent_core.sandbox.channel import RunnerChannel
from dataagent_core.sandbox.results import code_result, downloads, file_changes, uploads
from dataagent_core.sandbox.runner.frames import Frame, pack_files
from dataagent_core.sandbox.types import (
    IN_PLACE,
    CodeResult,
    FileChange,
    SandboxHome,
    SandboxLimits,
    Wall,
    WallProcess,
)
from dataagent_core.sandbox.workspace_changes import (
    CommitResult,
    Seen,
    UncommittedChanges,
    WorkspaceWriter,
    changed_batches,
    commit_changes,
)

T = TypeVar("T")

_GRACE_SECONDS = 3.0
"""How much longer than its deadline a run may take to be answered for."""

_ANSWER_SECONDS = 60.0


class SandboxSession(BaseSandbox):
    """Code, commands and files of one conversation, behind a wall."""

    def __init__(self, sandbox_id: str, process: WallProcess, limits: SandboxLimits) -> None:
        self._sandbox_id = sandbox_id
        self._process = process
        self._limits = limits
        self._channel = RunnerChannel(process, self._became_idle)
        self._loop = asyncio.get_running_loop()
        self._uncommitted: UncommittedChanges | None = None  # none without a workspace
        self._is_copied = False  # the workspace is not mounted but followed
        self._seen: Seen = {}
        self._unexamined_ns: int | None = None  # when a run began whose changes have not been read
        self._has_ended = False
        self._uses = 0
        self._has_forgotten = False
        self._on_idle: Callable[[], None] | None = None
        self._on_kill: Callable[[str], None] | None = None

    @classmethod
    async def start(cls, wall: Wall, sandbox_id: str, limits: SandboxLimits) -> SandboxSession:
        """Start a sandbox without an owner; `bind` gives it a workspace.

        Raises:
            SandboxUnavailable: the wall cannot be built.
        """
        process = await wall.start(SandboxHome(sandbox_id), limits)
        return cls(sandbox_id, process, limits)

    @property
    def id(self) -> str:
        """The sandbox's id, by which its owner finds it again."""
        return self._sandbox_id

    @property
    def limits(self) -> SandboxLimits:
        """The sandbox's limits."""
        return self._limits

    @property
    def is_alive(self) -> bool:
        """Whether it can still be used."""
        return not self._has_ended and self._process.is_alive

    @property
    def is_busy(self) -> bool:
        """Whether something is running or waiting."""
        return self._channel.is_busy

    @property
    def uses(self) -> int:
        """How often code or a command was run."""
        return self._uses

    def notify(
        self,
        on_idle: Callable[[], None],
        *,
        on_kill: Callable[[str], None] | None = None,
        has_forgotten: bool,
    ) -> None:
        """Call `on_idle` whenever nothing runs any more, and `on_kill` with why a run was killed.

        `has_forgotten`: an earlier sandbox of the owner is gone, and the next result says so.
        """
        self._on_idle = on_idle
        self._on_kill = on_kill
        self._has_forgotten = has_forgotten

    async def bind(self, wall: Wall, workspace: Path | None) -> None:
        """Give the sandbox its limits and its view of a workspace. Once, before anything else.

        Raises:
            SandboxUnavailable: it could not be set up; nothing has run.
        """
        place = wall.place_of(workspace) if workspace is not None else None
        answer = await self._ask(Frame("bind", {**_limit_fields(self._limits), "workspace": place}))
        if workspace is None or place == IN_PLACE:
            return
        self._is_copied = not answer.fields.get("overlay")
        self._uncommitted = UncommittedChanges(workspace, self._seen if self._is_copied else None)
        await self._send_updates()

    async def run_python(
        self,
        code: str,
        *,
        files: Mapping[str, bytes] | None = None,
        timeout_seconds: float | None = None,
        reset: bool = False,
    ) -> CodeResult:
        """Run code with the state of earlier runs; `reset` discards that first.

        `files` are put into the workspace before. What the code does is never an error here: the
        result's status says how it ended.

        Raises:
            SandboxGone: the sandbox ended; the next one starts clean.
            SandboxUnavailable: the walls could not be built; the code has not run.
        """
        if files:
            await self.aupload_files(list(files.items()))
        return await self._run("python", code, timeout_seconds, {"reset": reset})

    async def run_command(
        self, command: str, *, timeout_seconds: float | None = None
    ) -> CodeResult:
        """Run a shell command in the workspace; as `run_python`, but only its files persist."""
        return await self._run("shell", command, timeout_seconds, {})

    @property
    def uncommitted(self) -> list[FileChange]:
        """Return what differed from the workspace after the last run and was not committed."""
        return [] if self._uncommitted is None else self._uncommitted.changes

    async def changes(self) -> list[FileChange]:
        """Return what differs from the workspace now and was not committed."""
        await self._find_changes(self._unexamined_ns or time.time_ns())
        return self.uncommitted

    async def commit(
        self, writer: WorkspaceWriter, paths: frozenset[str] | None = None
    ) -> CommitResult:
        """Write changes to the workspace: all of them, or the named ones.

        Raises:
            QuotaExceeded: not all of them fit the quota; nothing was changed.
            Conflict: the workspace's files have changed since; nothing was changed.
        """
        found = [c for c in await self.changes() if paths is None or c.path in paths]
        uncommitted = self._uncommitted
        if uncommitted is None:
            return CommitResult((), ())
        conflicting = await asyncio.to_thread(
            uncommitted.conflicting, [each.path for each in found]
        )
        if conflicting:
            raise _overwrite_conflict(conflicting)

        async def done(path: str) -> None:
            await asyncio.to_thread(uncommitted.mark_committed, path)

        return await commit_changes(found, self._fetch, writer, done)

    async def close(self) -> None:
        """End the sandbox and everything in it."""
        self._has_ended = True
        await self._process.kill()

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.aexecute`."""
        result = await self.run_command(command, timeout_seconds=timeout)
        output = result.stdout + result.stderr
        if result.status in _REASONS:
            output += f"\n[ended: {_REASONS[result.status]}]"
        return ExecuteResponse(output, result.exit_code, result.is_cut)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.aupload_files`; relative paths are the workspace's."""
        answer = await self._ask(_put(files))
        return uploads([path for path, _ in files], answer)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.adownload_files`."""
        return downloads(paths, await self._ask(Frame("get", {"paths": paths})))

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Blocking twin of `aexecute`, for threads other than the loop's."""
        return self._from_thread(self.aexecute(command, timeout=timeout))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Blocking twin of `aupload_files`."""
        return self._from_thread(self.aupload_files(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Blocking twin of `adownload_files`."""
        return self._from_thread(self.adownload_files(paths))

    async def _run(
        self, op: str, text: str, timeout_seconds: float | None, fields: dict[str, Any]
    ) -> CodeResult:
        await self._send_updates()
        began_ns, was_left = self._unexamined_ns or time.time_ns(), self._unexamined_ns is not None
        self._unexamined_ns = began_ns
        seconds = self._limits.seconds(timeout_seconds)
        frame = Frame(op, {**fields, "seconds": seconds}, text.encode(errors="replace"))
        self._uses += 1
        kills = self._process.memory_kills
        try:
            answer = await self._ask(frame, seconds + _GRACE_SECONDS)
        except asyncio.CancelledError:
            self._killed("cancelled")
            raise
        result = code_result(answer, ran_out_of_memory=self._process.memory_kills > kills)
        if result.status in _REASONS:
            self._killed(result.status)
        if was_left or answer.fields.get("has_changed"):
            await self._find_changes(began_ns)
        self._unexamined_ns = None
        if self._has_forgotten:
            self._has_forgotten = False
            result = replace(result, state_lost=True, files_lost=True)
        return result

    def _killed(self, cause: str) -> None:
        if self._on_kill is not None:
            self._on_kill(cause)

    def _became_idle(self) -> None:
        if self._on_idle is not None:
            self._on_idle()

    async def _ask(self, frame: Frame, seconds: float = _ANSWER_SECONDS) -> Frame:
        return await self._channel.ask(frame, seconds)

    async def _find_changes(self, began_ns: int) -> None:
        """Find what differs from the workspace after a run that began at that time."""
        if self._uncommitted is not None:
            found = file_changes(await self._ask(Frame("changes")))
            await asyncio.to_thread(self._uncommitted.update, found, began_ns=began_ns)

    async def _fetch(self, path: str) -> bytes | None:
        [download] = await self.adownload_files([path])
        return download.content

    async def _send_updates(self) -> None:
        """Send workspace changes that the sandbox does not see by itself."""
        uncommitted = self._uncommitted
        if uncommitted is None:
            return
        deleted_files = (
            await asyncio.to_thread(uncommitted.deleted_files)
            if self._has_copies(uncommitted)
            else []
        )
        if deleted_files:
            await self._ask(Frame("drop", {"files": deleted_files}))
        if not self._is_copied:
            if not uncommitted.has_copies:
                return
            newer_files = await asyncio.to_thread(uncommitted.newer_files, self._limits.file_bytes)
            if newer_files:
                await self._send(newer_files, uncommitted)
            return
        batches = changed_batches(
            uncommitted.workspace, self._limits, self._seen, exclude=uncommitted.paths
        )
        while (batch := await asyncio.to_thread(_next, batches)) is not None:
            await self._send(batch, uncommitted)

    async def _send(self, files: list[tuple[str, bytes]], uncommitted: UncommittedChanges) -> None:
        """Send files as the workspace has them, and note those that did not fit."""
        answer = await self._ask(_put(files, known=True))
        for each in uploads([path for path, _ in files], answer):
            if each.error is not None:
                uncommitted.mark_missing(each.path)

    def _has_copies(self, uncommitted: UncommittedChanges) -> bool:
        return self._is_copied or uncommitted.has_copies

    def _from_thread(self, work: Coroutine[Any, Any, T]) -> T:  # Any: asyncio's own
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            work.close()
            raise RuntimeError("This blocks the loop it waits for; use the async twin.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_REASONS = {
    "timeout": "it took longer than it may",
    "memory": "it used more memory than it may",
    "killed": "its process was ended",
}


def _overwrite_conflict(paths: list[str]) -> Conflict:
    named = ", ".join(repr(path) for path in paths)
    return Conflict(
        f"Changed in the workspace since the code ran: {named}. Nothing was kept. Read what is "
        "there now, and have the code write its result under another name.",
        details={"paths": paths},
    )


def _put(files: list[tuple[str, bytes]], *, known: bool = False) -> Frame:
    listed, body = pack_files(files)
    return Frame("put", {"files": listed, "known": known}, body)


def _next(batches: Iterator[list[tuple[str, bytes]]]) -> list[tuple[str, bytes]] | None:
    return next(batches, None)


def _limit_fields(limits: SandboxLimits) -> dict[str, float]:
    return {
        "memory": limits.memory_bytes,
        "processes": limits.processes,
        "file": limits.file_bytes,
        "disk": limits.disk_bytes,
        "inodes": limits.inodes,
        "output": limits.output_bytes,
        "harvest_files": limits.harvest_files,
        "harvest_bytes": limits.harvest_bytes,
        "cpus": limits.cpus,
    }
