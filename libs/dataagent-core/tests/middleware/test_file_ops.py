from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend
from deepagents.middleware.filesystem import FilesystemMiddleware

from dataagent_core.events import FileOperationEvent
from dataagent_core.middleware import FileOperations, ToolObserver
from dataagent_core.models.rule_based import Call
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


def expected_reports(path: str) -> list[FileOperationEvent]:
    written, edited = (
        {"lines_written": 2, "bytes_written": 8},
        {"lines_written": 3, "bytes_written": 8},
    )
    return [
        FileOperationEvent(
            timestamp=0,
            operation="write",
            file_path=path,
            metrics={"lines_added": 2, "lines_removed": 0, **written},
            diff=f"--- a{path}\n+++ b{path}\n@@ -0,0 +1,2 @@\n+one\n+two",
        ),
        FileOperationEvent(
            timestamp=0,
            operation="edit",
            file_path=path,
            metrics={"lines_added": 2, "lines_removed": 1, **edited},
            diff=f"--- a{path}\n+++ b{path}\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3",
        ),
        FileOperationEvent(
            timestamp=0, operation="read", file_path=path, metrics={"lines_read": 3}
        ),
        FileOperationEvent(timestamp=0, operation="edit", file_path="/none", status="error"),
        FileOperationEvent(
            timestamp=0,
            operation="delete",
            file_path=path,
            metrics={"lines_added": 0, "lines_removed": 3},
            diff=f"--- a{path}\n+++ b{path}\n@@ -1,3 +0,0 @@\n-one\n-2\n-3",
        ),
    ]


@requirement("R8.2", "P15", "R5.6")
async def test_each_file_call_is_reported_with_its_diff_and_numbers(
    agent_with: AgentWith,
    backend: CompositeBackend,
) -> None:
    path = "/files/a.txt"
    agent = agent_with(
        [
            Call("write_file", {"file_path": path, "content": "one\ntwo\n"}),
            Call("edit_file", {"file_path": path, "old_string": "two", "new_string": "2\n3"}),
            Call("read_file", {"file_path": path}),
            Call("ls", {"path": "/files"}),
            Call("edit_file", {"file_path": "/none", "old_string": "a", "new_string": "b"}),
            Call("delete", {"file_path": path}),
            "done",
        ],
        [FilesystemMiddleware(backend=backend), ToolObserver([FileOperations(backend)])],
    )
    await agent.run()
    events = [FileOperationEvent(timestamp=0, **part["file_operation"]) for part in agent.custom]
    assert events == expected_reports(path)


@requirement("R33.4", "P52")
async def test_a_path_out_of_the_workspace_is_an_error_and_the_run_goes_on(
    agent_with: AgentWith, backend: CompositeBackend, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    (manager.ensure_user_workspace("u1") / "files" / "link").symlink_to("/etc")
    paths = ["/../x", "/files/link/passwd", "/files/../../u2/files/x", "/files/a\0b"]
    agent = agent_with(
        [[Call("read_file", {"file_path": path}) for path in paths], "done"],
        [FilesystemMiddleware(backend=backend), ToolObserver([FileOperations(backend)])],
    )
    messages = await agent.run()
    assert [m.status for m in messages if m.type == "tool"] == ["error"] * 4
    assert messages[-1].text == "done"
    assert str(tmp_path) not in str(messages)


@requirement("R33.3", "P52")
async def test_one_agent_keeps_two_users_files_apart(
    agent_with: AgentWith, backend: CompositeBackend
) -> None:
    turns = [
        Call("write_file", {"file_path": "/files/a", "content": "mine"}),
        "ok",
        Call("read_file", {"file_path": "/files/a"}),
        "ok",
    ]
    agent = agent_with(turns, [FilesystemMiddleware(backend=backend)])
    await agent.run(user_id="u1")
    assert (await agent.results("and now?", user_id="u2"))[-1] == (
        "error",
        "Error: Cannot read '/files/a': it does not exist.",
    )
