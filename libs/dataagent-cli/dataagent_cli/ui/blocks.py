"""Growing Markdown, cut into blocks that will not change any more. No Rich, no terminal.

A streamed answer is shown without flicker when what is finished is printed once and for all, and
only the unfinished end is redrawn. `BlockSplitter` finds where the finished part ends. It reads
each line once, so a long answer costs no more per line than a short one.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class BlockSplitter:
    """Takes text as it comes; gives back finished blocks. Joined, they are the text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence: str | None = None
        self._is_list = False
        self._after_blank = False

    @property
    def tail(self) -> str:
        """What has come and is not finished yet."""
        return "".join(self._lines) + self._partial

    def feed(self, text: str) -> list[str]:
        """Add text; the blocks that are finished by it, in order."""
        *complete, self._partial = (self._partial + text).split("\n")
        finished: list[str] = []
        for line in complete:
            if self._starts_block(line):
                finished.append(self._take())
            self._add(line)
            if self._ends_block(line):
                finished.append(self._take())
        return finished

    def flush(self) -> str:
        """All that is left; the splitter is as new."""
        rest = self.tail
        self.__init__()
        return rest

    def _take(self) -> str:
        block = "".join(self._lines)
        self._lines = []
        self._is_list = False
        return block

    def _starts_block(self, line: str) -> bool:
        """Whether the line opens a block, so that the lines before it are finished."""
        if self._fence or not self._lines or not line.strip():
            return False
        if self._is_list and (line[0] in " \t" or _LIST_ITEM.match(line)):
            return False
        return self._after_blank or (not self._is_list and bool(_FENCE.match(line)))

    def _ends_block(self, line: str) -> bool:
        """Whether the line was the closing fence of a code block that stood for itself."""
        opening = _FENCE.match(self._lines[0])
        return (
            len(self._lines) > 1
            and self._fence is None
            and opening is not None
            and _FENCE.match(line) is not None
        )

    def _add(self, line: str) -> None:
        if not self._lines:
            self._is_list = bool(_LIST_ITEM.match(line))
        self._lines.append(line + "\n")
        self._after_blank = not line.strip()
        # inside a list an indented fence opens and closes as well
        fence = _FENCE.match(line.lstrip() if self._is_list else line)
        if fence is None:
            return
        if self._fence is None:
            self._fence = fence[1]
        elif fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = None
