"""Skills over HTTP and WebSocket: listed, read, chosen on every door, one's own and nobody else's.

What reaches the model is read at the model's end: a stand-in for an OpenAI-compatible provider.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement
from tests.standins.openai_server import StandIn, openai_server, text

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
SHIPPED = [
    *("chart-design", "cohort-analysis", "data-profiling", "pdf", "spreadsheet-report"),
    *("sql-review", "web-scraping"),
]
MINE = "---\nname: my-way\ndescription: How I like it.\n---\nMy own steps.\n"


def drop(folder: Path, name: str, content: str | None = None) -> None:
    """Put a skill into a folder, as an operator does."""
    (folder / name).mkdir(parents=True)
    text = content or f"---\nname: {name}\ndescription: Does {name}.\n---\nSteps of {name}.\n"
    (folder / name / "SKILL.md").write_text(text)


def prompts(server: StandIn) -> list[str]:
    """The system prompts the provider was sent."""
    return [str(asked.body["messages"][0]["content"]) for asked in server.requests]


@pytest.mark.slow
@requirement("S8.3", "S2.3b")
async def test_a_dropped_skill_works_after_a_restart_on_every_door(
    start_server: StartServer, tmp_path: Path
) -> None:
    folder = tmp_path / "ours"
    async with openai_server(text("ok")) as provider:
        options: dict[str, Any] = {
            "home": tmp_path / "home",
            "model": "openai:any",
            "OPENAI_BASE_URL": provider.base_url,
            "skills_dirs": [str(folder)],
        }
        first = start_server(**options)
        async with first.http() as client:
            refused = await client.post("/api/v1/chat", json={"message": "/sort-it-out this"})
            assert refused.status_code == 404
            assert (await client.get("/api/v1/sessions")).json()["total"] == 0
        first.stop()
        drop(folder, "sort-it-out")
        drop(folder, "broken", "no front matter")
        live = start_server(**options)
        await ask_on_every_door(live)
        async with live.http() as client:
            listed = (await client.get("/api/skills")).json()
    assert prompts(provider) != []
    sent = [str(asked.body["messages"]) for asked in provider.requests]
    assert ["Steps of sort-it-out." in messages for messages in sent] == [
        *(True, True, True, True, True, True, False)
    ]
    assert all("- sort-it-out: Does sort-it-out." in prompt for prompt in prompts(provider))
    assert [item["name"] for item in listed["items"]] == sorted([*SHIPPED, "sort-it-out"])


async def ask_on_every_door(live: LiveServer) -> None:
    """REST by field and by slash, web, socket by field and by slash; then without a skill."""
    skill = {"message": "x", "skill": "sort-it-out"}
    async with live.http() as client:
        for body in (skill, {"message": "/sort-it-out x"}):
            answer = await client.post("/api/v1/chat", json=body)
            assert (answer.status_code, answer.json()["status"]) == (200, "done")
        made = (await client.post("/api/conversations", json={})).json()
        for agent in ({"agent": "sql"}, {}):  # with none named, `general` works with skills
            web = {**skill, **agent, "thread_id": made["thread_id"]}
            assert "event: done" in (await client.post("/api/chat", json=web)).text
    async with live.socket() as socket:
        await socket.say("chat", {"message": "x", "skill": "sort-it", "client_message_id": "m1"})
        error = (await socket.next("error"))["data"]
        assert (error["error_code"], error["client_message_id"]) == ("skill_not_found", "m1")
        assert "Did you mean sort-it-out?" in error["error"]
        for payload in (skill, {"message": "/sort-it-out x"}, {"message": "x"}):
            await socket.chat(**payload)
            await socket.until("done")


@requirement("S3.5a")
async def test_skills_are_listed_and_read(live: LiveServer) -> None:
    async with live.http() as client:
        listed = (await client.get("/api/skills")).json()
        one = (await client.get("/api/skills/data-profiling")).json()
        unknown = await client.get("/api/skills/data-profilin")
        with_agent = (await client.get("/api/skills", params={"agent": "content-writer"})).json()
        of_agent = await client.get("/api/skills/blog-post", params={"agent": "content-writer"})
        elsewhere = await client.get("/api/skills/blog-post")
    assert [item["name"] for item in listed["items"]] == SHIPPED
    assert listed["total"] == len(SHIPPED)
    assert listed["warnings"] == []
    assert set(listed["items"][0]) == {"name", "description", "source"}
    assert set(one) == {"name", "description", "source", "content", "files", "tools", "text"}
    assert one["source"] == "shipped"
    assert one["content"].startswith("# Data profiling")
    assert one["text"].startswith("---\nname: data-profiling\n")
    assert one["text"].rstrip().endswith(one["content"].rstrip()[-80:])
    assert one["files"] == ["scripts/profile_table.py"]
    assert "sql_db_query" in one["tools"]
    assert unknown.status_code == elsewhere.status_code == 404
    assert unknown.json()["details"]["nearest"] == ["data-profiling"]
    assert {item["name"]: item["source"] for item in with_agent["items"]}["blog-post"] == "package"
    assert of_agent.json()["content"].startswith("# Blog post")


@requirement("S2.3b")
async def test_ones_own_skill_is_kept_used_replaced_and_deleted_and_nobody_else_sees_it(
    live: LiveServer,
) -> None:
    url = "/api/skills/my-way"
    async with live.http() as alice, live.http("bob") as bob, live.http("root") as root:
        made = await alice.put(url, json={"content": MINE})
        assert made.json() == {"name": "my-way", "description": "How I like it.", "source": "own"}
        assert (await alice.get(url)).json()["content"] == "My own steps."
        call = {"message": '!tool activate_skill {"name": "my-way"}'}
        used = (await alice.post("/api/v1/chat", json=call)).json()
        assert "My own steps." in str(used["events"])
        for other in (bob, root):
            assert (await other.get(url)).status_code == 404
            assert (await other.delete(url)).status_code == 404
            refused = await other.post("/api/v1/chat", json={"message": "x", "skill": "my-way"})
            assert refused.status_code == 404
            assert "How I like it" not in (await other.get("/api/skills")).text
        await alice.put(url, json={"content": MINE.replace("My own", "My new")})
        assert (await alice.get(url)).json()["content"] == "My new steps."
        assert (await alice.delete(url)).status_code == 204
        assert (await alice.get(url)).status_code == 404


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no front matter", "does not begin with front matter"),
        (MINE.replace("my-way", "other"), "not that of its folder"),
        (MINE.replace("How I like it.", "&a *a"), "anchors"),
        (MINE.replace("How I like it.", "!!python/name:os.system x"), "tags"),
        ("x" * 70_000, ""),
        ("a\0b", ""),
    ],
)
async def test_what_is_no_skill_is_refused_with_its_reason(
    live: LiveServer, content: str, reason: str
) -> None:
    async with live.http() as client:
        answer = await client.put("/api/skills/my-way", json={"content": content})
        assert (answer.status_code, answer.json()["error_code"]) == (422, "bad_input")
        assert reason in answer.json()["message"]
        assert (await client.get("/api/skills/my-way")).status_code == 404
        for name in ("My-Way", "..%2f..%2fx", "a--b", "x" * 65, "a%00"):
            odd = await client.put(f"/api/skills/{name}", json={"content": MINE})
            assert odd.status_code in (404, 405, 422)


async def test_administrators_are_told_what_was_left_out_and_owners_of_their_own(
    start_server: StartServer, tmp_path: Path
) -> None:
    drop(tmp_path / "ours", "broken", "no front matter")
    live = start_server(skills_dirs=[str(tmp_path / "ours")])
    own = live.container.core.workspaces.ensure_user_workspace("alice") / "skills"
    drop(own, "half-done", "---\nname: half-done\n---\nx")
    async with live.http() as alice, live.http("bob") as bob, live.http("root") as root:
        told = [(await each.get("/api/skills")).json()["warnings"] for each in (alice, bob, root)]
    theirs = {
        "source": "own",
        "path": "half-done/SKILL.md",
        "reason": "its front matter has no description, which says when to use it",
    }
    everyones = {
        "source": "custom",
        "path": "broken/SKILL.md",
        "reason": "it does not begin with front matter: a line of ---",
    }
    assert told == [[theirs], [], [everyones]]
