"""What the drawn terminal shows for each kind of event."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dataagent_cli.ui import PlainRenderer, TerminalRenderer
from dataagent_core.events import (
    EVENT_CLASSES,
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import ActionRequest
from tests.requirements import requirement

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """A renderer on two recorded consoles, with a clock that the test moves."""

    def __init__(
        self, *, is_terminal: bool = True, width: int = 80, has_color: bool = True
    ) -> None:
        self.seconds = 0.0
        self.out_file, self.err_file = StringIO(), StringIO()
        self.renderer = TerminalRenderer(
            self._console(self.out_file, is_terminal, width, has_color),
            self._console(self.err_file, is_terminal, width, has_color),
            clock=lambda: self.seconds,
            is_animated=False,
        )

    @staticmethod
    def _console(file: StringIO, is_terminal: bool, width: int, has_color: bool) -> Console:
        return Console(
            file=file,
            force_terminal=is_terminal,
            width=width,
            height=25,
            color_system="truecolor" if has_color else None,
            no_color=not has_color,
            highlight=False,
            legacy_windows=False,
            _environ={},
        )

    def show(self, *events: AnyEvent) -> Screen:
        for event in events:
            self.renderer.render(event)
        return self

    @property
    def out(self) -> str:
        return ANSI.sub("", self.out_file.getvalue())

    @property
    def err(self) -> str:
        return ANSI.sub("", self.err_file.getvalue())


def one_of_each() -> list[AnyEvent]:
    return [
        TextEvent(content="# Title\n\nbody", is_final=True),
        ThinkingEvent(content="hm"),
        ToolCallEvent(tool_name="read_file", tool_args={"path": "/a"}, tool_call_id="1"),
        ToolResultEvent(tool_call_id="1", tool_name="read_file", result="text"),
        HITLRequestEvent(request_id="r", action=ActionRequest("shell", {"command": "ls"})),
        TodoUpdateEvent(todos=[{"content": "look", "status": "completed"}]),
        FileOperationEvent(operation="write", file_path="/a", diff="@@ -0,0 +1 @@\n+a"),
        ArtifactEvent(artifact_id="x", kind="table", title="Sales", url="/api/v1/artifacts/x"),
        ErrorEvent(error="no", error_code="model_unavailable", recoverable=True),
        DoneEvent(token_usage={"input_tokens": 1200, "output_tokens": 34, "total_tokens": 1234}),
    ]


@requirement("R9.1", "R9.2")
def test_each_kind_of_event_has_a_method_and_shows_something() -> None:
    assert {type(event) for event in one_of_each()} == set(EVENT_CLASSES)
    for event in one_of_each():
        screen = Screen()
        assert callable(getattr(screen.renderer, f"render_{event.event_type}"))
        screen.show(event, DoneEvent(reason="failed"))
        assert (screen.out + screen.err).replace("failed", "").strip()


@requirement("R9.1", "R9.2")
def test_without_a_console_it_draws_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    renderer = TerminalRenderer()
    for event in one_of_each():
        renderer.render(event)
    printed = capsys.readouterr()
    for shown in ("Title", "▷ read_file  path=/a", "[x] look", "✎ write /a (+1 −0)", "error: no"):
        assert shown in printed.out
    assert printed.err == ""


@requirement("R9.1", "R9.3", "R9.6")
@pytest.mark.parametrize("is_terminal", [True, False])
def test_one_console_has_it_all_and_a_record_of_it_has_no_spinner(*, is_terminal: bool) -> None:
    file = StringIO()
    console = Console(
        file=file, force_terminal=is_terminal, width=80, height=25, record=True, _environ={}
    )
    renderer = TerminalRenderer(console)
    renderer.begin()
    for event in one_of_each():
        renderer.render(event)
    renderer.render(TextEvent(content="One.\n\nTwo."))
    renderer.render(DoneEvent())
    recorded = console.export_text()
    lines = [line.strip() for line in recorded.splitlines()]
    for shown in ("Title", "body", "✻ thought", "▷ read_file  path=/a", "└ text", "One.", "Two."):
        assert lines.count(shown) == 1, shown
    assert "Ctrl-C stops" not in recorded
    assert ("Ctrl-C stops" in file.getvalue()) is is_terminal


@requirement("R9.6")
def test_a_terminal_that_cannot_move_its_cursor_has_no_spinner() -> None:
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=80, _environ={"TERM": "dumb"})
    renderer = TerminalRenderer(console, clock=lambda: 0.0)
    renderer.begin()
    renderer.render(TextEvent(content="One.\n\nTwo."))
    renderer.render(DoneEvent())
    assert [line for line in file.getvalue().split("\n") if line] == ["One.", "Two.", "0.0 s"]


@requirement("R9.3")
def test_text_is_formatted_as_markdown() -> None:
    screen = Screen().show(
        TextEvent(content="Some **bold** and:\n\n- one\n- two\n\n```python\nx = 1\n```\n"),
        DoneEvent(),
    )
    assert "**" not in screen.out
    assert "\x1b[1mbold" in screen.out_file.getvalue()
    assert " • one" in screen.out
    assert "```" not in screen.out


@requirement("R9.3")
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_streamed_text_is_printed_once_however_it_is_cut(size: int) -> None:
    text = "Intro line\nsecond\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n1. x\n\n2. y\n\nThe end."
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    streamed = Screen(is_terminal=False).show(
        *(TextEvent(content=piece) for piece in pieces), TextEvent(content="", is_final=True)
    )
    at_once = Screen(is_terminal=False).show(TextEvent(content=text), DoneEvent())
    assert streamed.out == at_once.out
    for word in ("Intro", "second", "The end."):
        assert streamed.out.count(word) == 1


@requirement("R9.3")
def test_text_that_markdown_would_swallow_is_shown() -> None:
    screen = Screen().show(
        TextEvent(content="List<int> and <b>x</b>\nline two [site](https://example.com)"),
        DoneEvent(),
    )
    assert "List<int> and <b>x</b>\n" in screen.out
    assert "line two site (https://example.com)" in screen.out


@requirement("R9.4")
def test_a_call_shows_its_icon_and_shortened_arguments_on_one_line() -> None:
    query = "SELECT *\n" + "FROM t " * 50
    screen = Screen().show(
        ToolCallEvent(tool_name="sql_db_query", tool_args={"query": query}, tool_call_id="1")
    )
    lines = screen.err.strip().split("\n")
    assert len(lines) == 1
    assert lines[0].startswith("▤ sql_db_query  query=SELECT * FROM t")
    assert lines[0].endswith("…")
    assert cell_len(lines[0]) <= 80


@requirement("R9.4")
def test_wide_characters_are_counted_as_two_columns() -> None:
    screen = Screen().show(
        ToolCallEvent(tool_name="search", tool_args={"q": "数据智能助手" * 20}, tool_call_id="1"),
        ToolResultEvent(tool_call_id="1", tool_name="search", result="结果" * 80),
    )
    lines = screen.err.strip("\n").split("\n")
    assert len(lines) == 2
    assert all(cell_len(line) <= 80 for line in lines)


@requirement("R8.5")
@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("success", "└ 3 rows (+1 lines)"),
        ("error", "✗ 3"),
        ("denied", "denied"),
        ("timeout", "timed"),
    ],
)
def test_a_result_shows_how_the_call_went(status: Any, said: str) -> None:
    screen = Screen().show(
        ToolResultEvent(tool_call_id="1", tool_name="t", result="3 rows\nx", status=status)
    )
    assert said in screen.err


@requirement("R9.5")
def test_a_file_operation_shows_its_diff_and_statistics() -> None:
    diff = "--- a\n+++ b\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3"
    screen = Screen().show(
        FileOperationEvent(operation="edit", file_path="/notes.md", diff=diff, metrics={})
    )
    assert "✎ edit /notes.md (+2 −1)" in screen.err
    assert "\x1b[31m  -two" in screen.err_file.getvalue()
    assert "\x1b[32m  +2" in screen.err_file.getvalue()


@requirement("R9.5")
def test_statistics_that_are_not_known_are_not_made_up() -> None:
    screen = Screen().show(
        FileOperationEvent(operation="edit", file_path="/a", diff="[diff left out: too large]"),
        FileOperationEvent(operation="write", file_path="/b", status="error"),
        FileOperationEvent(operation="read", file_path="/c", metrics={"lines_read": 7}),
    )
    assert "✎ edit /a\n" in screen.err
    assert "✎ write /b" in screen.err
    assert "failed" in screen.err
    assert "▷ read /c (7 lines)" in screen.err


@requirement("R9.5")
def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = "@@ -0,0 +1,100 @@\n" + "\n".join(f"+line {i}" for i in range(100))
    screen = Screen().show(FileOperationEvent(operation="write", file_path="/a", diff=diff))
    assert "(+100 −0)" in screen.err
    assert "… 61 more lines" in screen.err


@requirement("R9.6")
def test_a_spinner_with_the_elapsed_time_turns_while_the_agent_thinks() -> None:
    screen = Screen()
    screen.renderer.begin()
    assert "thinking · 0 s" in screen.out
    screen.seconds = 12.3
    screen.show(ThinkingEvent(content="let me see"))
    screen.show(ToolCallEvent(tool_name="shell", tool_args={}, tool_call_id="1"))
    screen.seconds = 15.3
    screen.renderer.resume()
    assert "shell · 3 s" in screen.out, "the call's own seconds"
    before = len(screen.out_file.getvalue())
    screen.show(DoneEvent())
    assert "\x1b[2K" in screen.out_file.getvalue()[before:], "the spinner is erased"


@requirement("R9.6")
def test_there_is_no_spinner_where_there_is_no_terminal() -> None:
    screen = Screen(is_terminal=False)
    screen.renderer.begin()
    screen.show(ThinkingEvent(content="x"), TextEvent(content="hello"), DoneEvent())
    assert "\x1b" not in screen.out_file.getvalue()
    assert screen.out.strip() == "hello"


def test_the_unfinished_block_is_shown_while_it_grows() -> None:
    screen = Screen().show(TextEvent(content="An unfinished sentence"))
    assert "An unfinished sentence" in screen.out
    assert "writing" in screen.out


@requirement("R11.2", "R11.3", "R11.4")
def test_an_error_is_shown_with_the_way_out() -> None:
    passing = Screen().show(
        ErrorEvent(error="No answer.", error_code="model_unavailable", recoverable=True)
    )
    assert "error: No answer.\n" in passing.err
    assert "hint: check the network, or choose another model with --model." in passing.err
    assert "ask again" in passing.err.replace("\n", " ")
    final = Screen().show(ErrorEvent(error="Bug.", error_code="internal"))
    assert final.err == "error: Bug.\n"


def test_the_end_shows_tokens_and_time() -> None:
    screen = Screen()
    screen.renderer.begin()
    screen.seconds = 2.5
    screen.show(one_of_each()[-1])
    assert "1,234 tokens · 2.5 s" in screen.err


def test_what_a_sub_agent_says_is_told_from_the_answer() -> None:
    screen = Screen().show(
        TextEvent(content="found it\n", agent="research"), TextEvent(content="Answer."), DoneEvent()
    )
    assert "research says\n  found it" in screen.err
    assert "found it" not in screen.out
    assert "Answer." in screen.out


@requirement("R9.1")
def test_everything_is_readable_without_colour_in_80_columns() -> None:
    screen = Screen(has_color=False)
    screen.show(*one_of_each())
    assert not re.search(r"\x1b\[(3|4)\d", screen.out_file.getvalue() + screen.err_file.getvalue())
    for line in (screen.out + screen.err).split("\n"):
        assert cell_len(line.split("\r")[-1]) <= 80
    for word in (
        "read_file",
        "└ text",
        "needs approval",
        "[x] look",
        "+a",
        "▤ Sales",
        "error:",
    ):
        assert word in screen.err


def test_escape_sequences_in_content_never_reach_the_terminal() -> None:
    evil = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u202ee\r\nf"
    screen = Screen(has_color=False).show(
        TextEvent(content=evil),
        ToolCallEvent(tool_name=evil, tool_args={evil: evil}, tool_call_id="1"),
        ToolResultEvent(tool_call_id="1", tool_name="t", result=evil),
        ErrorEvent(error=evil),
        FileOperationEvent(operation="write", file_path=evil, diff=f"@@ x\n+{evil}"),
    )
    shown = screen.out_file.getvalue() + screen.err_file.getvalue()
    assert "owned" not in shown
    assert "\x1b[2Jc" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert "abcde" in shown


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
any_text = st.text(st.characters(codec=None, categories=None), max_size=60) | st.text(
    "#*_`~-+|>[]()!\n 1.<a中\t\x1b", max_size=60
)
objects = st.dictionaries(any_text, json_values, max_size=3)
statuses = st.sampled_from(["success", "error", "timeout", "denied"])
counts = st.dictionaries(st.sampled_from(["lines_added", "lines_removed", "x"]), st.integers())
agents = st.none() | any_text
any_event = st.one_of(
    st.builds(TextEvent, content=any_text, is_final=st.booleans(), agent=agents),
    st.builds(ThinkingEvent, content=any_text, agent=agents),
    st.builds(ToolCallEvent, tool_name=any_text, tool_args=objects, tool_call_id=any_text),
    st.builds(
        ToolResultEvent,
        tool_call_id=any_text,
        tool_name=any_text,
        result=json_values | any_text,
        status=statuses,
    ),
    st.builds(
        HITLRequestEvent,
        request_id=any_text,
        action=st.builds(ActionRequest, name=any_text, args=objects, description=any_text),
    ),
    st.builds(TodoUpdateEvent, todos=st.lists(objects, max_size=3)),
    st.builds(
        FileOperationEvent,
        operation=st.sampled_from(["read", "write", "edit", "delete"]),
        file_path=any_text,
        metrics=counts,
        diff=st.none() | any_text,
        status=statuses,
    ),
    st.builds(
        ArtifactEvent,
        artifact_id=any_text,
        kind=st.sampled_from(["table", "chart", "file"]),
        title=any_text,
        url=any_text,
        preview=json_values,
    ),
    st.builds(ErrorEvent, error=any_text, error_code=any_text, recoverable=st.booleans()),
    st.builds(
        DoneEvent,
        token_usage=st.none()
        | st.dictionaries(st.sampled_from(["total_tokens", "input_tokens"]), st.integers()),
        cancelled=st.booleans(),
        reason=st.sampled_from(["completed", "user_cancelled", "rejected", "failed", "shutdown"]),
    ),
)


@requirement("R9.2")
@given(st.lists(any_event, max_size=6), st.booleans(), st.sampled_from([20, 80]))
def test_no_event_can_break_the_renderer(
    events: list[AnyEvent], is_terminal: bool, width: int
) -> None:
    screen = Screen(is_terminal=is_terminal, width=width)
    screen.renderer.begin()
    screen.show(*events, DoneEvent())
    (screen.out + screen.err).encode()
    out, err = StringIO(), StringIO()
    plain = PlainRenderer(out, err)
    for event in events:
        plain.render(event)
    (out.getvalue() + err.getvalue()).encode()


@requirement("R9.4")
def test_a_plan_is_shown_once_and_not_as_the_call_that_makes_it() -> None:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Say", "status": "pending"}]
    made: list[AnyEvent] = [
        ToolCallEvent(tool_name="write_todos", tool_args={"todos": todos}, tool_call_id="1"),
        ToolResultEvent(tool_call_id="1", tool_name="write_todos", result=f"Updated to {todos}"),
        TodoUpdateEvent(todos=todos),
    ]
    assert Screen(is_terminal=False).show(*made).err.splitlines() == [
        "☰ write_todos  2 steps",
        "  [x] Look",
        "  [ ] Say",
    ]
    failed = ToolResultEvent(
        tool_call_id="1", tool_name="write_todos", result="no such field", status="error"
    )
    assert "└ ✗ no such field" in Screen().show(made[0], failed).err
