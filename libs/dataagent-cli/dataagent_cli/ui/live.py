"""The lines at the bottom of the screen that change: the unfinished block and the spinner.

Everything else is printed once and stays. On anything but a terminal there are no such lines.
`renderer.py` says what is going on; this file only draws it.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from dataagent_cli.ui.clean import printable
from dataagent_cli.ui.markdown import Answer

_REFRESH_PER_SECOND = 10
_ROWS_KEPT_FREE = 3
_DRAWN_TAIL = 6000  # a longer unfinished block is shown as it came, until it is finished


class LiveArea:
    """What changes at the bottom of a terminal; hidden before anything else is printed."""

    def __init__(
        self, console: Console, *, clock: Callable[[], float], is_animated: bool = True
    ) -> None:
        self._console = console
        self._clock = clock
        self._is_animated = is_animated
        self._live: Live | None = None
        self._tail = ""
        self._spinner = Spinner("dots" if not console.options.ascii_only else "line")
        self._activity = ""
        self._since = clock()

    def restart(self) -> None:
        """Count the seconds from now."""
        self._since = self._clock()

    def show(self, *, activity: str, tail: str = "") -> None:
        """Draw a spinner with what is going on, below an unfinished block of Markdown."""
        self._activity, self._tail = activity, tail
        if not self._console.is_terminal:
            return
        if self._live is None:
            self._live = Live(
                self,
                console=self._console,
                auto_refresh=self._is_animated,
                refresh_per_second=_REFRESH_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)

    def hide(self) -> None:
        """Erase the area; what is printed next stands in its place."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        tail = self._tail
        if tail.strip():
            is_short = len(tail) <= _DRAWN_TAIL
            drawn = Answer(tail) if is_short else Text(printable(tail[-_DRAWN_TAIL:]))
            room = max(console.height - _ROWS_KEPT_FREE, 1)
            for line in console.render_lines(drawn, options, pad=False)[-room:]:
                yield from line
                yield Segment.line()
        seconds = int(self._clock() - self._since)
        self._spinner.text = Text(f"{self._activity} · {seconds} s · Ctrl-C stops", style="dim")
        yield self._spinner
