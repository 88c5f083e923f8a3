"""What users may not start or reach, templates, and secrets that are never shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from dataagent_core.identity.sealing import MASK
from tests.requirements import requirement
from tests.standins.mcp_server import HttpServer, http_server, stdio_command

from .mcp_requests import MINE, OPEN, TOKEN, Json, calc, ok, said

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
Client = httpx.AsyncClient
TEMPLATE: Json = {
    "name": "standin",
    **stdio_command(),
    "env": {"STANDIN_TOKEN": "{token}", "PLACE": "{place}"},
    "parameters": [
        {"name": "token", "is_secret": True},
        {"name": "place", "pattern": "[a-z]+", "is_required": False},
    ],
}


@pytest.fixture(scope="module")
def standin() -> Iterator[HttpServer]:
    with http_server("--token", TOKEN) as server:
        yield server


@requirement("R30.1")
@pytest.mark.parametrize(
    "body",
    [
        {"command": "sh", "args": ["-c", "id"]},
        {"command": "npx", "args": ["-c", "id"], "transport": "stdio"},
        {"command": "sh", "url": "https://mcp.example.com/mcp"},
        {"command": "sh", "transport": "sse"},
        {"url": "http://169.254.169.254/latest"},
        {"url": "http://[::ffff:a9fe:a9fe]/mcp"},
        {"url": "http://user:pass@mcp.example.com/mcp"},
        {"url": f"https://mcp.example.com/mcp?api_key={TOKEN}"},
        {"url": "file:///etc/passwd"},
    ],
)
async def test_what_users_may_not_start_or_reach_is_refused_everywhere(
    live: LiveServer, body: Json
) -> None:
    async with live.http() as client:
        added = await client.post(MINE, json={"name": "evil", **body})
        assert added.status_code in (403, 422), added.text
        assert TOKEN not in added.text
        good = {"name": "good", "url": "https://mcp.example.com/mcp"}
        await ok(await client.post(MINE, json=good))
        changed = await client.put(f"{MINE}/good", json=body)
        assert changed.status_code in (403, 422), changed.text
        assert (await ok(await client.get(f"{MINE}/good")))["url"] == good["url"]
        await ok(await client.delete(f"{MINE}/good"))


@requirement("R30.1")
async def test_a_template_lets_a_user_start_what_an_administrator_fixed(
    start_server: StartServer,
) -> None:
    live = start_server()
    async with live.http("root") as root:
        made = await ok(await root.post("/api/v1/mcp/templates", json=TEMPLATE), 201)
    async with live.http() as client:
        [seen] = (await ok(await client.get("/api/v1/mcp/templates")))["items"]
        assert (seen["name"], seen["command"], seen["args"], seen["env"]) == (
            *("standin", None, None, None),
        )
        assert [each["name"] for each in seen["parameters"]] == ["token", "place"]
        asked = {"name": "mine", "template": made["template_id"]}
        for wrong in ({}, {"token": TOKEN, "place": "/etc"}, {"token": TOKEN, "other": "x"}):
            answer = await client.post(MINE, json={**asked, "parameters": wrong})
            assert answer.status_code == 422, answer.text
            assert TOKEN not in answer.text
        with_command = {**asked, "parameters": {"token": TOKEN}, "command": "sh"}
        assert (await client.post(MINE, json=with_command)).status_code == 422
        body = {**asked, "parameters": {"token": TOKEN, "place": "here"}}
        added = await ok(await client.post(MINE, json=body))
        assert TOKEN not in json.dumps(added)
        assert added["env"]["STANDIN_TOKEN"] == MASK
        tried = await ok(await client.post(f"{MINE}/mine/test"))
        assert tried["ok"], tried
        changed = await client.put(f"{MINE}/mine", json={"args": ["-c", "print(1)"]})
        assert (changed.status_code, changed.json()["error_code"]) == (
            403,
            "mcp_server_not_allowed",
        )
        await ok(await client.put(f"{MINE}/mine", json={"disabled": True}))
        await ok(await client.put(f"{MINE}/mine", json={"disabled": False}))


CANARY = "c4n4ry"
ADMIN = "/api/v1/mcp/servers"


async def ask_everything(live: LiveServer, standin: HttpServer) -> list[str]:
    """Plant secrets everywhere one can be, use what has them, and return every answer."""
    answers: list[str] = []

    async def ask(who: Client, method: str, url: str, body: Json | None = None) -> Json:
        answer = await who.request(method, url, json=body)
        answers.append(answer.text + str(answer.headers))
        return answer.json() if answer.content else {}

    shared = {"name": "shared", **stdio_command(), "env": {"STANDIN_TOKEN": f"{CANARY}-env"}}
    odd = {"name": "odd", "url": f"{standin.url}?region={CANARY}-url"}
    bad = {"name": "bad", "url": standin.url, "headers": {"A": [f"{CANARY}-shape"]}}
    credentials = {"headers": {}, "env": {"STANDIN_TOKEN": f"{CANARY}-own"}}
    async with live.http("root") as root, live.http() as client:
        one = f"{ADMIN}/{(await ask(root, 'POST', ADMIN, shared))['server_id']}"
        for body in (calc(standin), calc(standin), odd, bad):
            await ask(client, "POST", MINE, body)
        for who, url in ((client, f"{MINE}/calc"), (client, f"{MINE}/odd"), (root, one)):
            await ask(who, "POST", f"{url}/test")
            await ask(who, "GET", url)
            await ask(who, "PUT", url, {"timeout": 9})
        await ask(client, "PUT", f"{MINE}/shared/credentials", credentials)
        await ask(client, "POST", f"{MINE}/shared/test")
        await said(live, '!tool calc__add {"a": 1, "b": 2}')
        for url in (MINE, "/api/v1/tools"):
            await ask(client, "GET", url)
        for url in (ADMIN, "/api/v1/mcp/tools", "/api/v1/mcp/calls", "/api/v1/audit?limit=1000"):
            await ask(root, "GET", url)
    return answers


@requirement("M5.4")
async def test_planted_secrets_are_in_no_answer_and_no_log(
    start_server: StartServer, standin: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    answers = await ask_everything(start_server(**OPEN), standin)
    assert len(answers) >= 20
    assert [each for each in answers if CANARY in each] == []
    assert CANARY not in caplog.text
