"""The folder a person stands in, as the workspace of their agents.

There is no quota and nothing is created or measured; it is confined like any workspace. `.git` is
read-only, searches leave out what Git ignores, and changes by file tools are recorded for undo.
Files whose names suggest keys or passwords are shown to a model only after approval; a secret in a
file with an ordinary name is not protected.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final

from deepagents.backends.protocol import FileDownloadResponse, GrepResult, ReadResult

from dataagent_core.errors import BadInput, Denied
from dataagent_core.identity import RunContext
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.backend import FolderBackend
from dataagent_core.workspace.current_run import current_run
from dataagent_core.workspace.files import FileProblem, explain, transfer_code
from dataagent_core.workspace.jail import Jail, shorten, split_path, walk
from dataagent_core.workspace.journal import FileState, Journal
from dataagent_core.workspace.path_patterns import GIT
from dataagent_core.workspace.search import SearchScope
from dataagent_core.workspace.workers import FileWorkers

_FOLDERS: Final = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube"})
_NAMES: Final = (
    ".env",
    ".env.*",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "credentials",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account*.json",
)
_EXAMPLES: Final = (".env.dist", ".env.example", ".env.sample", ".env.template")


def is_secret(steps: Sequence[str]) -> bool:
    """Whether the name of a file, given by its path's steps, suggests secrets."""
    if not steps:
        return False
    name = steps[-1].casefold()
    if name in _EXAMPLES:
        return False
    if any(step.casefold() in _FOLDERS for step in steps[:-1]):
        return True
    return any(fnmatchcase(name, pattern) for pattern in _NAMES)


logger = logging.getLogger(__name__)
MEMORY_FILES: Final = ("AGENTS.md", "CLAUDE.md")
"""What a project says about itself; the first one that is there."""

_MAX_MEMORY: Final = 256 * 1024
_MAX_DELETED: Final = 5_000
_Changed = list[tuple[str, FileState | None]]


class Project:
    """One folder, with the record of changes in it."""

    def __init__(self, root: Path, records: Path) -> None:
        """Records are stored below `records`, outside of the folder."""
        self.jail = Jail(root, read_only=frozenset({GIT}))
        self.journal = Journal(records, self.jail)
        self._memory: tuple[str, tuple[int, int, int], bytes] | None = None

    @property
    def root(self) -> Path:
        """The folder on the host."""
        return self.jail.root

    def memory(self) -> tuple[str, bytes] | None:
        """Return the project's memory by name and text, read again after a change; None without
        one.

        A link out of the project is none. A long one is cut.
        """
        for name in MEMORY_FILES:
            try:
                descriptor = self.jail.open_file(name)
            except (OSError, Denied):
                continue
            with os.fdopen(descriptor, "rb") as file:
                about = os.fstat(descriptor)
                stamp = (about.st_ino, about.st_size, about.st_mtime_ns)
                if self._memory is None or self._memory[:2] != (name, stamp):
                    self._memory = (name, stamp, file.read(_MAX_MEMORY))
            return name, self._memory[2]
        return None


class ProjectBackend(FolderBackend):
    """A project's files, the same for everyone who opens it."""

    def __init__(self, project: Project, workers: FileWorkers) -> None:
        super().__init__(project.root, workers)
        self._jail = project.jail
        self._journal = project.journal
        self._journal_lock = threading.Lock()  # held by worker threads, never by the loop

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.aread`; a file with secrets only under its own name."""
        try:
            await self._workers.run(partial(self._require_named, file_path))
        except FileProblem as error:
            return ReadResult(error=explain("read", file_path, error))
        return await super().aread(file_path, offset, limit)

    async def _download(self, path: str) -> FileDownloadResponse:
        try:
            await self._workers.run(partial(self._require_named, path))
        except FileProblem as error:
            return FileDownloadResponse(path=path, error=transfer_code(error))
        return await super()._download(path)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.agrep`; files with secrets only if the path names one."""
        try:
            await self._workers.run(partial(self._require_named, path or "/"))
        except FileProblem as error:
            return GrepResult(error=explain("search", path or "/", error))
        return await super().agrep(pattern, path, glob, max_count=max_count)

    def _scope(self, path: str | None) -> SearchScope:
        return SearchScope(path or "/", leave_ignored=True, is_closed=is_secret)

    def _require_named(self, path: str) -> None:
        """Require that a file with secrets is named: approval goes by its name.

        Raises:
            Denied: the path is a link to such a file.
        """
        if is_secret(self._jail.resolve_steps(path)) and not is_secret(split_path(path)):
            raise Denied(
                f"'{shorten(path)}' is a link to a file with secrets. Name that file itself."
            )

    async def _store(self, path: str, content: bytes, expected: bytes | None = None) -> None:
        work = partial(self._replace, path, content, expected)
        await self._run_journaled(partial(self._before_write, path), work)

    async def _remove(self, path: str) -> None:
        work = partial(disk.remove, self._jail, path)
        await self._run_journaled(partial(self._before_delete, path), work)

    async def _run_journaled(self, before: Callable[[], _Changed], work: Callable[[], int]) -> None:
        """Run the operation; in a run, record what was there before."""
        await self._workers.run(partial(self._note, current_run(), before, work))

    def _note(
        self, run: RunContext | None, before: Callable[[], _Changed], work: Callable[[], int]
    ) -> None:
        with self._journal_lock:  # what is noted first must be the first state
            found = before()
            work()
            if run is None:
                return
            try:
                self._journal.note(run.session_id, run.run_id, found)
            except OSError:  # the change is made all the same
                logger.exception("a change was not noted: it cannot be taken back")

    def _before_write(self, path: str) -> _Changed:
        place = "/".join(self._jail.resolve_steps(path))
        return [(place, self._journal.before(place))]

    def _before_delete(self, path: str) -> _Changed:
        """Return the files that are deleted with the path, without links.

        Raises:
            Denied: a Git repository would go.
            BadInput: there are too many to be taken back.
        """
        if not split_path(path):  # it is refused anyway
            return []
        *folders, name = split_path(path)
        place = "/".join((*self._jail.resolve_steps("/".join(folders)), name))
        with self._jail.place(place, follow_last=False) as found:
            kind = found.stat().st_mode
        if stat.S_ISREG(kind):
            return [(place, self._journal.before(place))]
        return [] if stat.S_ISLNK(kind) else self._tree(place)

    def _tree(self, path: str) -> _Changed:
        below: list[str] = []
        with self._jail.directory(path) as directory:
            for steps, names, descriptor in walk(directory, _no_repository):
                below += ("/".join((path, *steps, n)) for n in _plain(names, descriptor))
                if len(below) > _MAX_DELETED:
                    raise BadInput(
                        f"There are more than {_MAX_DELETED} files in it, too many to be taken "
                        "back. Delete parts of it, or use a command"
                    )
        return [(each, self._journal.before(each)) for each in below]


def _no_repository(steps: tuple[str, ...], _directory: int, folders: list[str]) -> list[str]:
    if GIT in map(str.casefold, folders):
        where = "/".join((*steps, GIT))
        raise Denied(f"There is a Git repository in it ('{where}'), which is only read here")
    return folders


def _plain(names: Iterable[str], directory: int) -> list[str]:
    """Return those that are regular files."""
    return [
        name
        for name in names
        if stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    ]
