"""A long answer on a real screen (pyte's): no line twice, none lost, whatever it is made of."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO

import pyte
import pytest
from rich.console import Console

from dataagent_cli.ui import TerminalRenderer
from dataagent_core.events import DoneEvent, TextEvent, ToolCallEvent, ToolResultEvent
from tests.requirements import requirement

PARAGRAPHS = "".join(
    f"Paragraph P{n:03} says **something** that is long enough to be broken once, surely.\n\n"
    for n in range(12)
)
CODE = "```python\n" + "".join(f"line = 'L{n:03}'  # 中文\n" for n in range(40)) + "```\n\n"
TABLE = "| 地区 | n |\n|---|---:|\n" + "".join(f"| T{n:03} | {n} |\n" for n in range(30)) + "\n"
ITEMS = "".join(f"- item I{n:03}\n" for n in range(12))


class Terminal:
    """A renderer whose output goes to a terminal that remembers what has scrolled away."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.screen = pyte.HistoryScreen(width, height, history=5_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)
        self.file = StringIO()
        self.console = Console(
            file=self.file, force_terminal=True, width=width, height=height, _environ={}
        )
        self.seconds = 0.0
        self.renderer = TerminalRenderer(
            self.console,
            self.console,
            clock=lambda: self.seconds,
            is_animated=False,
            reflows=False,  # pyte cuts long lines when it gets narrower
        )

    def resize(self, width: int, height: int) -> None:
        self._look()
        self.screen.resize(height, width)
        # a pair is a ConsoleDimensions
        self.console.size = (width, height)  # pyright: ignore[reportAttributeAccessIssue]

    def say(self, text: str, *, size: int = 37) -> None:
        for start in range(0, len(text), size):
            self.renderer.render(TextEvent(content=text[start : start + size]))
            self.seconds += 0.02
            self._look()

    def _look(self) -> None:
        self._stream.feed(self.file.getvalue().replace("\n", "\r\n"))
        self.file.seek(0)
        self.file.truncate()

    @property
    def lines(self) -> list[str]:
        """Everything, from the first line that scrolled away to the last on the screen."""
        self._look()
        gone = [
            "".join(row[at].data for at in range(self.screen.columns))
            for row in self.screen.history.top
        ]
        return [line.rstrip() for line in [*gone, *self.screen.display]]


@requirement("R9.1", "R9.2")
@pytest.mark.parametrize("size", [19, 80, 4_000], ids=["slow", "usual", "fast"])
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_of_a_long_answer_is_lost_or_shown_twice(size: int, width: int) -> None:
    terminal = Terminal(width)
    terminal.renderer.begin()
    terminal.say(PARAGRAPHS + CODE + TABLE + ITEMS, size=size)
    terminal.renderer.render(DoneEvent())
    counted = Counter(re.findall(r"\b[PLTI]\d{3}\b", "\n".join(terminal.lines)))
    expected = {f"{kind}{n:03}" for kind, most in KINDS.items() for n in range(most)}
    assert counted == dict.fromkeys(expected, 1)
    assert not any("Ctrl-C stops" in line for line in terminal.lines)


KINDS = {"P": 12, "L": 40, "T": 30, "I": 12}


@pytest.mark.parametrize("after", [(50, 24), (80, 12), (120, 40)])
def test_a_resize_in_the_middle_loses_nothing(after: tuple[int, int]) -> None:
    terminal = Terminal()
    terminal.renderer.begin()
    terminal.say(PARAGRAPHS[:300])
    terminal.resize(*after)
    terminal.say(PARAGRAPHS[300:])
    terminal.renderer.render(DoneEvent())
    counted = Counter(re.findall(r"\bP\d{3}\b", "\n".join(terminal.lines)))
    assert counted == dict.fromkeys((f"P{n:03}" for n in range(12)), 1)


def test_a_shrinking_terminal_that_breaks_lines_anew_is_cleared_of_all_of_them() -> None:
    terminal = Terminal()
    renderer = TerminalRenderer(
        terminal.console, terminal.console, clock=lambda: terminal.seconds, is_animated=False
    )
    renderer.begin()
    terminal.console.size = (16, 24)  # pyright: ignore[reportAttributeAccessIssue] as above
    terminal.file.truncate(0)
    renderer.render(TextEvent(content="x"))
    rows = terminal.file.getvalue().count("\x1b[2K")
    assert rows == 2, "'⠋ thinking · 0 s · Ctrl-C stops' takes two rows of sixteen columns"


def test_a_sub_agents_work_is_indented_and_its_time_its_own() -> None:
    terminal = Terminal()
    terminal.renderer.begin()
    call = ToolCallEvent(
        tool_name="grep", tool_args={"pattern": "x"}, tool_call_id="1", agent="research"
    )
    terminal.renderer.render(call)
    terminal.renderer.pause()
    terminal.seconds += 100  # somebody thinks about approving it
    terminal.renderer.resume()
    terminal.seconds += 2
    terminal.renderer.resume()
    assert "grep x · 2 s" in "\n".join(terminal.lines)
    terminal.renderer.render(ToolResultEvent(tool_call_id="1", tool_name="grep", result="found"))
    terminal.renderer.render(DoneEvent())
    assert "  ⌕ grep [research]  pattern=x" in terminal.lines
    assert "    └ found" in terminal.lines
