"""The client against the server's own OpenAPI document: every operation has its method.

Each method is called with made-up arguments against an HTTP server that only writes down what it is
asked; the document says which operation that was.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union

import pytest
from aiohttp import web

from dataagent_client import ApiError, Backoff, DataAgentClient, Decision, SyncDataAgentClient
from dataagent_server.config import ServerSettings
from dataagent_server.main import create_app
from tests.requirements import requirement

METHODS: dict[str, str] = {
    # the server
    "health": "health",
    "health_live": "live",
    "health_ready": "ready",
    "get_info": "info",
    "get_system": "admin.system",
    # chat and runs
    "chat": "chat_sync",
    "cancel_chat": "cancel",
    "get_run": "run",
    "run_events": "run_events",
    "cancel_run": "cancel_run",
    "decide": "decide",
    "web_chat": "conversations.chat",
    "web_chat_events": "conversations.events",
    # sessions and conversations
    "list_sessions": "sessions",
    "create_session": "create_session",
    "get_session": "session",
    "delete_session": "delete_session",
    "compact_session": "compact",
    "list_messages": "messages",
    "session_events": "session_events",
    "list_conversations": "conversations.list",
    "create_conversation": "conversations.create",
    "get_conversation": "conversations.get",
    "rename_conversation": "conversations.rename",
    "delete_conversation": "conversations.delete",
    "restore_conversation": "conversations.restore",
    "get_thread_history": "conversations.history",
    # files and artefacts
    "upload_file": "files.upload",
    "list_files": "files.list",
    "download_file": "files.stream",
    "download_named_file": "files.stream_named",
    "preview_file": "files.content",
    "delete_file": "files.delete",
    "list_artifacts": "artifacts.list",
    "get_artifact": "artifacts.get",
    "delete_artifact": "artifacts.delete",
    # data
    "list_data_sources": "data.sources",
    "get_data_source": "data.source",
    "upload_data_source": "data.upload",
    "delete_data_source": "data.delete",
    "list_tables": "data.tables",
    "get_catalogue": "data.catalogue",
    "check_query": "data.check",
    "run_query": "data.query",
    "create_data_source": "admin.data.create",
    "update_data_source": "admin.data.update",
    "set_data_source_grants": "admin.data.set_grants",
    "refresh_catalogue": "admin.data.refresh",
    "list_policies": "admin.data.policies",
    "create_policy": "admin.data.create_policy",
    "replace_policy": "admin.data.replace_policy",
    "delete_policy": "admin.data.delete_policy",
    "get_user_attributes": "admin.data.attributes",
    "set_user_attributes": "admin.data.set_attributes",
    # agents, tools, skills, memory, workspace, usage
    "list_agents": "agents",
    "get_agent": "agent",
    "list_agent_choices": "agent_choices",
    "create_agent": "admin.agents.create",
    "update_agent": "admin.agents.update",
    "delete_agent": "admin.agents.delete",
    "list_tools": "tools",
    "list_skills": "skills.list",
    "get_skill": "skills.get",
    "put_skill": "skills.put",
    "delete_skill": "skills.delete",
    "list_memory": "memory.list",
    "read_memory": "memory.read",
    "write_memory": "memory.write",
    "erase_memory": "memory.erase",
    "erase_one_memory": "memory.erase_one",
    "get_workspace": "workspace",
    "list_usage": "usage",
    # who asks
    "log_in": "auth.log_in",
    "log_out": "auth.log_out",
    "get_me": "auth.me",
    "change_password": "auth.change_password",
    "list_api_keys": "keys.list",
    "create_api_key": "keys.create",
    "revoke_api_key": "keys.revoke",
    "list_users": "admin.users.list",
    "create_user": "admin.users.create",
    "delete_user": "admin.users.delete",
    "set_user_status": "admin.users.set_status",
    "set_user_role": "admin.users.set_role",
    "reset_password": "admin.users.reset_password",
    "list_tenants": "admin.tenants.list",
    "create_tenant": "admin.tenants.create",
    "get_tenant": "admin.tenants.get",
    "replace_tenant": "admin.tenants.replace",
    "delete_tenant": "admin.tenants.delete",
    "list_tenant_users": "admin.tenants.users",
    "put_tenant_user": "admin.tenants.put_user",
    "remove_tenant_user": "admin.tenants.remove_user",
    "list_tenant_invitations": "admin.tenants.invitations",
    "invite_tenant_user": "admin.tenants.invite",
    "withdraw_invitation": "admin.tenants.withdraw",
    "list_invitations": "auth.invitations",
    "accept_invitation": "auth.accept_invitation",
    "list_audit": "admin.audit.list",
    "export_audit": "admin.audit.stream",
    "verify_audit": "admin.audit.verify",
    # MCP
    "list_user_mcp_servers": "mcp.servers",
    "add_user_mcp_server": "mcp.add",
    "get_user_mcp_server": "mcp.server",
    "update_user_mcp_server": "mcp.update",
    "delete_user_mcp_server": "mcp.delete",
    "test_user_mcp_server": "mcp.test",
    "set_user_mcp_credentials": "mcp.set_credentials",
    "list_mcp_servers": "mcp.admin.servers",
    "create_mcp_server": "mcp.admin.add",
    "get_mcp_server": "mcp.admin.server",
    "update_mcp_server": "mcp.admin.update",
    "delete_mcp_server": "mcp.admin.delete",
    "enable_mcp_server": "mcp.admin.enable",
    "disable_mcp_server": "mcp.admin.disable",
    "refresh_mcp_server": "mcp.admin.refresh",
    "test_mcp_server": "mcp.admin.test",
    "list_mcp_tools": "mcp.admin.tools",
    "get_mcp_tool": "mcp.admin.tool",
    "update_mcp_tool": "mcp.admin.set_tool",
    "diff_mcp_tool": "mcp.admin.diff",
    "approve_mcp_tool": "mcp.admin.approve",
    "get_mcp_allowlist": "mcp.admin.allowlist",
    "replace_mcp_allowlist": "mcp.admin.replace_allowlist",
    "list_mcp_calls": "mcp.admin.calls",
    "list_mcp_templates": "mcp.templates.list",
    "create_mcp_template": "mcp.templates.create",
    "get_mcp_template": "mcp.templates.get",
    "replace_mcp_template": "mcp.templates.replace",
    "delete_mcp_template": "mcp.templates.delete",
}
BESIDES = {
    "aclose",
    "chat",  # over the WebSocket, which is no operation
    "chat_sse",  # `start` and `run_events`
    "start",  # `chat` without waiting
    "files.read",
    "files.download",
    "artifacts.page",
    "artifacts.stream",
    "artifacts.read",
    "artifacts.download",
    "artifacts.to_arrow",
    "artifacts.to_pandas",
    "data.rows",
    "admin.audit.export",
}
"""Methods made of others, or other ways to the same operation."""
Operations = list[tuple[str, re.Pattern[str], str]]


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Operations:
    """Method, path and name of each operation, in the order in which the server looks."""
    settings = ServerSettings.model_construct(home=tmp_path_factory.mktemp("home"))
    paths: Mapping[str, Mapping[str, Any]] = create_app(settings).openapi()["paths"]
    return [
        (method.upper(), _pattern(path), operation["operationId"])
        for path, methods in paths.items()
        for method, operation in methods.items()
    ]


def _pattern(path: str) -> re.Pattern[str]:
    last = path.replace("{path}", "<.+>")  # the one that may have slashes
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", last).replace("<.+>", ".+"))


def methods(of: object, prefix: str = "") -> Iterator[str]:
    """The names of all public methods, those of groups with the groups' names."""
    for name in sorted({*dir(type(of)), *vars(of)}):
        if name.startswith("_"):
            continue
        value = getattr(of, name)
        if callable(value):
            yield f"{prefix}{name}"
        else:
            yield from methods(value, f"{prefix}{name}.")


def found(client: object, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        client = getattr(client, part)
    assert callable(client)
    return client


def made_up(hint: Any, file: Path) -> object:
    """A value for an argument."""
    is_union = typing.get_origin(hint) in (UnionType, Union)
    kinds = typing.get_args(hint) if is_union else (hint,)
    values: dict[Any, object] = {str: "x", int: 1, Decision: Decision("approve"), Path: file}
    for kind in kinds:
        if kind in values:
            return values[kind]
        if typing.get_origin(kind) is Literal:
            return typing.get_args(kind)[0]
    return {} if typing.get_origin(hint) in (dict, Mapping) else ()


async def called(client: DataAgentClient, name: str, file: Path) -> None:
    """Call a method with what it must have."""
    method = found(client, name)
    given = [
        made_up(each.annotation, file)
        for each in inspect.signature(method, eval_str=True).parameters.values()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    ]
    result = method(*given)
    with pytest.raises(ApiError, match="written down"):
        await (anext(result) if inspect.isasyncgen(result) else result)


@pytest.fixture
async def asked() -> AsyncGenerator[tuple[str, list[tuple[str, str]]]]:
    """A server's address, and what it was asked."""
    seen: list[tuple[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.method, request.path))
        body = {"error_code": "teapot", "message": "It was written down."}
        return web.json_response(body, status=418)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield site.name, seen
    await runner.cleanup()


@requirement("R21.3", "R22.3")
async def test_every_operation_has_its_method_and_every_method_its_operation(
    operations: Operations, asked: tuple[str, list[tuple[str, str]]], tmp_path: Path
) -> None:
    url, seen = asked
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    reached: dict[str, str] = {}
    async with DataAgentClient(url, backoff=Backoff(attempts=1)) as client:
        for operation_id, name in METHODS.items():
            seen.clear()
            await called(client, name, file)
            ((method, path),) = seen
            reached[operation_id] = next(
                (
                    each
                    for verb, pattern, each in operations
                    if verb == method and pattern.fullmatch(path)
                ),
                f"nothing: {method} {path}",
            )
        assert {*methods(client)} == {*METHODS.values()} | BESIDES
    assert reached == {each: each for _, _, each in operations}


def test_the_sync_client_has_the_same_methods() -> None:
    client = DataAgentClient("http://127.0.0.1:1")
    with SyncDataAgentClient("http://127.0.0.1:1") as sync:
        names = {*methods(sync)}
    assert names - {"close"} == {*methods(client)} - {"aclose"}
