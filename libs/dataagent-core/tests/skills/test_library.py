"""Who has which skills: the sources and their order, what is left out, what is seen again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dataagent_core.errors import BadInput, QuotaExceeded, SkillNotFound
from dataagent_core.middleware.skills import skill_prompt
from dataagent_core.skills import SkillFolder, SkillLibrary
from dataagent_core.skills import library as library_module
from dataagent_core.skills.loader import RootContent, SkillRoot, read_root
from dataagent_core.skills.skill import MAX_OWN, MAX_SHARED
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

WriteSkill = Callable[..., Path]


def own_folder(manager: UserWorkspaceManager, user_id: str) -> Path:
    return manager.ensure_user_workspace(user_id) / "skills"


@requirement("S2.3b")
async def test_later_sources_replace_earlier_ones(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    folders = [SkillFolder("shipped", tmp_path / "a"), SkillFolder("custom", tmp_path / "b")]
    for name in ("one", "two", "three", "four"):
        write_skill(tmp_path / "a", name, "shipped")
    for name in ("two", "three", "four"):
        write_skill(tmp_path / "b", name, "custom")
    for name in ("three", "four"):
        write_skill(tmp_path / "p", name, "package")
    write_skill(own_folder(manager, "ann"), "four", "own")
    library = SkillLibrary(folders, manager)
    package = (tmp_path / "p",)
    skill_set = await library.skill_set("ann", package)
    assert {entry.name: (entry.source, entry.description) for entry in skill_set} == {
        "one": ("shipped", "shipped"),
        "two": ("custom", "custom"),
        "three": ("package", "package"),
        "four": ("own", "own"),
    }
    assert {e.name: e.source for e in await library.skill_set("bob", package)}["four"] == "package"
    assert {e.name: e.source for e in await library.skill_set("bob")}["three"] == "custom"
    entry = skill_set.find("four")[0]
    assert (entry.path, entry.location) == (own_folder(manager, "ann") / "four", "/skills/four")


async def test_a_bad_skill_is_named_and_the_others_are_there(
    tmp_path: Path,
    manager: UserWorkspaceManager,
    write_skill: WriteSkill,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_skill(tmp_path / "a", "good")
    write_skill(tmp_path / "a", "other").write_text("no front matter")
    write_skill(tmp_path / "a", "not-mine").write_text("---\nname: x\ndescription: y\n---\nz")
    (tmp_path / "a" / "large").mkdir()
    (tmp_path / "a" / "large" / "SKILL.md").write_bytes(b"x" * 70_000)
    (tmp_path / "a" / "folder" / "SKILL.md").mkdir(parents=True)
    os.mkfifo(_made(tmp_path / "a" / "pipe") / "SKILL.md")
    (tmp_path / "a" / "no-skill").mkdir()
    (tmp_path / "a" / "README.md").write_text("not a folder")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    with caplog.at_level(logging.WARNING):
        skill_set = await library.skill_set("ann")
    assert list(skill_set.skills) == ["good"]
    reasons = {problem.path: problem.reason for problem in skill_set.problems}
    assert set(reasons) == {
        f"{name}/SKILL.md" for name in ("other", "not-mine", "large", "folder", "pipe")
    }
    assert "70000 bytes" in reasons["large/SKILL.md"]
    for path, reason in reasons.items():
        assert f"{path} is left out: {reason}" in caplog.text


async def test_links_that_lead_out_are_refused(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    outside = write_skill(tmp_path / "secret", "leak", body="TOP SECRET")
    inside = tmp_path / "a"
    write_skill(inside, "real")
    (inside / "leak").symlink_to(outside.parent)
    (_made(inside / "file") / "SKILL.md").symlink_to(outside)
    (_made(inside / "loop") / "SKILL.md").symlink_to("SKILL.md")
    (inside / "real" / "more.txt").symlink_to("/etc/passwd")
    (inside / "same").symlink_to("real")
    library = SkillLibrary([SkillFolder("custom", inside)], manager)
    skill_set = await library.skill_set("ann")
    assert list(skill_set.skills) == ["real"]
    assert {p.path.partition("/")[0] for p in skill_set.problems} == {
        "leak",
        "file",
        "loop",
        "same",
    }
    route = next(iter(library.routes().values()))
    for path in ("/leak/SKILL.md", "/file/SKILL.md", "/real/more.txt"):
        assert (await route.aread(path)).error, path


async def test_a_link_in_place_of_the_users_folder_leads_nowhere(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    write_skill(tmp_path / "secret", "leak")
    own_folder(manager, "ann").symlink_to(tmp_path / "secret")
    library = SkillLibrary([], manager)
    assert len(await library.skill_set("ann")) == 0


async def test_names_of_any_bytes_and_folders_that_are_not_there_do_no_harm(
    tmp_path: Path, manager: UserWorkspaceManager
) -> None:
    odd = os.fsencode(tmp_path / "a") + b"/\xff\xfe"
    os.makedirs(odd)
    with open(odd + b"/SKILL.md", "wb") as file:
        file.write(b"x")
    folders = [SkillFolder("custom", tmp_path / "a"), SkillFolder("custom", tmp_path / "gone")]
    skill_set = await SkillLibrary(folders, manager).skill_set("ann")
    assert len(skill_set) == 0
    skill_set.problems[0].path.encode()


@requirement("S2.3b")
async def test_a_users_own_skills_are_theirs_alone(
    manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    write_skill(own_folder(manager, "ann"), "mine", body="Ann's words.")
    library = SkillLibrary([], manager)
    assert (await library.read("ann", "mine")).instructions == "Ann's words."
    assert len(await library.skill_set("bob")) == 0
    with pytest.raises(SkillNotFound):
        await library.read("bob", "mine")


async def test_a_change_of_an_own_skill_is_seen_at_once(
    manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    folder = own_folder(manager, "ann")
    library = SkillLibrary([], manager)
    assert len(await library.skill_set("ann")) == 0
    file = write_skill(folder, "one", "first")
    assert [e.description for e in await library.skill_set("ann")] == ["first"]
    file.write_text(file.read_text().replace("first", "second"))
    assert [e.description for e in await library.skill_set("ann")] == ["second"]
    (folder / "two").mkdir()
    assert len(await library.skill_set("ann")) == 1
    write_skill(folder, "two")
    assert len(await library.skill_set("ann")) == 2
    file.unlink()
    assert [e.name for e in await library.skill_set("ann")] == ["two"]


async def test_nothing_is_read_again_that_did_not_change(
    tmp_path: Path,
    manager: UserWorkspaceManager,
    write_skill: WriteSkill,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[Path] = []

    def counted(place: SkillRoot) -> RootContent:
        reads.append(place.path)
        return read_root(place)

    monkeypatch.setattr(library_module, "read_root", counted)
    write_skill(tmp_path / "a", "one")
    own = own_folder(manager, "ann")
    write_skill(own, "two")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    shelves = [await library.skill_set("ann") for _ in range(5)]
    assert all(skill_set is shelves[0] for skill_set in shelves)
    others = [await library.skill_set("bob") for _ in range(5)]
    assert all(skill_set is others[0] for skill_set in others)
    assert reads == [tmp_path / "a", own]


async def test_a_user_without_skills_costs_no_thread(
    tmp_path: Path, manager: UserWorkspaceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SkillLibrary([SkillFolder("custom", tmp_path)], manager)
    await library.skill_set("ann")

    async def hop(_: object) -> None:
        raise AssertionError("a thread was asked")

    monkeypatch.setattr(manager.workers, "run", hop)
    monkeypatch.setattr(manager.workers, "search", hop)
    assert len(await library.skill_set("ann")) == 0


async def test_skills_of_an_archived_workspace_come_back(
    manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    write_skill(own_folder(manager, "ann"), "mine")
    library = SkillLibrary([], manager)
    assert await manager.archive_unused(float("inf")) == 1
    assert not manager.get_user_workspace("ann").exists()
    assert [e.name for e in await library.skill_set("ann")] == ["mine"]


async def test_own_skills_are_kept_checked_counted_and_deleted(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    write_skill(tmp_path / "a", "mine", "everyone's")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    text = "---\nname: mine\ndescription: Ann's.\n---\nSteps.\n"
    made = await library.put("ann", "mine", text)
    assert (made.source, made.description) == ("own", "Ann's.")
    assert await manager.usage("ann") == len(text)
    with pytest.raises(BadInput, match="not that of its folder"):
        await library.put("ann", "other", text)
    (own_folder(manager, "ann") / "mine" / "notes.txt").write_text("x")
    await library.delete("ann", "mine")
    assert (await library.skill_set("ann")).find("mine")[0].source == "custom"
    for name in ("mine", "nope", "../files", ""):
        with pytest.raises(SkillNotFound):
            await library.delete("ann", name)
    assert (tmp_path / "a" / "mine" / "SKILL.md").exists()


async def test_a_skill_with_more_files_than_are_listed_says_so(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    folder = write_skill(tmp_path / "a", "many").parent
    for number in range(50):
        (folder / f"f{number:02}.md").write_text("x")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    all_of_it = await library.read("ann", "many")
    assert (len(all_of_it.files), "There are more" in skill_prompt(all_of_it)) == (50, False)
    (folder / "f50.md").write_text("x")
    cut = await library.read("ann", "many")
    assert cut.files == all_of_it.files
    assert f"f49.md\nThere are more: `ls {cut.entry.location}`." in skill_prompt(cut)


async def test_there_is_an_end_to_how_many_and_how_much(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    for number in range(MAX_SHARED + 1):
        write_skill(tmp_path / "a", f"s{number:03}", "d" * 1000)
    for number in range(MAX_OWN):
        write_skill(own_folder(manager, "ann"), f"o{number}")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    skill_set = await library.skill_set("bob")
    assert len(skill_set) == MAX_SHARED
    assert "the most there may be" in skill_set.problems[0].reason
    assert len(skill_set.listing) < 30_000
    assert all(f"- {entry.name}" in skill_set.listing for entry in skill_set)
    text = "---\nname: more\ndescription: d\n---\nx"
    with pytest.raises(BadInput, match=f"{MAX_OWN} skills"):
        await library.put("ann", "more", text)
    small = UserWorkspaceManager(tmp_path / "small", 10)
    with pytest.raises(QuotaExceeded):
        await SkillLibrary([], small).put("ann", "more", text)
    small.close()


async def test_an_unknown_name_is_told_with_those_like_it(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    for name in ("sql-review", "chart-design"):
        write_skill(tmp_path / "a", name)
    skill_set = await SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager).skill_set(
        "ann"
    )
    with pytest.raises(SkillNotFound, match="Did you mean sql-review"):
        skill_set.find("sqlreview")
    with pytest.raises(SkillNotFound, match="There are: chart-design, sql-review"):
        skill_set.find("xyzzy")
    assert skill_set.missing("sqlreview").details == {
        "skill": "sqlreview",
        "nearest": ["sql-review"],
    }


async def test_a_skill_that_went_bad_after_it_was_listed_is_told_so(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    file = write_skill(tmp_path / "a", "one")
    library = SkillLibrary([SkillFolder("custom", tmp_path / "a")], manager)
    await library.skill_set("ann")
    file.write_text("broken")
    with pytest.raises(SkillNotFound, match="cannot be used any more"):
        await library.read("ann", "one")


async def test_shared_folders_are_read_only_for_agents(
    tmp_path: Path, manager: UserWorkspaceManager, write_skill: WriteSkill
) -> None:
    before = write_skill(tmp_path / "a", "one").read_text()
    folders = [SkillFolder("shipped", tmp_path / "a"), SkillFolder("custom", tmp_path / "gone")]
    routes = SkillLibrary(folders, manager).routes()
    assert list(routes) == ["/.skills/shipped-1/"]
    backend = routes["/.skills/shipped-1/"]
    assert (await backend.aread("/one/SKILL.md")).error is None
    assert (await backend.awrite("/one/SKILL.md", "mine now")).error
    assert (await backend.aedit("/one/SKILL.md", "one", "mine")).error
    assert (await backend.adelete("/one/SKILL.md")).error
    assert (tmp_path / "a" / "one" / "SKILL.md").read_text() == before


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
