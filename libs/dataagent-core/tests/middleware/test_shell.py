from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataagent_core.config.models.steps import Call
from dataagent_core.middleware import ShellMiddleware, ToolErrorMiddleware
from dataagent_core.sandbox import LocalRunner
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@requirement("R7.1", "R7.4")
async def test_shell_runs_in_the_users_own_workspace(
    agent_with: AgentWith, manager: UserWorkspaceManager
) -> None:
    turn = [
        Call("shell", {"command": "echo hi > files/a.txt; ls files; exit 2"}),
        "ok",
    ]
    agent = agent_with(turn, [ShellMiddleware(LocalRunner(), manager)])
    mine = await agent.results(user_id="u1")
    assert mine == [("success", "a.txt\n[exit code 2]")]
    await agent.run(user_id="u2", thread="t2")
    for user in ("u1", "u2"):
        assert (manager.get_user_workspace(user) / "files" / "a.txt").read_text() == "hi\n"
        assert await manager.usage(user) == 3


@requirement("R7.4")
async def test_a_command_that_takes_too_long_is_an_error_for_the_model(
    agent_with: AgentWith,
    manager: UserWorkspaceManager,
) -> None:
    late = {"command": "echo before; sleep 600", "timeout_seconds": 0.2}
    agent = agent_with(
        [Call("shell", late), "ok"],
        [ToolErrorMiddleware(), ShellMiddleware(LocalRunner(), manager)],
    )
    [(status, text)] = await agent.results()
    assert status == "error"
    assert "stopped after 0.2 seconds" in text
    assert "before" in text
