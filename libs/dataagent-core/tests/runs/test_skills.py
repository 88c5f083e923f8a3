"""A skill chosen by the user: with the field or with a slash, for one run, through a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import SkillNotFound
from dataagent_core.hitl import Decision
from dataagent_core.runs import RunOptions
from tests.requirements import requirement
from tests.standins.openai_server import StandIn, openai_server, text, tool_calls

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]
SKILL = "---\nname: tidy-data\ndescription: Cleans tables.\n---\nAlways trim the headers.\n"


def prompts(server: StandIn) -> list[str]:
    """The system prompts the provider was sent."""
    return [str(asked.body["messages"][0]["content"]) for asked in server.requests]


def last_messages(server: StandIn) -> list[str]:
    """The last message of a user in each request."""
    said = [[m for m in one.body["messages"] if m["role"] == "user"] for one in server.requests]
    return [str(each[-1]["content"]) for each in said]


def settings_of(make_settings: MakeSettings, folder: Path, server: StandIn) -> Settings:
    file = folder / "tidy-data" / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SKILL)
    return make_settings(
        model="openai:any", OPENAI_BASE_URL=server.base_url, skills_dirs=[str(folder)]
    )


@requirement("R7.3", "S2.3c")
async def test_the_skill_reaches_the_model_for_that_run_only(
    make_settings: MakeSettings, chat_in: ChatIn, tmp_path: Path
) -> None:
    async with (
        openai_server(text("ok")) as server,
        open_core(settings_of(make_settings, tmp_path / "skills", server)) as core,
    ):
        chat = await chat_in(core)
        await chat.ask("before")
        await chat.ask("/tidy-data this table")
        with_field = await core.runs.start(
            chat.session_id, "that one", owner="anna", options=RunOptions(skill="tidy-data")
        )
        await chat.events(with_field.run)
        await chat.ask("after")
        await chat.ask("/tidy-data")
        history = await chat.history()
    assert ["trim the headers" in message for message in last_messages(server)] == [
        *(False, True, True, False, True)
    ]
    assert all("- tidy-data: Cleans tables." in prompt for prompt in prompts(server))
    typed = [message.rsplit("\n\n", 1)[-1] for message in last_messages(server)]
    assert typed == ["before", "this table", "that one", "after", "/tidy-data"]
    assert not any("trim the headers" in prompt for prompt in prompts(server))
    mine = [message for message in history if message.role == "user"]
    assert [message.content for message in mine][1:3] == ["/tidy-data this table", "that one"]
    assert [message.metadata.get("skill") for message in mine] == [
        *(None, "tidy-data", "tidy-data", None, "tidy-data")
    ]


async def test_a_run_that_waited_through_a_restart_still_has_its_skill(
    make_settings: MakeSettings, chat_in: ChatIn, tmp_path: Path
) -> None:
    call = ("write_file", '{"file_path": "/files/x.txt", "content": "x"}')
    async with openai_server(tool_calls(call), text("done")) as server:
        settings = settings_of(make_settings, tmp_path / "skills", server)
        async with open_core(settings) as core:
            chat = await chat_in(core)
            run = await chat.start("/tidy-data write it")
            request = (await chat.requests(run))[0]
        async with open_core(settings) as core:
            chat = await chat_in(core, chat.session_id)
            await chat.decide(run, request.request_id, Decision("approve"))
            assert (await chat.events(run))[-1].reason == "completed"
    assert ["trim the headers" in message for message in last_messages(server)] == [True, True]


@pytest.mark.parametrize(
    ("message", "skill", "said"),
    [
        ("x", "sql-reviw", "Did you mean sql-review?"),
        ("/sql-reviw x", None, "Did you mean sql-review? Begin with a space to send the text"),
        ("/xyzzy", None, "There are: chart-design, cohort-analysis"),
        ("/sql-review x", "nope", "There is no skill 'nope'"),
        ("x", "blog-post", "'blog-post' is a skill of agent 'content-writer'. Choose that agent"),
    ],
)
async def test_an_unknown_skill_is_refused_before_anything_is_kept(
    core: Core, chat: Any, message: str, skill: str | None, said: str
) -> None:
    with pytest.raises(SkillNotFound, match=said.replace("?", r"\?")):
        await core.runs.start(
            chat.session_id, message, owner="anna", options=RunOptions(skill=skill)
        )
    assert await chat.history() == []
    assert await core.runs.active_run(chat.session_id) is None


async def test_a_message_that_only_looks_like_a_command_is_sent_as_it_is(chat: Any) -> None:
    for message in (" /xyzzy", "/tmp/data.csv?", "what does /sql-review do?"):
        await chat.ask(message)
    mine = [m for m in await chat.history() if m.role == "user"]
    assert [m.content for m in mine] == [" /xyzzy", "/tmp/data.csv?", "what does /sql-review do?"]
    assert all("skill" not in m.metadata for m in mine)


async def test_a_packages_skill_is_there_with_its_agent(core: Core, chat: Any) -> None:
    call = '!tool activate_skill {"name": "blog-post"}'
    alone, with_agent = await chat.ask(call), await chat.ask(call, assistant_id="content-writer")
    results = [
        next(e for e in events if e.event_type == "tool_result") for events in (alone, with_agent)
    ]
    assert [result.status for result in results] == ["error", "success"]
    assert "# Blog post" in results[1].result
    chosen = await chat.ask("/blog-post !echo hi", assistant_id="content-writer")
    assert chosen[0].content == "hi"


async def test_a_users_own_skill_written_by_their_agent_works_at_once_and_for_them_alone(
    core: Core, chat: Any, chat_in: ChatIn
) -> None:
    await chat.ask(
        '!tool write_file {"file_path": "/skills/my-way/SKILL.md", "content": '
        '"---\\nname: my-way\\ndescription: Mine.\\n---\\nMy steps.\\n"}',
        auto_approve=True,
    )
    assert (await chat.ask("/my-way !echo mine"))[0].content == "mine"
    other = await chat_in(core, owner="bob")
    with pytest.raises(SkillNotFound):
        await other.start("/my-way !echo mine")
