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
    AlertBlock,
    ApprovalBlock,
    CaptionBlock,
    ChartBlock,
    CodeBlock,
    ExpanderBlock,
    FileBlock,
    MarkdownBlock,
    TableBlock,
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
        MarkdownBlock("The **answer**"),
        ExpanderBlock(":material/forum: sql 的回答", (MarkdownBlock("Done."),)),
        ExpanderBlock(":material/psychology: 思考", (MarkdownBlock("hm"),)),
        ExpanderBlock(":material/checklist: 计划", (MarkdownBlock(PLAN),)),
        TableBlock("t", "Sales", Rows(("country",), [["Chile"]]), 40, "SELECT 1", "shop"),
        ChartBlock("c", "Drawn"),
        FileBlock("f", "a.csv", 2048),
        AlertBlock("No \\*model\\*. 这可能是暂时的，请稍后重试。"),
    ]


@pytest.mark.parametrize(
    ("state", "icon", "word"),
    [
        ("running", "hourglass_top", "运行中"),
        ("success", "check_circle", "完成"),
        ("error", "error", "失败"),
        ("timeout", "timer_off", "超时"),
        ("denied", "block", "不允许"),
    ],
)
def test_a_call_shows_its_state_its_arguments_and_its_result(
    state: ToolState, icon: str, word: str
) -> None:
    part = ToolPart("c1", "sql_db_query", {"query": "SELECT 1"}, state, {"rows": [1]})
    [block] = shown(part)
    assert isinstance(block, ExpanderBlock)
    assert block.label == f":material/{icon}: sql\\_db\\_query · {word}"
    assert block.inside[0] == CodeBlock('{\n  "query": "SELECT 1"\n}', "json")
    assert len(block.inside) == (1 if state == "running" else 2)


def test_a_long_result_is_cut_and_says_so() -> None:
    [block] = shown(ToolPart("c1", "read_file", {}, "success", "x" * 5_000))
    assert isinstance(block, ExpanderBlock)
    assert block.inside[1] == CodeBlock("x" * 4_000 + "\n… 还有 1000 个字符")


def test_a_file_operation_shows_its_difference() -> None:
    event = FileOperationEvent(
        operation="write", file_path="/a_b.txt", metrics={"lines_added": 1}, diff="+a"
    )
    failed = FileOperationEvent(operation="read", file_path="/c", status="denied")
    assert shown(event, failed) == [
        ExpanderBlock(
            ":material/description: 写入 /a\\_b.txt（新增行 1）", (CodeBlock("+a", "diff"),)
        ),
        CaptionBlock(":material/description: 读取 /c · 不允许"),
    ]


def test_a_request_asks_only_while_the_run_waits_for_it() -> None:
    assert shown(REQUEST) == [ApprovalBlock(REQUEST)]
    note = CaptionBlock(":material/lock: write\\_file 曾等待决定。")
    assert shown(REQUEST, is_running=False) == [note]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("user_cancelled", "已停止。"),
        ("rejected", "被拒绝"),
        ("timeout", "用时过长"),
        ("shutdown", "服务器已关闭"),
        ("budget", "预算已用完"),
        ("failed", "回答失败"),
    ],
)
def test_an_end_that_is_not_the_usual_one_is_told(reason: str, said: str) -> None:
    [note] = shown(end=DoneEvent(reason=reason))  # pyright: ignore[reportArgumentType] a reason
    assert isinstance(note, CaptionBlock)
    assert said in note.text
    assert shown(end=DoneEvent()) == []


def test_figures_that_no_result_backs_are_named() -> None:
    figures = {"verified": [], "unbacked": [{"text": "$450"}, {"text": "12 %"}]}
    assert shown(end=DoneEvent(metadata={"figures": figures})) == [
        AlertBlock("没有数据依据：\\$450，12 %", "warning")
    ]


def test_figures_that_were_not_checked_are_not_passed_over() -> None:
    figures = {"verified": [{"text": "7"}], "unbacked": [], "unchecked": 3, "is_complete": False}
    assert shown(end=DoneEvent(metadata={"figures": figures})) == [
        AlertBlock("部分数字未能核实。", "warning")
    ]


def test_an_answer_that_was_not_kept_is_told() -> None:
    assert shown(is_running=False) == [CaptionBlock("没有保存的回答。")]
