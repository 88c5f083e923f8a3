from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dataagent_core.middleware import ShellMiddleware, ToolObserver
from dataagent_core.models.rule_based import Call
from dataagent_core.sandbox import LocalRunner
from dataagent_core.sandbox.local import LocalShells
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@requirement("R7.1", "R7.4")
async def test_shell_runs_in_the_users_own_workspace(
    agent_with: AgentWith, manager: UserWorkspaceManager
) -> None:
    turn = [
        Call("shell", {"command": "echo hi > files/a.txt; ls files; exit 2"}),
        "ok",
    ]
    agent = agent_with(turn, [ShellMiddleware(LocalShells(LocalRunner()), manager)])
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
        [ToolObserver(), ShellMiddleware(LocalShells(LocalRunner()), manager)],
    )
    [(status, text)] = await agent.results()
    assert status == "error"
    assert "stopped after 0.2 seconds" in text
    assert "before" in text


async def test_a_command_that_is_stopped_is_booked_afterwards(
    agent_with: AgentWith,
    manager: UserWorkspaceManager,
) -> None:
    written = {"command": "echo hi > files/a.txt; sleep 600"}
    agent = agent_with(
        [Call("shell", written)], [ShellMiddleware(LocalShells(LocalRunner()), manager)]
    )
    assert await manager.usage("u1") == 0
    running = asyncio.create_task(agent.run(user_id="u1"))
    file = manager.get_user_workspace("u1") / "files" / "a.txt"
    async with asyncio.timeout(WAIT_SECONDS):
        while not (file.exists() and file.read_bytes()):
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await manager.aclose()
    assert await manager.usage("u1") == 3


@requirement("R7.1", "R7.4")
async def test_the_shell_goes_on_from_call_to_call_of_a_conversation(
    agent_with: AgentWith, manager: UserWorkspaceManager
) -> None:
    calls = [
        Call("shell", {"command": "cd files; f() { echo made by f; }"}),
        Call("shell", {"command": "sleep 600", "timeout_seconds": 0.2}),
        Call("shell", {"command": "f; basename $PWD"}),
    ]
    shells = LocalShells(LocalRunner())
    agent = agent_with([*calls, "ok"], [ToolObserver(), ShellMiddleware(shells, manager)])
    results = await agent.results()
    assert [status for status, _ in results] == ["success", "error", "success"]
    assert "the shell is as it was before" in results[1][1]
    assert results[2][1] == "made by f\nfiles"
    shells.close()
