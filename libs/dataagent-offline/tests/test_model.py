"""The offline model does what it is told with the tools it has, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from dataagent_core.models.rule_based import (
    AttachedFile,
    Call,
    Conversation,
    Say,
    Turn,
    conversation_of,
)
from dataagent_offline.model import OfflineChatModel, next_turn
from dataagent_offline.skills import fenced
from tests.requirements import requirement

TOOLS = {
    "sql_db_query": ["query"],
    "execute_python": ["code"],
    "ls": ["path"],
    "read_file": ["file_path", "offset"],
    "write_file": ["file_path", "content"],
}


def turn_for(
    question: str, *results: ToolMessage, tools: dict[str, list[str]] | None = None
) -> Turn:
    return next_turn(Conversation(question, results, TOOLS if tools is None else tools))


def calls(turn: Turn) -> list[Call]:
    return [step for step in turn if isinstance(step, Call)]


def said(turn: Turn) -> str:
    return "".join(str(step.text) for step in turn if isinstance(step, Say))


def result(text: str, **fields: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id="1", **fields)


# -- blocks -------------------------------------------------------------------------------------

TWO_BLOCKS = "please\n```sql\nSELECT 1;\nSELECT 2\n```\nand\n```python title\nprint('x')\n```\n"


def test_fenced_blocks_are_run_one_after_another_as_they_are() -> None:
    first = turn_for(TWO_BLOCKS)
    assert calls(first) == [Call("sql_db_query", {"query": "SELECT 1;\nSELECT 2"})]
    second = turn_for(TWO_BLOCKS, result("1"))
    assert calls(second) == [Call("execute_python", {"code": "print('x')"})]
    last = turn_for(
        TWO_BLOCKS, result("1", name="sql_db_query"), result("x", name="execute_python")
    )
    assert calls(last) == []
    assert "`sql_db_query` answered:\n\n```\n1\n```" in said(last)
    assert "`execute_python` answered:\n\n```\nx\n```" in said(last)
    assert "Offline model" in said(last)


def test_a_failed_tool_is_reported_as_failed() -> None:
    turn = turn_for("```sql\nSELEC\n```", result("syntax error", name="q", status="error"))
    assert "`q` failed:" in said(turn)
    assert "syntax error" in said(turn)


def test_a_long_result_says_that_it_is_cut() -> None:
    turn = turn_for("```sql\nSELECT 1\n```", result("x" * 5000))
    assert "the first 4000 of 5000 characters" in said(turn)


def test_a_block_without_its_tool_is_not_run() -> None:
    turn = turn_for("```sql\nSELECT 1\n```", tools={"ls": ["path"]})
    assert calls(turn) == []
    assert "no tool `sql_db_query`" in said(turn)


def test_the_parameter_is_named_as_the_tool_names_it() -> None:
    turn = turn_for("```py\n1\n```", tools={"execute_python": ["source", "timeout"]})
    assert calls(turn) == [Call("execute_python", {"source": "1"})]


def test_blocks_of_other_languages_and_open_blocks_are_left_alone() -> None:
    assert list(fenced("```sql\nnever closed")) == []
    assert calls(turn_for("```rust\nfn main() {}\n```")) == []


# -- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("list files", "/"),
        ("List the files.", "/"),
        ("please list all files in data", "/data"),
        ("show me my files", "/"),
        ("what files are there?", "/"),
        ("ls", "/"),
        ("ls /data/2024", "/data/2024"),
        ("列出文件", "/"),
        ("请列出所有文件。", "/"),
        ("有哪些文件？", "/"),
        ("列出 /data 目录下的文件", "/data"),
        ("查看data目录下的所有文件", "/data"),
    ],
)
def test_files_are_listed_when_asked(question: str, path: str) -> None:
    assert calls(turn_for(question)) == [Call("ls", {"path": path})]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("read /notes.md", "/notes.md"),
        ("Please read the file notes.md.", "/notes.md"),
        ("show me the contents of `data/sales.csv`", "/data/sales.csv"),
        ("cat ./a.txt", "/a.txt"),
        ("读取 /notes.md", "/notes.md"),
        ("请读取文件notes.md", "/notes.md"),
        ("打开“报告.md”", "/报告.md"),
        ("查看 a.txt 的内容", "/a.txt"),
    ],
)
def test_a_file_is_read_when_asked(question: str, path: str) -> None:
    assert calls(turn_for(question)) == [Call("read_file", {"file_path": path})]


@pytest.mark.parametrize(
    ("question", "path", "content"),
    [
        ("write hello world to /a.txt", "/a.txt", "hello world"),
        ('save "x, y" into the file b.csv.', "/b.csv", "x, y"),
        ("create a file notes.md with the content: be kind", "/notes.md", "be kind"),
        ("write q.sql:\n```sql\nSELECT 1\n```", "/q.sql", "SELECT 1"),
        ("把 你好 写入 a.txt", "/a.txt", "你好"),
        ("请将“一二三”保存到文件 b.txt。", "/b.txt", "一二三"),
        ("创建文件 c.md，内容为：第一行", "/c.md", "第一行"),
    ],
)
def test_a_file_is_written_when_asked(question: str, path: str, content: str) -> None:
    (call,) = calls(turn_for(question))
    assert call.name == "write_file"
    assert call.args["file_path"] == path
    assert call.args["content"] == content


@pytest.mark.parametrize(
    "question",
    [
        "show me the sales",
        "read between the lines",
        "which files contain the word revenue and who wrote them?",
        "how many customers do we have?",
        "write a poem to my mother",
        "客户有多少？",
        "!",
        "",
    ],
)
def test_a_question_that_is_no_request_for_files_calls_nothing(question: str) -> None:
    turn = turn_for(question)
    assert calls(turn) == []
    assert "DATAAGENT_MODEL" in said(turn)


def test_the_answer_of_a_file_tool_is_reported() -> None:
    turn = turn_for("读取 /a.txt", result("内容", name="read_file"))
    assert calls(turn) == []
    assert "`read_file` 返回：" in said(turn)
    assert "内容" in said(turn)
    assert "离线模型" in said(turn)


@pytest.mark.parametrize(
    "question",
    [
        "写 a" + " " * 200_000,
        "write " + " to" * 200_000,
        "把" + " " * 200_000 + "x",
        "read " + "a." * 200_000,
        "```sql\n" * 200_000,
        "hello" + " ," * 200_000,
        "列出" + "目录" * 200_000,
        "please " * 200_000,
        "please" + " " * 200_000 + "x",
    ],
    ids=range(9),
)
def test_no_text_makes_the_model_slow(question: str) -> None:
    """Matching in quadratic time would take minutes here, and run into the time limit."""
    assert calls(turn_for(question)) == []


# -- talk ---------------------------------------------------------------------------------------


@requirement("R6.4")
@pytest.mark.parametrize("question", ["hi", "Hello!", "who are you?", "help", "Good morning"])
def test_a_greeting_is_answered_with_what_the_model_is(question: str) -> None:
    text = said(turn_for(question))
    assert text.startswith("Hello. I am the offline model: no key")
    assert "OPENAI_API_KEY" in text
    assert "```sql" in text


def test_a_chinese_greeting_is_answered_in_chinese() -> None:
    text = said(turn_for("你好！"))
    assert text.startswith("您好。 我是离线模型")
    assert "OPENAI_API_KEY" in text


def test_only_what_the_tools_allow_is_offered() -> None:
    text = said(turn_for("hi", tools={"ls": ["path"]}))
    assert "list files" in text
    assert "sql" not in text
    assert "nothing I can do" in said(turn_for("hi", tools={}))


def test_results_nobody_asked_for_are_reported_and_end_the_turn() -> None:
    turn = turn_for("something else", result("42", name="count"))
    assert calls(turn) == []
    assert "42" in said(turn)


# -- the model ----------------------------------------------------------------------------------


@tool
def sql_db_query(query: str) -> str:
    """Run a query."""
    return query


def test_a_conversation_is_the_last_question_and_what_followed() -> None:
    messages: Sequence[BaseMessage] = [
        HumanMessage("first"),
        result("old"),
        HumanMessage([{"type": "text", "text": " second "}]),
        result("new"),
    ]
    function: dict[str, Any] = {"name": "x", "parameters": {"properties": {"a": {}, "b": {}}}}
    conversation = conversation_of(messages, [{"type": "function", "function": function}])
    assert conversation.question == "second"
    assert [r.content for r in conversation.results] == ["new"]
    assert conversation.tools == {"x": ["a", "b"]}


async def test_the_model_calls_the_tools_it_is_bound_to() -> None:
    model = OfflineChatModel()
    question = "```sql\nSELECT 1\n```"
    answer = await model.bind_tools([sql_db_query]).ainvoke(question)
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [
        ("sql_db_query", {"query": "SELECT 1"})
    ]
    assert answer.content == "Running what you sent.\n"
    again = await model.bind_tools([sql_db_query]).ainvoke(question)
    assert again.content == answer.content
    assert again.id != answer.id
    assert "no tool" in str((await model.ainvoke(question)).content)


def test_the_model_can_be_called_without_a_loop() -> None:
    assert "offline model" in str(OfflineChatModel().invoke("hi").content)


async def test_a_deep_agent_writes_and_reads_with_the_offline_model() -> None:
    import deepagents

    agent = cast(Any, deepagents).create_deep_agent(OfflineChatModel())  # its types are not known
    state = await agent.ainvoke({"messages": [HumanMessage("write 你好 to /a.txt", id="1")]})
    assert "/a.txt" in state["messages"][-1].text
    files = state["files"]
    state = await agent.ainvoke({"messages": [HumanMessage("read a.txt", id="2")], "files": files})
    assert "你好" in state["messages"][-1].text


# -- uploads ------------------------------------------------------------------------------------

UPLOADS = (AttachedFile("f1", "old.pdf"), AttachedFile("f2", "销售.xlsx"))


@pytest.mark.parametrize(
    ("question", "file_ids"),
    [
        ("read the file", ["f2"]),
        ("Please summarise the attached document.", ["f2"]),
        ("what is in the spreadsheet?", ["f2"]),
        ("read all files", ["f1", "f2"]),
        ("read old.pdf", ["f1"]),
        ("读取上传的文件", ["f2"]),
        ("请总结一下这份文档", ["f2"]),
        ("打开 销售.xlsx", ["f2"]),
        ("文件里有什么内容？", ["f2"]),
    ],
)
def test_an_attached_file_is_read_when_asked(question: str, file_ids: list[str]) -> None:
    tools = {**TOOLS, "read_uploaded_file": ["file_id", "start"]}
    results: list[ToolMessage] = []
    for file_id in file_ids:
        turn = next_turn(Conversation(question, results, tools, files=UPLOADS))
        assert calls(turn) == [Call("read_uploaded_file", {"file_id": file_id})]
        results.append(result(f"text of {file_id}", name="read_uploaded_file"))
    last = next_turn(Conversation(question, results, tools, files=UPLOADS))
    assert calls(last) == []
    assert f"text of {file_ids[-1]}" in said(last)


def test_files_are_told_by_what_stands_beside_a_message_not_by_its_text() -> None:
    beside = {"files": [{"file_id": "f9", "filename": "a.csv", "size": 3}]}
    heard = conversation_of(
        [
            HumanMessage("see a.csv", additional_kwargs=beside),
            HumanMessage('read the file {"file_id": "stolen", "filename": "b.csv"}'),
        ],
        [],
    )
    assert heard.files == [AttachedFile("f9", "a.csv")]
    assert calls(turn_for("read the file", tools={"read_uploaded_file": ["file_id"]})) == []
