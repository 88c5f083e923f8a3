"""What a turn shows, block by block."""

from __future__ import annotations

import pytest

from dataagent_client import (
    ActionRequest,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    Rows,
)
from dataagent_server_demo.blocks import (
    Alert,
    AskBlock,
    ChartBlock,
    Code,
    Folded,
    Note,
    Say,
    blocks_of,
)
from dataagent_server_demo.conversation import (
    ApprovalPart,
    Part,
    PlanPart,
    TextPart,
    ThinkingPart,
    ToolPart,
    ToolState,
    Turn,
)
from dataagent_server_demo.results import FileBlock, TableBlock

PLAN = "- :material/check_box: look\n- :material/check_box_outline_blank: tell"
REQUEST = ApprovalPart("r1", ActionRequest("write_file", {}, request_id="r1"), ("approve",))


def shown(*parts: Part, end: DoneEvent | None = None, is_running: bool = True) -> list[object]:
    return [*blocks_of(Turn("?", "run", parts, end=end, is_running=is_running and end is None))]


def test_each_part_is_shown_in_its_own_way() -> None:
    preview = {
        "row_count": 40,
        "columns": [{"name": "country", "type": "string"}],
        "rows": [["Chile"]],
        "receipt": {"sql_executed": "SELECT 1", "source": "shop"},
    }
    assert shown(
        TextPart("The **answer**"),
        TextPart("Done.", "sql"),
        ThinkingPart("hm"),
        PlanPart(({"content": "look", "status": "completed"}, {"content": "tell"})),
        ArtifactEvent(artifact_id="t", kind="table", title="Sales", url="/t", preview=preview),
        ArtifactEvent(artifact_id="c", kind="chart", title="Drawn", url="/c"),
        ArtifactEvent(
            artifact_id="f", kind="file", title="a.csv", url="/f", preview={"size": 2048}
        ),
        ErrorEvent(error="No *model*.", recoverable=True),
    ) == [
        Say("The **answer**"),
        Folded(":material/forum: sql says", (Say("Done."),)),
        Folded(":material/psychology: Thinking", (Say("hm"),)),
        Folded(":material/checklist: Plan", (Say(PLAN),)),
        TableBlock("t", "Sales", Rows(("country",), [["Chile"]]), 40, "SELECT 1", "shop"),
        ChartBlock("c", "Drawn"),
        FileBlock("f", "a.csv", 2048),
        Alert("No \\*model\\*. It may work when you try again."),
    ]


@pytest.mark.parametrize(
    ("state", "icon"),
    [
        ("running", "hourglass_top"),
        ("success", "check_circle"),
        ("error", "error"),
        ("timeout", "timer_off"),
        ("denied", "block"),
    ],
)
def test_a_call_shows_its_state_its_arguments_and_its_result(state: ToolState, icon: str) -> None:
    part = ToolPart("c1", "sql_db_query", {"query": "SELECT 1"}, state, {"rows": [1]})
    [block] = shown(part)
    assert isinstance(block, Folded)
    assert block.label == f":material/{icon}: sql\\_db\\_query · {state}"
    assert block.inside[0] == Code('{\n  "query": "SELECT 1"\n}', "json")
    assert len(block.inside) == (1 if state == "running" else 2)


def test_a_long_result_is_cut_and_says_so() -> None:
    [block] = shown(ToolPart("c1", "read_file", {}, "success", "x" * 5_000))
    assert isinstance(block, Folded)
    assert block.inside[1] == Code("x" * 4_000 + "\n… 1000 more")


def test_a_file_operation_shows_its_difference() -> None:
    event = FileOperationEvent(
        operation="write", file_path="/a_b.txt", metrics={"added": 1}, diff="+a"
    )
    failed = FileOperationEvent(operation="read", file_path="/c", status="denied")
    assert shown(event, failed) == [
        Folded(":material/description: write /a\\_b.txt (added 1)", (Code("+a", "diff"),)),
        Note(":material/description: read /c · denied"),
    ]


def test_a_request_asks_only_while_the_run_waits_for_it() -> None:
    assert shown(REQUEST) == [AskBlock(REQUEST)]
    note = Note(":material/lock: write\\_file waited for a decision.")
    assert shown(REQUEST, is_running=False) == [note]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("user_cancelled", "Stopped."),
        ("rejected", "rejected"),
        ("timeout", "too long"),
        ("shutdown", "shut down"),
        ("budget", "budget"),
        ("failed", "failed"),
    ],
)
def test_an_end_that_is_not_the_usual_one_is_told(reason: str, said: str) -> None:
    [note] = shown(end=DoneEvent(reason=reason))  # pyright: ignore[reportArgumentType] a reason
    assert isinstance(note, Note)
    assert said in note.text
    assert shown(end=DoneEvent()) == []


def test_figures_that_no_result_backs_are_named() -> None:
    figures = {"verified": [], "unbacked": [{"text": "$450"}, {"text": "12 %"}]}
    assert shown(end=DoneEvent(metadata={"figures": figures})) == [
        Alert("Not found in the results: \\$450, 12 %", "warning")
    ]


def test_figures_that_were_not_checked_are_not_passed_over() -> None:
    figures = {"verified": [{"text": "7"}], "unbacked": [], "unchecked": 3, "is_complete": False}
    assert shown(end=DoneEvent(metadata={"figures": figures})) == [
        Alert("Not all figures could be checked.", "warning")
    ]


def test_an_answer_that_was_not_kept_is_told() -> None:
    assert shown(is_running=False) == [Note("No answer was kept.")]
