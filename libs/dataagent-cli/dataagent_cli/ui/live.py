"""The lines at the bottom of the screen that change: the unfinished block and the spinner.

Everything else is printed once. What is erased, printed and drawn anew is written in one piece, so
that nothing flickers. Without a terminal there are no such lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import ControlType, Segment
from rich.text import Text

from dataagent_cli.ui.clean import printable
from dataagent_cli.ui.describe import shorten
from dataagent_cli.ui.markdown import AnswerMarkdown

_TICK_SECONDS = 0.1
_ROWS_KEPT_FREE = 3
_MOST_ROWS = 20  # of the unfinished block; more would be left behind when a window shrinks
_DRAWN_TAIL = 6000  # a longer unfinished block is shown as it came, until it is finished
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # drawn at once, where the terminal can
_FRAMES, _ASCII_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"


class _Drawn:
    """Temporary output; to Rich it is control codes, which are not part of what was printed."""

    def __init__(self, codes: str) -> None:
        self._codes = codes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options  # the same on each
        yield Segment(self._codes, None, [(ControlType.ERASE_IN_LINE, 2)])


class LiveArea:
    """The changing area at the bottom of a terminal; hidden before anything else is printed.

    `reflows` says that the terminal breaks long lines anew when it gets narrower, as most do.
    """

    def __init__(
        self,
        console: Console,
        *,
        clock: Callable[[], float],
        is_animated: bool = True,
        reflows: bool = True,
    ) -> None:
        self._console = console
        self._clock = clock
        self._is_animated = is_animated
        self._reflows = reflows
        self._frames = _ASCII_FRAMES if console.options.ascii_only else _FRAMES
        self._lines: list[int] = []  # how wide the drawn lines are
        self._width = console.width
        self._is_shown = False
        self._tail = ""
        self._activity = ""
        self._since = clock()
        self._drawn_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def show(self, *, activity: str, since: float, tail: str = "") -> None:
        """Draw a spinner with the activity and its duration, below an unfinished block."""
        self._activity, self._since, self._tail = activity, since, tail
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        is_late = self._clock() - self._drawn_at >= _TICK_SECONDS / 2
        if not self._is_shown or is_late or not self._schedule():
            self._is_shown = True
            self._draw()
        self._schedule()

    def print(self, content: RenderableType) -> None:
        """Print something permanently, above the area."""
        if self._is_shown:
            self._draw(above=content)
        else:
            self._console.print(content)

    def hide(self) -> None:
        """Erase the area; the next output replaces it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_shown:
            self._is_shown = False
            self._console.print(_Drawn(f"{self._erase_codes()}{_SHOW_CURSOR}"))

    # -- drawing ----------------------------------------------------------------------------

    def _schedule(self) -> bool:
        """Schedule the next drawing; False if nothing would draw it."""
        if not self._is_animated:
            return False
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._timer is None and self._is_shown:
            self._timer = loop.call_later(_TICK_SECONDS, self._tick)
        return self._is_shown

    def _tick(self) -> None:
        self._timer = None
        if self._is_shown:
            self._draw()
            self._schedule()

    def _draw(self, above: RenderableType | None = None) -> None:
        erased = self._erase_codes()
        lines = [*self._tail_lines(), self._spinner_line()]
        self._lines = [cell_len(Text.from_ansi(line).plain) for line in lines]
        self._width = self._console.width
        self._drawn_at = self._clock()
        drawn = "\n".join(lines)
        start, end = _Drawn(f"{_BEGIN}{_HIDE_CURSOR}{erased}"), _Drawn(f"{drawn}{_END}")
        self._console.print(Group(start, end) if above is None else Group(start, above, end))

    def _erase_codes(self) -> str:
        """Back to the first row of the area, each row cleared on the way.

        Not all at once from the top: tmux would keep what it clears in its history.
        """
        rows, self._lines = self._rows(), []
        return "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (rows - 1) if rows else ""

    def _rows(self) -> int:
        """The rows that the drawn lines take now; more than before if the window shrank."""
        width = max(self._console.width, 1)
        if width >= self._width or not self._reflows:
            rows = len(self._lines)
        else:
            rows = sum(max(-(-cells // width), 1) for cells in self._lines)
        return min(rows, self._console.height)

    def _tail_lines(self) -> list[str]:
        tail = self._tail
        if not tail.strip():
            return []
        is_short = len(tail) <= _DRAWN_TAIL
        drawn = AnswerMarkdown(tail) if is_short else Text(printable(tail[-_DRAWN_TAIL:]))
        room = min(max(self._console.height - _ROWS_KEPT_FREE, 1), _MOST_ROWS)
        return self._capture(drawn).rstrip("\n").split("\n")[-room:]

    def _spinner_line(self) -> str:
        now = self._clock()
        frame = self._frames[int(now / _TICK_SECONDS) % len(self._frames)]
        seconds = f" · {int(now - self._since)} s · Ctrl-C stops"
        room = max(self._console.width - len(seconds) - 3, 8)
        line = Text(f"{frame} ", style="cyan")
        line.append(f"{shorten(self._activity, room)}{seconds}", style="dim")
        line.truncate(max(self._console.width - 1, 1))
        return self._capture(line).rstrip("\n")

    def _capture(self, content: RenderableType) -> str:
        with self._console.capture() as captured:
            self._console.print(content)
        return captured.get()
