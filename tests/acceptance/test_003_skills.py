"""Seed 003: skills, where they are found and how one is used."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import dataagent_core.skills
from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Endpoint,
    Json,
    Web,
    chat,
    conversation,
    endpoint,
    items,
    named,
    offered,
    ok,
    outputs,
    running,
    words_of,
)
from tests.source import ROOT
from tests.standins.openai_server import Stream, tool_calls
from tests.standins.openai_server import text as said

DESCRIPTION = "何时使用此技能的描述"
INSTRUCTIONS = "# 技能指令\n\n详细指令内容: count the ships twice."
MY_SKILL = f"---\nname: my-skill\ndescription: {DESCRIPTION}\n---\n{INSTRUCTIONS}\n"
ACTIVATE = "Activate my skill."


def answer(body: Json) -> Stream:
    """A call of the tool if the user asks for one, else a word."""
    if ACTIVATE in words_of(body, "user") and body["messages"][-1]["role"] == "user":
        return tool_calls(("activate_skill", '{"name": "my-skill"}'))
    return said("Done.")


@pytest.fixture(scope="module")
def recording_model(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Web, Endpoint]]:
    folder = tmp_path_factory.mktemp("skills")
    custom = folder / "skills" / "custom"
    for name, content in {
        "my-skill": MY_SKILL,
        "Bad_Name": MY_SKILL.replace("my-skill", "Bad_Name"),
        "nameless": "# No front matter\n",
    }.items():
        (custom / name).mkdir(parents=True)
        (custom / name / "SKILL.md").write_text(content, encoding="utf-8")
    with endpoint(answer) as model:
        settings = {**model.settings, "DATAAGENT_SKILLS_DIRS": str(custom)}
        with running(folder / "server", **settings) as started:
            yield started, model


@pytest.fixture(scope="module")
def web(recording_model: tuple[Web, Endpoint]) -> Web:
    return recording_model[0]


def asked_of(recording_model: tuple[Web, Endpoint], message: str, **fields: Any) -> Json:
    """The first request that a message makes to the model."""
    web, model = recording_model
    before = len(model.requests)
    chat(web.person("dora"), message, **fields)
    return model.seen[before]


@states(
    "003 §2.3",
    "@dataclass SkillEntry",
    "SkillEntry.name 唯一标识符",
    "SkillEntry.description 触发条件描述",
    "SkillEntry.path: Path SKILL.md 所在目录",
)
def test_a_skill_entry_is_made_of_name_description_and_path() -> None:
    entry: Any = dataagent_core.skills.SkillEntry
    made = entry(name="my-skill", description="When.", path=Path("/skills/my-skill"))
    assert (made.name, made.description, made.path) == (
        "my-skill",
        "When.",
        Path("/skills/my-skill"),
    )


@states("003 §3.5", "GET /api/skills 列出所有技能（name + description）")
@states(
    "003 §8.3",
    "skills/custom/my-skill/SKILL.md with name and description",
    "启动时自动加载",
)
@states("003 §2.3", "SKILL.md 格式：--- name: description: --- 指令")
def test_the_skills_are_listed_with_name_and_description(web: Web) -> None:
    found = {
        each["name"]: each["description"] for each in items(web.person("dora").get("/api/skills"))
    }
    assert found["my-skill"] == DESCRIPTION
    assert all(found.values())


@states("003 §2.3", "name 小写-连字符")
def test_a_skill_of_another_name_is_left_out(web: Web) -> None:
    found = [each["name"] for each in items(web.person("dora").get("/api/skills"))]
    assert "Bad_Name" not in found
    assert "nameless" not in found
    assert all(name == name.lower() and "_" not in name for name in found)


@states("003 §3.5", "GET /api/skills/{name} 获取技能详情（含完整指令）")
def test_a_skill_is_shown_with_its_whole_instructions(web: Web) -> None:
    client = web.person("dora")
    skill = ok(client.get("/api/skills/my-skill"))
    assert (skill["name"], skill["description"]) == ("my-skill", DESCRIPTION)
    assert INSTRUCTIONS in skill["content"]
    assert client.get("/api/skills/no-such-skill").status_code == 404


@states("003 §2.3", "加载源 skills/custom/ — 项目自定义技能")
def test_the_skills_of_the_project_are_loaded(web: Web) -> None:
    folders = sorted(each.parent.name for each in (ROOT / "skills/custom").glob("*/SKILL.md"))
    found = [each["name"] for each in items(web.person("dora").get("/api/skills"))]
    assert folders
    assert set(folders) <= set(found)


@states("003 §2.3", "加载源 skills/anthropic/skills/ — Anthropic 官方技能（Git 子模块）")
def test_there_is_a_place_for_anthropics_skills(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dataagent_core.skills import loader as places

    folder = tmp_path / "skills" / "anthropic" / "skills"
    folder.mkdir(parents=True)
    monkeypatch.setattr(places, "shipped_skills", lambda: tmp_path / "skills" / "custom")
    assert folder in [each.directory for each in places.skill_folders([])]


@states("003 §2.3", "用户发送 /skill-name 任务描述", "路由到 general Agent 处理")
@states("003 §7.3", "技能调用：输入 /skill-name 或选择: the request that makes it")
def test_a_slash_and_a_name_use_a_skill_with_general(recording_model: tuple[Web, Endpoint]) -> None:
    events = chat(recording_model[0].person("dora"), "/my-skill in the harbour")
    assert "general" in str(named(events, "thinking"))
    body = asked_of(recording_model, "/my-skill in the harbour")
    assert "execute_python" in offered(body)
    assert "in the harbour" in words_of(body, "user")


@states("003 §2.3", "技能指令注入到消息中 (/skill-name)")
def test_a_slash_and_a_name_put_the_instructions_into_the_message(
    recording_model: tuple[Web, Endpoint],
) -> None:
    assert INSTRUCTIONS in words_of(asked_of(recording_model, "/my-skill in the harbour"), "user")


@states("003 §5.1", "注入技能指令 (skill) into the message the agent gets")
def test_the_field_skill_puts_the_instructions_into_the_message(
    recording_model: tuple[Web, Endpoint],
) -> None:
    body = asked_of(recording_model, "in the harbour", skill="my-skill")
    assert INSTRUCTIONS in words_of(body, "user")
    assert "in the harbour" in words_of(body, "user")


@states("003 §5.1", "the agent gets the instructions of the skill, wherever they stand")
def test_the_model_is_given_the_instructions(recording_model: tuple[Web, Endpoint]) -> None:
    for body in (
        asked_of(recording_model, "go", skill="my-skill"),
        asked_of(recording_model, "/my-skill go"),
    ):
        assert "count the ships twice" in words_of(body)
    assert "count the ships twice" not in words_of(asked_of(recording_model, "go"))


@states("003 §5.1", "the stored question stays as it was typed")
def test_the_history_has_what_was_typed(web: Web) -> None:
    client = web.person("dora")
    thread_id = conversation(client)["thread_id"]
    chat(client, "/my-skill in the harbour", thread_id)
    history = ok(client.get(f"/api/threads/{thread_id}/history"))
    assert history["messages"][0]["content"] == "/my-skill in the harbour"


@states("003 §3.4", "ChatRequest.skill: one there is not is refused with 404")
def test_an_unknown_skill_is_refused(web: Web) -> None:
    client = web.person("dora")
    body = {"thread_id": conversation(client)["thread_id"], "message": "x", "skill": "no-such"}
    assert client.post("/api/chat", json=body).status_code == 404


@states("003 §2.2.3", "activate_skill：激活技能获取详细指令")
def test_activate_skill_returns_the_instructions(web: Web) -> None:
    events = chat(web.person("dora"), ACTIVATE, agent="general")
    [result] = outputs(events, "activate_skill")
    assert result["status"] == "success"
    assert "count the ships twice" in result["output"]
