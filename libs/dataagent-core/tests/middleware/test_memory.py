from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend
from deepagents.middleware.filesystem import FilesystemMiddleware

from dataagent_core.middleware import MEMORY_PATH, AgentMemoryMiddleware, ApprovalsMiddleware
from dataagent_core.models.rule_based import Call
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@requirement("R7.1", "R7.2", "R34.1")
async def test_what_is_remembered_in_one_turn_is_in_the_next_prompt(
    agent_with: AgentWith,
    backend: CompositeBackend,
) -> None:
    note = {"file_path": MEMORY_PATH, "content": "Prefers tea. {braces}"}
    agent = agent_with(
        [Call("write_file", note), "noted", "two"],
        [FilesystemMiddleware(backend=backend), AgentMemoryMiddleware(backend=backend)],
    )
    await agent.run()
    await agent.run("again")
    await agent.run("in a new conversation", thread="t2")
    assert ["Prefers tea. {braces}" in prompt for prompt in agent.prompts][:4] == [
        False,
        True,
        True,
        True,
    ]


@requirement("R34.1", "R34.3", "P54")
async def test_another_user_or_assistant_is_not_remembered(
    agent_with: AgentWith, backend: CompositeBackend, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    mine = await manager.open_memories("u1", "agent")
    await mine.awrite("/AGENTS.md", "Prefers tea.")
    other = await manager.open_memories("u1", "other")
    await other.awrite("/AGENTS.md", "Prefers cocoa.")
    assert (tmp_path / "memories" / "u1" / "agent" / "AGENTS.md").read_text() == "Prefers tea."
    agent = agent_with(["a", "b"], [AgentMemoryMiddleware(backend=backend)])
    await agent.run(user_id="u1")
    await agent.run(user_id="u2", thread="t2")
    assert ["tea" in prompt for prompt in agent.prompts] == [True, False]
    assert not any("cocoa" in prompt for prompt in agent.prompts)


@requirement("R7.1")
def test_memory_and_approvals_cost_no_step_of_the_graph(
    agent_with: AgentWith, backend: CompositeBackend
) -> None:
    agent = agent_with([], [AgentMemoryMiddleware(backend=backend), ApprovalsMiddleware()])
    assert set(agent.graph.get_graph().nodes) == {"__start__", "model", "tools", "__end__"}
