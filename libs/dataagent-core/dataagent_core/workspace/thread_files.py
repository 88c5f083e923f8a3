"""Files that live in the thread: deepagents' own, with patterns that are matched as everywhere.

deepagents matches patterns by backtracking, which a pattern with many `**` makes endless. So they
are matched here, over what it lists without one. Above: `engine/factory.py`.
"""

from __future__ import annotations

from typing import Final

from deepagents.backends import StateBackend
from deepagents.backends.protocol import GlobResult, GrepResult
from deepagents.backends.utils import InvalidGlobPatternError

from dataagent_core.workspace.patterns import IncludeGlob
from dataagent_core.workspace.search import Budget

_EVERYTHING: Final = "{*,.*}"
_SECONDS: Final = 5.0


class ThreadFiles(StateBackend):
    """The files of a thread."""

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `BackendProtocol.glob`."""
        try:
            wanted = _GlobFilter(pattern, path)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        found = super().glob(_EVERYTHING, path)
        matches = [each for each in found.matches or [] if wanted.has(each["path"])]
        return GlobResult(matches=matches, truncated=wanted.is_cut, error=found.error)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """As `BackendProtocol.grep`."""
        if not glob:
            return super().grep(pattern, path, max_count=max_count)
        try:
            wanted = _GlobFilter(glob, path)
        except InvalidGlobPatternError as error:
            return GrepResult(error=str(error))
        found = super().grep(pattern, path)
        matches = [each for each in found.matches or [] if wanted.has(each["path"])]
        is_cut = wanted.is_cut or (max_count is not None and len(matches) > max_count)
        return GrepResult(matches=matches[:max_count], truncated=is_cut, error=found.error)


class _GlobFilter:
    """Which files below a path a pattern means."""

    def __init__(self, pattern: str, path: str | None) -> None:
        self._glob = IncludeGlob(pattern)
        self._below = f"/{(path or '').strip('/')}".rstrip("/")
        self._budget = Budget(_SECONDS)

    @property
    def is_cut(self) -> bool:
        return self._budget.is_cut

    def has(self, path: str) -> bool:
        if not self._budget.count_entry():
            return False
        relative = path.removeprefix(f"{self._below}/")
        if path == self._below:  # the search begins at a file
            relative = path.rpartition("/")[2]
        return self._glob.matches(relative, self._budget.spend)
