"""What would happen, as lines: diffs, statements, commands, requests, and their width."""

from __future__ import annotations

from prompt_toolkit.utils import get_cwidth

from dataagent_cli.hitl.call_preview import Line, preview, title, wrap_lines
from dataagent_cli.ui.describe import file_operation_title
from dataagent_core.events import FileOperationEvent
from dataagent_core.hitl import ActionRequest
from tests.requirements import requirement


def texts(lines: list[Line]) -> list[str]:
    return ["".join(text for _, text in line) for line in lines]


def styles(lines: list[Line]) -> set[str]:
    return {style for line in lines for style, _ in line if style}


@requirement("R3.2")
def test_a_diff_is_shown_with_what_it_adds_and_takes_away() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-\told\n+new"
    action = ActionRequest("edit_file", {"file_path": "/x"}, diff=diff)
    assert title(action) == "edit_file /x (+1 −1)"
    assert texts(preview(action)) == ["@@ -1,2 +1,2 @@", " same", "-   old", "+new"]
    assert styles(preview(action)) == {"ansicyan", "ansired", "ansigreen"}


@requirement("R3.2")
def test_a_comment_of_sql_that_goes_is_a_line_of_the_diff_and_no_name_of_a_file() -> None:
    diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- only EU\n-SELECT 1\n+++ c\n+SELECT 2"
    action = ActionRequest("edit_file", {"file_path": "/x.sql"}, diff=diff)
    assert title(action) == "edit_file /x.sql (+2 −2)"
    assert texts(preview(action))[1:] == ["--- only EU", "-SELECT 1", "+++ c", "+SELECT 2"]
    event = FileOperationEvent(operation="edit", file_path="/x.sql", metrics={}, diff=diff)
    assert file_operation_title(event) == "edit /x.sql (+2 −2)"


@requirement("R3.2")
def test_where_a_diff_is_too_long_the_arguments_say_the_rest() -> None:
    args = {"file_path": "/x", "content": "first\nlast"}
    cut = "--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+first\n[diff cut: 6 more characters]"
    for diff in ("[diff left out: 0 lines before, 90000 after]", cut):
        action = ActionRequest("write_file", args, diff=diff)
        assert title(action) == "write_file /x"
        assert texts(preview(action))[-5:] == [
            diff.split("\n")[-1],
            "",
            "file_path: /x",
            "content: first",
            "    last",
        ]


def test_a_statement_a_command_and_code_have_the_colours_of_their_language() -> None:
    for name, args in (
        ("sql_db_query", {"query": "SELECT 1\nFROM t", "limit": 5}),
        ("run", {"command": "for f in *; do\n  cat $f; done"}),
        ("execute_python", {"code": "def f():\n    return 1"}),
    ):
        lines = preview(ActionRequest(name, args))
        code = next(str(value) for value in args.values() if isinstance(value, str))
        assert texts(lines)[: code.count("\n") + 1] == code.split("\n")
        assert "class:pygments.keyword" in styles(lines)
    assert texts(preview(ActionRequest("sql_db_query", {"query": "x", "limit": 5})))[1:] == [
        "",
        "limit: 5",
    ]


def test_a_word_that_is_searched_for_is_not_a_statement() -> None:
    assert texts(preview(ActionRequest("web_search", {"query": "a b"}))) == ["query: a b"]


def test_a_request_is_shown_as_it_is_sent() -> None:
    args = {"url": "https://x.test/a", "method": "post", "headers": {"K": "v"}, "body": {"a": [1]}}
    assert texts(preview(ActionRequest("http_request", args))) == [
        "POST https://x.test/a",
        "K: v",
        "",
        "{",
        '  "a": [',
        "    1",
        "  ]",
        "}",
    ]


@requirement("R3.2")
def test_a_tool_that_takes_an_address_has_its_arguments_by_name() -> None:
    args = {"url": "https://x.test/a", "method": "wipe", "recursive": True, "tries": 0}
    assert texts(preview(ActionRequest("pages__delete", args))) == [
        "url: https://x.test/a",
        "method: wipe",
        "recursive: true",
        "tries: 0",
    ]


def test_nothing_a_model_writes_is_obeyed_by_the_terminal() -> None:
    args = {"command": "ls \x1b[2J\x07\u202e", "x": "\x1b]0;t\x07y\r\nz"}
    shown = "\n".join(texts(preview(ActionRequest("shell\x1b[1m", args))))
    assert shown == "ls \\x1b[2J\\x07\\u202e\n\nx: \\x1b]0;t\\x07y\n    z"


@requirement("R3.2")
def test_no_control_sequence_hides_a_part_of_what_is_approved() -> None:
    for hider in ("\x1b]", "\x1bP", "\x1b_", "\x9b"):
        shell = ActionRequest("execute", {"command": f"ls {hider}; rm -r /data"})
        assert "; rm -r /data" in texts(preview(shell))[0]
        edit = ActionRequest(
            "edit_file", {"path": f"/a{hider}b"}, diff=f"@@ -1 +1 @@\n+{hider}evil()"
        )
        assert texts(preview(edit))[1].endswith("evil()")
        assert title(edit).endswith("b (+1 −0)")
        request = {"url": f"https://x.test/{hider}a", "headers": {"K": f"v{hider}\nEvil: 1"}}
        sent = texts(preview(ActionRequest("http_request", request)))
        assert sent[0].endswith("a")
        assert sent[1].endswith("\\nEvil: 1")
    assert texts(preview(ActionRequest("run", {"command": "ls a\u200bb\rc"}))) == [
        "ls a\\u200bb\\rc"
    ]


def test_lines_are_broken_where_the_screen_ends_and_lose_nothing() -> None:
    line: Line = [("a", "中文字"), ("b", "xyz")]
    rows = wrap_lines([line, []], 5)
    assert texts(rows) == ["中文", "字xyz", ""]
    assert all(get_cwidth(row) <= 5 for row in texts(rows))
    assert texts(wrap_lines([[("", "中")]], 1)) == ["中"]  # narrower than a character
