"""What a request changes may be named in its body, too, as its address names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from .mcp_requests import ok

if TYPE_CHECKING:
    from conftest import LiveServer

StartServer = Callable[..., "LiveServer"]
Json = dict[str, Any]
RULES: Json = {"subjects": {"users": ["ana"]}, "tables": {"Customer": {"deny_columns": ["Phone"]}}}
POLICY: Json = {"name": "hide", "rules": RULES}
TEMPLATE: Json = {"name": "files", "command": "mcp-files"}


@pytest.fixture
async def root(start_server: StartServer) -> AsyncGenerator[httpx.AsyncClient]:
    async with start_server(multi_tenant=True).http("root") as client:
        yield client


async def put(root: httpx.AsyncClient, url: str, body: Json, **ids: str) -> None:
    """The body is taken with its ids, and refused if one of them is another."""
    answer = await root.put(url, json=body | ids)
    assert answer.is_success, answer.text
    for name in ids:
        refused = await root.put(url, json={**body, **ids, name: "another"})
        assert (refused.status_code, refused.json()["error_code"]) == (422, "bad_input"), url
        assert f"`{name}` in the body 'another'" in refused.json()["message"]


async def test_a_body_may_have_the_ids_of_what_it_changes(root: httpx.AsyncClient) -> None:
    source = (await ok(await root.get("/api/v1/data-sources/chinook")))["source_id"]
    sources = f"/api/v1/data-sources/{source}"
    await put(root, "/api/v1/agents/sql", {"description": "Asks databases"}, id="sql")
    await put(root, sources, {"description": "Music"}, source_id=source)
    await put(root, "/api/v1/data-sources/chinook", {"description": "Music"}, source_id=source)
    await put(root, f"{sources}/grants", {"grants": []}, source_id=source)
    policy = (await ok(await root.post(f"{sources}/policies", json=POLICY), 201))["policy_id"]
    await put(root, f"{sources}/policies/{policy}", POLICY, policy_id=policy, source_id=source)
    await put(root, "/api/v1/users/ana/attributes", {"attributes": {}}, user_id="ana")
    memory = "/api/v1/users/root/memory/agent/a/b.md"
    await put(root, memory, {"content": "x"}, assistant_id="agent", path="a/b.md")


async def test_a_body_may_have_the_ids_of_what_it_changes_of_mcp_and_tenants(
    root: httpx.AsyncClient,
) -> None:
    template = (await ok(await root.post("/api/v1/mcp/templates", json=TEMPLATE), 201))[
        "template_id"
    ]
    for named in (template, "files"):
        await put(root, f"/api/v1/mcp/templates/{named}", TEMPLATE, template_id=template)
    server: Json = {"server_id": "orders", "name": "Orders", "url": "https://mcp.example.com/mcp"}
    await ok(await root.post("/api/v1/mcp/servers", json={**server, "disabled": True}), 201)
    await put(root, "/api/v1/mcp/servers/orders", {"call_timeout": 7}, server_id="orders")
    own: Json = {"name": "orders", "url": "https://mcp.example.com/mcp", "disabled": True}
    await ok(await root.post("/api/v1/users/ana/mcp-servers", json=own))
    await put(root, "/api/v1/users/ana/mcp-servers/orders", {"call_timeout": 7}, name="orders")
    await ok(await root.post("/api/v1/tenants", json={"tenant_id": "acme", "name": "Acme"}), 201)
    await put(root, "/api/v1/tenants/acme", {"name": "Acme"}, tenant_id="acme")
    await put(root, "/api/v1/tenants/acme/users/ana", {}, tenant_id="acme", user_id="ana")
