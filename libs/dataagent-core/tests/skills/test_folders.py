"""Skill folders become read-only routes, in order."""

from __future__ import annotations

from pathlib import Path

from dataagent_core.skills import SkillFolder, skill_routes
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement


def a_skill(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n")


@requirement("R7.3")
async def test_existing_folders_are_mounted_in_order_and_missing_ones_left_out(
    tmp_path: Path,
) -> None:
    a_skill(tmp_path / "shipped", "tables")
    a_skill(tmp_path / "own", "charts")
    manager = UserWorkspaceManager(tmp_path / "workspaces")
    folders = [
        SkillFolder("Shipped", tmp_path / "shipped"),
        SkillFolder("Gone", tmp_path / "gone"),
        SkillFolder("Own", tmp_path / "own"),
    ]
    routes, sources = skill_routes(folders, manager)
    assert sources == [("/skills/1/", "Shipped"), ("/skills/3/", "Own")]
    listed = await routes["/skills/3/"].als("/")
    assert [entry["path"].strip("/") for entry in listed.entries or []] == ["charts"]
    manager.close()


@requirement("R7.3")
async def test_a_skill_cannot_be_changed_by_an_agent(tmp_path: Path) -> None:
    a_skill(tmp_path / "shipped", "tables")
    manager = UserWorkspaceManager(tmp_path / "workspaces")
    routes, _ = skill_routes([SkillFolder("Shipped", tmp_path / "shipped")], manager)
    backend = routes["/skills/1/"]
    before = (tmp_path / "shipped/tables/SKILL.md").read_text()
    assert (await backend.awrite("/tables/SKILL.md", "mine now")).error
    assert (await backend.aedit("/tables/SKILL.md", "tables", "mine")).error
    assert (await backend.adelete("/tables/SKILL.md")).error
    assert (tmp_path / "shipped/tables/SKILL.md").read_text() == before
    manager.close()
