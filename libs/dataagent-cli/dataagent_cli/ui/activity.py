"""What goes on right now, and since when: what the spinner says. No drawing.

The time of a call is the call's own: how long somebody thought about approving it does not count.
Above: `renderer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.describe import short_args
from dataagent_core.events import ToolCallEvent, ToolResultEvent

_THINKING = "thinking"
_INDENT = "  "
_ARGUMENT_CELLS = 40


@dataclass(slots=True)
class _Call:
    title: str
    since: float
    indent: str


class ActivityTracker:
    """Follows calls from their beginning to their end."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, _Call] = {}
        self._saying = _THINKING
        self._since = clock()
        self._paused_at: float | None = None

    @property
    def now(self) -> tuple[str, float]:
        """What goes on and since when: the oldest call that runs, else what is said."""
        for call in self._calls.values():
            return call.title, call.since
        return self._saying, self._since

    def begin(self) -> None:
        """A turn starts."""
        self._calls = {}
        self._paused_at = None
        self._set_activity(_THINKING)

    def say(self, what: str) -> None:
        """No call, but something else goes on."""
        if what != self._saying:
            self._set_activity(what)

    def call(self, event: ToolCallEvent) -> str:
        """A call begins; how far its lines are indented: a sub-agent's are."""
        indent = "" if event.subagent is None else _INDENT
        first = dict(list(event.tool_args.items())[:1])
        argument = short_args(first, _ARGUMENT_CELLS).partition("=")[2]
        title = f"{one_line(event.tool_name)} {argument}".strip()
        self._calls[event.tool_call_id] = _Call(title, self._clock(), indent)
        return indent

    def end(self, event: ToolResultEvent) -> str:
        """A call has ended; how far its lines are indented."""
        call = self._calls.pop(event.tool_call_id, None)
        self._set_activity(_THINKING)
        return "" if call is None else call.indent

    def pause(self) -> None:
        """The time stands still."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    def resume(self) -> None:
        """It goes on."""
        if self._paused_at is None:
            return
        waited, self._paused_at = self._clock() - self._paused_at, None
        self._since += waited
        for call in self._calls.values():
            call.since += waited

    def _set_activity(self, what: str) -> None:
        self._saying, self._since = what, self._clock()
