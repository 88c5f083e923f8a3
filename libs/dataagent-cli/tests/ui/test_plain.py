"""What goes to a pipe: the answer on one side, everything else on the other."""

from __future__ import annotations

from io import StringIO

from dataagent_cli.ui import JsonView, PlainRenderer
from dataagent_core.events import (
    DoneEvent,
    ErrorEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
    ToolResultEvent,
    event_to_wire,
)
from dataagent_core.runs.types import Entry
from tests.requirements import requirement


def test_the_answer_and_nothing_else_is_on_standard_output() -> None:
    out, err = StringIO(), StringIO()
    plain = PlainRenderer(out, err)
    plain.render(ThinkingEvent(content="hm"))
    plain.render(TextEvent(content="Let me "))
    plain.render(TextEvent(content="look."))
    plain.render(TextEvent(content="", is_final=True))
    plain.render(ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id="1"))
    plain.render(ToolResultEvent(tool_call_id="1", tool_name="ls", result="a.txt"))
    plain.render(TextEvent(content="sub", agent="research"))
    plain.render(TextEvent(content="One **file**."))
    plain.render(DoneEvent())
    assert out.getvalue() == "Let me look.\n\nOne **file**.\n"
    assert err.getvalue() == "⌕ ls path=/\n  └ a.txt\n[research] sub\n"


def test_the_answer_is_passed_on_as_it_came() -> None:
    out = StringIO()
    plain = PlainRenderer(out, StringIO())
    plain.render(TextEvent(content="a\tb\r\n\x1b[1mc\n"))
    plain.render(DoneEvent())
    assert out.getvalue() == "a\tb\r\n\x1b[1mc\n"


@requirement("R11.2", "R11.4")
def test_an_error_and_its_hint_are_on_standard_error() -> None:
    out, err = StringIO(), StringIO()
    plain = PlainRenderer(out, err)
    plain.render(ErrorEvent(error="Wrong key.", error_code="model_refused"))
    plain.render(DoneEvent(reason="failed"))
    assert out.getvalue() == ""
    assert err.getvalue() == (
        "error: Wrong key.\n"
        "hint: check the provider's key and the model's name (--model NAME).\n"
        "failed\n"
    )


def test_json_lines_are_the_wire_form() -> None:
    out = StringIO()
    view = JsonView(out, StringIO())
    wire = event_to_wire(TextEvent(content="你好\n", timestamp=1.5), seq=3, run_id="r")
    view.show(Entry(3, "r", wire))
    assert out.getvalue() == (
        '{"event_type":"text","data":{"content":"你好\\n","is_final":false,"agent":null,'
        '"is_main":false},"timestamp":1.5,"seq":3,"run_id":"r"}\n'
    )
