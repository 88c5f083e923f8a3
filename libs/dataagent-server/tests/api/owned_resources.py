"""What somebody can have, one of each kind, made as they would make it; with its ids by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from conftest import LiveServer

Json = dict[str, Any]
SECRET = "s3cr3t"  # in everything that is the owner's


async def ok(answer: httpx.Response) -> Json:
    assert answer.is_success, answer.text
    return answer.json()


async def conversations(client: httpx.AsyncClient) -> dict[str, list[str]]:
    """One with a run that waits for its owner, one that is put away."""
    call = f'!tool write_file {{"file_path": "/{SECRET}.txt", "content": "{SECRET}"}}'
    waiting = await ok(await client.post("/api/v1/chat", json={"message": call}))
    gone = await ok(await client.post("/api/conversations", json={"title": SECRET}))
    assert (await client.delete(f"/api/conversations/{gone['id']}")).status_code == 204
    session = await ok(await client.get(f"/api/v1/sessions/{waiting['session_id']}"))
    sessions = [session["session_id"], gone["id"]]
    return {
        "session_id": sessions,
        "conversation_id": sessions,
        "thread_id": [session["thread_id"], gone["thread_id"]],
        "run_id": [waiting["run_id"]],
        "request_id": [waiting["events"][-1]["data"]["request_id"]],
    }


async def files(client: httpx.AsyncClient) -> dict[str, list[str]]:
    file = {"file": (f"{SECRET}.csv", f"a,b\n1,{SECRET}\n".encode())}
    return {"file_id": [(await ok(await client.post("/api/files/upload", files=file)))["file_id"]]}


async def servers(
    live: LiveServer, client: httpx.AsyncClient, user_id: str
) -> dict[str, list[str]]:
    """An MCP server of the owner's own."""
    body = {"name": f"{SECRET}-tools", "url": "https://mcp.example.com/mcp", "disabled": True}
    headers = {"Authorization": SECRET}
    url = f"/api/v1/users/{user_id}/mcp-servers"
    await ok(await client.post(url, json={**body, "headers": headers}))
    async with live.http("root") as root:
        found = await ok(await root.get("/api/v1/mcp/servers", params={"user_id": user_id}))
    return {"server_id": [each["server_id"] for each in found["items"]]}


async def data(live: LiveServer, client: httpx.AsyncClient, user_id: str) -> dict[str, list[str]]:
    """A source the owner made, one they were given, with a policy, and a result."""
    url = "/api/v1/data-sources"
    form = {"file": (f"{SECRET}.csv", f"a,b\n1,{SECRET}\n".encode())}
    made = await ok(await client.post(f"{url}/upload", data={"name": f"{SECRET}-1"}, files=form))
    sample = live.container.settings.home_dir / "sample" / "chinook.sqlite"
    grants = [{"subject_kind": "user", "subject_id": user_id}]
    body = {"name": f"{SECRET}-2", "url": f"sqlite:///{sample}", "grants": grants}
    rules = {"subjects": "everyone", "tables": {"*": {"grant": True}}}
    async with live.http("root") as root:
        given = await ok(await root.post(url, json=body))
        policies = f"{url}/{given['source_id']}/policies"
        policy = await ok(await root.post(policies, json={"name": SECRET, "rules": rules}))
        attributes = {"attributes": {"region": SECRET}}
        await ok(await root.put(f"/api/v1/users/{user_id}/attributes", json=attributes))
    query = {"sql": f"SELECT '{SECRET}' AS s", "title": SECRET}
    result = await ok(await client.post(f"{url}/{given['source_id']}/query", json=query))
    return {
        "source_id": [made["source_id"], given["source_id"], f"{SECRET}-1"],  # a name is one, too
        "policy_id": [policy["policy_id"]],
        "artifact_id": [result["artifact"]["artifact_id"]],
    }
