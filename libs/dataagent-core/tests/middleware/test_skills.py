from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend

from dataagent_core.middleware import SkillsMiddleware
from dataagent_core.skills import SkillFolder, skill_routes
from dataagent_core.workspace import UserWorkspaceManager, WorkspaceBackend
from tests.requirements import requirement

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@requirement("R7.1", "R7.3")
async def test_skills_are_named_in_the_prompt_and_pinned_when_the_run_says_so(
    agent_with: AgentWith, manager: UserWorkspaceManager, tmp_path: Path
) -> None:
    folder = tmp_path / "skills" / "tidy-data"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tidy-data\ndescription: Cleans tables.\n---\nAlways trim the headers.\n"
    )
    routes, sources = skill_routes(
        [SkillFolder("Shipped", tmp_path / "skills"), SkillFolder("None", tmp_path / "no")], manager
    )
    backend = CompositeBackend(default=WorkspaceBackend(manager), routes=routes)
    agent = agent_with(["a", "b"], [SkillsMiddleware(backend=backend, sources=sources)])
    first = await agent.run()
    assert "**tidy-data**: Cleans tables." in agent.prompts[0]
    assert "trim the headers" not in str(first)
    second = await agent.run("again", pinned_skills=["tidy-data"])
    assert "Always trim the headers." in str(second)
    assert sources == [("/skills/1/", "Shipped")]
    assert "read-only" in ((await backend.awrite("/skills/1/x", "y")).error or "")
