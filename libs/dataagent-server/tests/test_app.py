"""The app by itself, on another ASGI server than ours."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import httpx
from fastapi import FastAPI
from starlette.testclient import TestClient

from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from tests.requirements import requirement

KEY = {"X-API-Key": "alice-key-4f9a0c"}


@requirement("R15.2")
def test_the_app_runs_on_any_asgi_server(settings_for: Callable[..., ServerSettings]) -> None:
    app = create_app(settings_for())
    assert isinstance(app, FastAPI)
    with TestClient(app) as client:
        assert client.get("/api/v1/health").json()["status"] == "ok"
        path = f"/ws/chat/{uuid.uuid4()}"
        with client.websocket_connect(path, headers=KEY) as socket:
            assert socket.receive_json()["event_type"] == "connected"
            socket.send_json({"type": "chat", "payload": {"message": "!echo hi"}})
            types = [socket.receive_json()["event_type"]]
            while types[-1] != "done":
                types.append(socket.receive_json()["event_type"])
        assert types[0] == "accepted"


ENDPOINTS = (
    ("post", "/api/v1/chat"),
    ("post", "/api/v1/chat/{session_id}/cancel"),
    ("get", "/api/v1/sessions"),
    ("post", "/api/v1/sessions"),
    ("get", "/api/v1/sessions/{session_id}"),
    ("delete", "/api/v1/sessions/{session_id}"),
    ("get", "/api/v1/sessions/{session_id}/messages"),
    ("get", "/api/v1/sessions/{session_id}/events"),
    ("get", "/api/v1/runs/{run_id}"),
    ("get", "/api/v1/runs/{run_id}/events"),
    ("post", "/api/v1/runs/{run_id}/cancel"),
    ("post", "/api/v1/runs/{run_id}/decisions/{request_id}"),
    ("get", "/api/v1/data-sources"),
    ("post", "/api/v1/data-sources"),
    ("get", "/api/v1/data-sources/{source_id}"),
    ("put", "/api/v1/data-sources/{source_id}"),
    ("delete", "/api/v1/data-sources/{source_id}"),
    ("put", "/api/v1/data-sources/{source_id}/grants"),
    ("get", "/api/v1/data-sources/{source_id}/policies"),
    ("post", "/api/v1/data-sources/{source_id}/policies"),
    ("put", "/api/v1/data-sources/{source_id}/policies/{policy_id}"),
    ("delete", "/api/v1/data-sources/{source_id}/policies/{policy_id}"),
    ("get", "/api/v1/data-sources/{source_id}/catalogue"),
    ("get", "/api/v1/data-sources/{source_id}/tables"),
    ("post", "/api/v1/data-sources/{source_id}/refresh"),
    ("post", "/api/v1/data-sources/{source_id}/check"),
    ("post", "/api/v1/data-sources/{source_id}/query"),
    ("get", "/api/v1/users/{user_id}/attributes"),
    ("put", "/api/v1/users/{user_id}/attributes"),
    ("get", "/api/v1/artifacts"),
    ("get", "/api/v1/artifacts/{artifact_id}"),
    ("delete", "/api/v1/artifacts/{artifact_id}"),
    ("get", "/api/v1/api-keys"),
    ("post", "/api/v1/api-keys"),
    ("delete", "/api/v1/api-keys/{key_id}"),
    ("post", "/api/auth/login"),
    ("post", "/api/auth/logout"),
    ("get", "/api/auth/me"),
    ("post", "/api/auth/password"),
    ("get", "/api/users"),
    ("post", "/api/users"),
    ("delete", "/api/users/{user_id}"),
    ("patch", "/api/users/{user_id}/status"),
    ("patch", "/api/users/{user_id}/role"),
    ("put", "/api/users/{user_id}/password"),
    ("get", "/api/v1/agents"),
    ("get", "/api/v1/users/{user_id}/mcp-servers"),
    ("post", "/api/v1/users/{user_id}/mcp-servers"),
    ("put", "/api/v1/users/{user_id}/mcp-servers/{server_name}"),
    ("delete", "/api/v1/users/{user_id}/mcp-servers/{server_name}"),
    ("get", "/api/conversations"),
    ("post", "/api/conversations"),
    ("get", "/api/conversations/{conversation_id}"),
    ("patch", "/api/conversations/{conversation_id}"),
    ("delete", "/api/conversations/{conversation_id}"),
    ("post", "/api/chat"),
    ("get", "/api/threads/{thread_id}/history"),
    ("get", "/api/agents"),
    ("get", "/api/skills"),
    ("get", "/api/skills/{skill_name}"),
    ("post", "/api/files/upload"),
    ("get", "/api/files/{file_id}/download"),
    ("get", "/api/files/{file_id}/content"),
    ("get", "/api/files/{file_id}/{filename}"),
    ("get", "/api/v1/health"),
    ("get", "/api/v1/health/live"),
    ("get", "/api/v1/health/ready"),
)


@requirement(
    "R16.1", "R16.2", "R30.2", "P23", "S3.1", "S3.2", "S3.3", "S3.4b", "S3.5a", "S3.6a", "S3.6b"
)
async def test_every_required_endpoint_is_there(
    settings_for: Callable[..., ServerSettings],
) -> None:
    app = create_app(settings_for())
    paths = app.openapi()["paths"]
    for method, path in ENDPOINTS:
        assert method in paths[path], path
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            answer = await client.get("/api/v1/sessions", headers=KEY)
    assert answer.json() == {"items": [], "total": 0}
