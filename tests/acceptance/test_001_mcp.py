"""001 Phase 8: MCP configuration, its connection manager, its routes and tables."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pymysql
import pytest
from langchain_core.tools import BaseTool
from sqlalchemy import URL, make_url

from tests.acceptance.library import set_up
from tests.acceptance.running import Running, running
from tests.acceptance.states import states
from tests.services import fresh_database
from tests.standins.mcp_server import stdio_command

EXAMPLE: dict[str, Any] = {
    "servers": [
        {
            "name": "filesystem",
            "command": "uvx",
            "args": ["mcp-server-filesystem", "/workspace"],
            "env": {},
            "disabled": False,
        }
    ]
}
SECRET = "••••"


def mcp() -> Any:
    """The package as a user imports it."""
    return import_module("dataagent_core.mcp")


# -- the configuration ------------------------------------------------------------------------


@states(
    "001 §MCP Configuration Data Models",
    "MCPServerConfig.name: str",
    "MCPServerConfig.command: str",
    "MCPServerConfig.args: list[str] = []",
    "MCPServerConfig.env: dict[str, str] = {}",
    "MCPServerConfig.disabled: bool = False",
    "MCPServerConfig.timeout: int = 30",
    "MCPServerConfig is a dataclass",
)
def test_a_servers_config_has_its_fields() -> None:
    made = mcp().MCPServerConfig(name="files", command="uvx")
    assert dataclasses.is_dataclass(mcp().MCPServerConfig)
    assert (made.name, made.command, made.args, made.env) == ("files", "uvx", [], {})
    assert (made.disabled, made.timeout) == (False, 30)


@states("001 §MCP Configuration Data Models", "MCPConfig.servers: list[MCPServerConfig] = []")
def test_a_config_is_a_list_of_servers() -> None:
    server = mcp().MCPServerConfig("files", "uvx", ["a"], {"A": "b"}, True, 5)
    assert mcp().MCPConfig().servers == []
    assert mcp().MCPConfig(servers=[server]).servers == [server]


@states(
    "001 §MCP Configuration Data Models",
    "MCPConfig.from_file(path: Path) reads JSON",
    "MCPConfig.from_file of no file is empty",
)
@states(
    "001 §MCP Configuration Architecture",
    "mcp.json: servers with name, command, args, env, disabled",
)
@states("P47", "a valid mcp.json is read")
def test_a_config_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert mcp().MCPConfig.from_file(path).servers == []
    path.write_text(json.dumps(EXAMPLE), encoding="utf-8")
    [found] = mcp().MCPConfig.from_file(path).servers
    assert found == mcp().MCPServerConfig(**EXAMPLE["servers"][0])


@states(
    "001 §MCP Configuration Data Models",
    'MCPConfig.to_file(path) writes {"servers": [{name, command, args, env, disabled, timeout}]}',
)
def test_a_config_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    made = mcp().MCPConfig(servers=[mcp().MCPServerConfig("files", "uvx", ["a"], {"A": "b"})])
    assert made.to_file(path) is None
    written = json.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {"servers"}
    wanted = {"name": "files", "command": "uvx", "args": ["a"], "env": {"A": "b"}}
    assert {**wanted, "disabled": False, "timeout": 30}.items() <= written["servers"][0].items()
    assert mcp().MCPConfig.from_file(path) == made


@states(
    "001 §MCP Configuration Data Models",
    "MCPServerConfigRequest: name, command, args, env, disabled, timeout",
    "MCPServerConfigResponse: those and status",
)
def test_the_models_of_the_api_have_their_fields() -> None:
    models = import_module("dataagent_server.models")
    assert models.MCPServerConfigRequest(name="files", command="uvx")
    wanted = {"name", "command", "args", "env", "disabled", "timeout"}
    assert wanted <= set(models.MCPServerConfigRequest.model_fields)
    assert {*wanted, "status"} <= set(models.MCPServerConfigResponse.model_fields)


# -- the connection manager -------------------------------------------------------------------


def standin(name: str = "sums", **fields: Any) -> Any:
    """A server that adds."""
    return mcp().MCPServerConfig(name=name, **{**stdio_command(), **fields})


@pytest.fixture
async def connections(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Any]:
    set_up(monkeypatch, tmp_path)
    manager = mcp().MCPConnectionManager()
    yield manager
    for user_id in ("ana", "ben"):
        await manager.disconnect_user(user_id)


@states(
    "001 §MCP Connection Manager",
    "MCPConnectionManager(max_servers_per_user=5, connection_timeout=30)",
)
@states("R31.2", "five servers a user by default")
@states("R31.6", "30 seconds by default")
def test_the_manager_has_its_defaults() -> None:
    parameters = inspect.signature(mcp().MCPConnectionManager).parameters
    assert parameters["max_servers_per_user"].default == 5
    assert parameters["connection_timeout"].default == 30


@states(
    "001 §MCP Connection Manager",
    "connect_user_servers(user_id, config) -> list[BaseTool]",
    "get_user_tools(user_id) -> list[BaseTool]",
    "disconnect_user(user_id): then there are no tools",
)
async def test_a_users_servers_are_connected(connections: Any) -> None:
    config = mcp().MCPConfig(servers=[standin()])
    tools = await connections.connect_user_servers("ana", config)
    assert all(isinstance(each, BaseTool) for each in tools)
    [add] = [each for each in tools if each.name.endswith("add")]
    assert "5" in str(await add.ainvoke({"a": 2, "b": 3}))
    assert await connections.get_user_tools("ana") == tools
    await connections.disconnect_user("ana")
    assert await connections.get_user_tools("ana") == []


@states("P49", "one user's servers are not another's")
@states("R31.1", "each user has connections of their own")
async def test_a_users_tools_are_theirs(connections: Any) -> None:
    await connections.connect_user_servers("ana", mcp().MCPConfig(servers=[standin()]))
    assert await connections.get_user_tools("ben") == []
    assert await connections.connect_user_servers("ben", mcp().MCPConfig()) == []
    assert await connections.get_user_tools("ana") != []


@states("001 §MCP Connection Manager", "health_check(user_id) -> {server: status}")
@states("R31.4", "connections are checked")
async def test_the_health_of_each_server_is_reported(connections: Any) -> None:
    config = mcp().MCPConfig(servers=[standin(), broken()])
    await connections.connect_user_servers("ana", config)
    health = await connections.health_check("ana")
    assert health["sums"] == "connected"
    assert health["broken"] in {"disconnected", "error"}
    assert await connections.health_check("ben") == {}


def broken(name: str = "broken") -> Any:
    """A server that cannot be started."""
    return mcp().MCPServerConfig(name=name, command="no-such-program-anywhere")


@states("001 §MCP Connection Manager", "servers that are disabled are left out")
async def test_a_disabled_server_is_left_out(connections: Any) -> None:
    config = mcp().MCPConfig(servers=[standin(disabled=True)])
    assert await connections.connect_user_servers("ana", config) == []


@states("001 §MCP Connection Manager", "the first max_servers_per_user are taken")
async def test_no_more_servers_than_allowed_are_connected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_up(monkeypatch, tmp_path)
    manager = mcp().MCPConnectionManager(max_servers_per_user=1)
    config = mcp().MCPConfig(servers=[standin("one"), standin("two")])
    tools = await manager.connect_user_servers("ana", config)
    health = await manager.health_check("ana")
    await manager.disconnect_user("ana")
    assert len([each for each in tools if each.name.endswith("add")]) == 1
    assert health["one"] == "connected"
    assert health.get("two") != "connected"


@states("001 §MCP Connection Manager", "connecting anew ends the old connections")
async def test_connecting_anew_ends_the_old_connections(connections: Any) -> None:
    await connections.connect_user_servers("ana", mcp().MCPConfig(servers=[standin()]))
    assert await connections.connect_user_servers("ana", mcp().MCPConfig()) == []
    assert await connections.get_user_tools("ana") == []


@states("001 §MCP Connection Manager", "a server that fails gives no tools, and a log line")
@states("P48", "a failing connection is a warning and no end")
async def test_a_failing_server_is_a_log_line(
    connections: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert (
            await connections.connect_user_servers("ana", mcp().MCPConfig(servers=[broken()])) == []
        )
    assert [each for each in caplog.records if each.levelno >= logging.WARNING]


@states("001 §MCP Connection Manager", "a server that does not answer in time gives no tools")
@states("R31.5", "a time-out is logged")
async def test_a_silent_server_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    set_up(monkeypatch, tmp_path)
    manager = mcp().MCPConnectionManager(connection_timeout=1)
    silent = mcp().MCPServerConfig(name="silent", command="sleep", args=["1000"])
    with caplog.at_level(logging.WARNING):
        assert await manager.connect_user_servers("ana", mcp().MCPConfig(servers=[silent])) == []
    await manager.disconnect_user("ana")
    assert "MCP server silent of user ana " in caplog.text


@states("001 §Updated AgentConfig for Multi-Tenant", "mcp_config gives the agent the tools")
@states("001 §Updated AgentConfig for Multi-Tenant", "enable_mcp=False gives it none of them")
@pytest.mark.parametrize("enabled", [True, False])
async def test_an_agent_has_the_tools_of_its_config(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, enabled: bool
) -> None:
    from dataagent_core.engine import AgentConfig
    from dataagent_core.session import MemorySessionStore, SessionManager
    from tests.acceptance.library import NotingModel

    set_up(monkeypatch, tmp_path)
    model = NotingModel()
    config = AgentConfig(
        assistant_id="helper",
        user_id="ana",
        model=model,
        enable_mcp=enabled,
        mcp_config=mcp().MCPConfig(servers=[standin()]),
    )
    manager = SessionManager(MemorySessionStore())
    session = await manager.get_or_create_session("ana", "helper")
    executor = await manager.get_executor(session, config)
    assert [event async for event in executor.execute("Hi", session.session_id)]
    assert any(name.endswith("add") for name in model.tools) is enabled


# -- the routes -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    with fresh_database("mysql", tmp_path_factory.mktemp("mcp")) as url:
        yield make_url(url)


@pytest.fixture(scope="module")
def server(place: URL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    url = place.render_as_string(hide_password=False)
    settings = {"DATAAGENT_MCP_STDIO": "any", "DATAAGENT_MULTI_TENANT": "true"}
    settings["DATAAGENT_MCP_MAX_SERVERS"] = "100"
    with running(
        tmp_path_factory.mktemp("server"), DATAAGENT_DATABASE_URL=url, **settings
    ) as started:
        yield started


SERVERS = "/api/v1/users/{}/mcp-servers"


def added(server: Running, name: str, user: str = "alice", **fields: Any) -> Any:
    """The answer to adding a server, off unless it says otherwise."""
    body = {"name": name, **stdio_command(), "disabled": True, **fields}
    return server.post(SERVERS.format(user), body, user)


@states(
    "001 §MCP Configuration REST API",
    "POST /users/{user_id}/mcp-servers takes name, command, args, env, disabled, timeout",
    "the answer has name, command, args, disabled, timeout, status",
    "a new server is disconnected",
)
def test_a_server_is_added(server: Running) -> None:
    answer = added(server, "one", env={"TOKEN": "abc"}, timeout=5)
    assert answer.is_success
    body = answer.json()
    command = stdio_command()
    assert (body["name"], body["command"], body["args"]) == (
        "one",
        command["command"],
        command["args"],
    )
    assert (body["disabled"], body["timeout"], body["status"]) == (True, 5, "disconnected")


@states("001 §MCP Configuration REST API", "POST answers 200")
def test_adding_a_server_is_200(server: Running) -> None:
    assert added(server, "two-hundred").status_code == 200


@states("001 §MCP Configuration REST API (departs)", "env is shown as ••••")
def test_the_environment_is_shown_masked(server: Running) -> None:
    answer = added(server, "masked", env={"TOKEN": "abc"})
    assert answer.json()["env"] == {"TOKEN": SECRET}
    assert "abc" not in answer.text


@states(
    "001 §MCP Configuration REST API",
    "the same name again is 409",
    "Server already exists",
)
def test_the_same_name_again_is_409(server: Running) -> None:
    assert added(server, "twice").is_success
    again = added(server, "twice")
    assert again.status_code == 409
    assert {"error_code", "message"} <= set(again.json())
    assert "Server already exists" in again.json()["message"]


@states(
    "001 §MCP Configuration REST API",
    "GET /users/{user_id}/mcp-servers: each with name, command, args, env, disabled, timeout,"
    " status",
    "status is connected, disconnected or error",
)
def test_servers_are_listed(server: Running) -> None:
    added(server, "listed")
    items = server.get(SERVERS.format("alice")).json()["items"]
    [found] = [each for each in items if each["name"] == "listed"]
    assert {"name", "command", "args", "env", "disabled", "timeout", "status"} <= set(found)
    assert {each["status"] for each in items} <= {"connected", "disconnected", "error"}


@states(
    "001 §MCP Configuration REST API",
    'DELETE answers {"status": "deleted", "server_name": …}',
)
def test_deleting_a_server_is_reported(server: Running) -> None:
    added(server, "gone")
    answer = server.send("DELETE", f"{SERVERS.format('alice')}/gone")
    assert answer.status_code == 200
    assert answer.json() == {"status": "deleted", "server_name": "gone"}


@states("001 §MCP Configuration REST API", "a deleted server is gone")
def test_a_deleted_server_is_gone(server: Running) -> None:
    added(server, "deleted")
    assert server.send("DELETE", f"{SERVERS.format('alice')}/deleted").is_success
    items = server.get(SERVERS.format("alice")).json()["items"]
    assert "deleted" not in {each["name"] for each in items}


@states("001 §MCP Configuration REST API", "another user's servers are 403", "Permission denied")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_another_users_servers_are_403(server: Running, method: str) -> None:
    path = SERVERS.format("alice") + ("/one" if method == "DELETE" else "")
    body = {"name": "mine", "command": "uvx"} if method == "POST" else None
    refused = server.send(method, path, body, "bob")
    assert refused.status_code == 403
    assert "Permission denied" in refused.json()["message"]


@states("001 §MCP Configuration REST API", "another user's servers are refused")
@states("P49", "no user sees or changes another's servers")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_another_users_servers_are_refused(server: Running, method: str) -> None:
    path = SERVERS.format("alice") + ("/one" if method in {"PUT", "DELETE"} else "")
    body = {"name": "mine", "command": "uvx"} if method == "POST" else None
    body = {"disabled": True} if method == "PUT" else body
    assert server.send(method, path, body, "bob").status_code in {403, 404}


@states("001 §MCP Configuration REST API", "an administrator sees every user's")
def test_an_administrator_sees_a_users_servers(server: Running) -> None:
    added(server, "seen")
    items = server.get(SERVERS.format("alice"), "root").json()["items"]
    assert "seen" in {each["name"] for each in items}


@states("001 §MCP Configuration REST API", "an administrator adds and deletes every user's")
def test_an_administrator_changes_a_users_servers(server: Running) -> None:
    body = {"name": "given", **stdio_command(), "disabled": True}
    assert server.post(SERVERS.format("alice"), body, "root").status_code == 200
    items = server.get(SERVERS.format("alice")).json()["items"]
    assert "given" in {each["name"] for each in items}
    path = f"{SERVERS.format('alice')}/given"
    assert server.send("DELETE", path, None, "root").status_code == 200
    items = server.get(SERVERS.format("alice")).json()["items"]
    assert "given" not in {each["name"] for each in items}


# -- the tables -------------------------------------------------------------------------------


def query(place: URL, statement: str) -> list[Any]:
    """The rows of a statement."""
    connection = pymysql.connect(
        host=place.host,
        port=place.port or 3306,
        user=place.username,
        password=place.password or "",
        database=place.database,
        autocommit=True,
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def column_names(place: URL, table: str) -> set[str]:
    rows = query(
        place,
        "SELECT column_name FROM information_schema.columns"
        f" WHERE table_schema = DATABASE() AND table_name = '{table}'",
    )
    return {name for (name,) in rows}


@states(
    "001 §Database Schema for MCP Configuration",
    "mcp_servers.id",
    "mcp_servers.user_id",
    "mcp_servers.name",
    "mcp_servers.command",
    "mcp_servers.args",
    "mcp_servers.disabled",
    "mcp_servers.timeout",
    "mcp_servers.created_at",
    "mcp_servers.updated_at",
    "tenants.tenant_id",
    "tenants.name",
    "tenants.max_users",
    "tenants.max_sessions_per_user",
    "tenants.max_mcp_servers",
    "tenants.workspace_quota_bytes",
    "tenants.features_enabled",
    "tenants.created_at",
    "tenants.updated_at",
    "user_tenants.user_id",
    "user_tenants.tenant_id",
    "user_tenants.role",
    "user_tenants.created_at",
)
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(
            ("mcp_servers", name)
            for name in (
                *("id", "user_id", "name", "command", "args", "disabled", "timeout"),
                *("created_at", "updated_at"),
            )
        ),
        *(
            ("tenants", name)
            for name in (
                *("tenant_id", "name", "max_users", "max_sessions_per_user", "max_mcp_servers"),
                *("workspace_quota_bytes", "features_enabled", "created_at", "updated_at"),
            )
        ),
        *(("user_tenants", name) for name in ("user_id", "tenant_id", "role", "created_at")),
    ],
)
def test_a_table_has_the_column(place: URL, table: str, column: str) -> None:
    assert column in column_names(place, table)


@states("001 §Database Schema for MCP Configuration", "mcp_servers: a user's name is unique")
@states("001 §Database Schema for MCP Configuration (departs)", "env is kept encrypted")
def test_a_name_is_unique_for_a_user(server: Running, place: URL) -> None:
    added(server, "sealed", env={"TOKEN": "plain-secret"})
    added(server, "sealed", "bob")
    rows = query(place, "SELECT user_id FROM mcp_servers WHERE name = 'sealed'")
    assert sorted(user_id for (user_id,) in rows) == ["alice", "bob"]
    kept = [str(row) for (table,) in query(place, "SHOW TABLES") for row in _rows(place, table)]
    assert not any("plain-secret" in row for row in kept)


def _rows(place: URL, table: str) -> list[Any]:
    return query(place, f"SELECT * FROM `{table}`")


@states(
    "001 §Database Schema for MCP Configuration",
    "mcp_servers.user_id: VARCHAR(64) NOT NULL, and an index on it",
    "tenants.tenant_id: VARCHAR(64), the primary key",
    "tenants.name: NOT NULL",
    "user_tenants.user_id: VARCHAR(64), of the primary key",
    "user_tenants.tenant_id: VARCHAR(64) NOT NULL",
)
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("table", "column", "type_", "key"),
    [
        ("mcp_servers", "user_id", "varchar(64)", "MUL"),
        ("tenants", "tenant_id", "varchar(64)", "PRI"),
        ("tenants", "name", None, ""),
        ("user_tenants", "user_id", "varchar(64)", "PRI"),
        ("user_tenants", "tenant_id", "varchar(64)", "MUL"),
    ],
)
def test_a_column_has_its_type_and_key(
    place: URL, table: str, column: str, type_: str | None, key: str
) -> None:
    [(found_type, is_nullable, found_key)] = query(
        place,
        "SELECT column_type, is_nullable, column_key FROM information_schema.columns WHERE"
        f" table_schema = DATABASE() AND table_name = '{table}' AND column_name = '{column}'",
    )
    assert type_ in (None, found_type)
    assert (is_nullable, found_key) == ("NO", key)


@states(
    "001 §Database Schema for MCP Configuration",
    "a tenant's row needs tenant_id and name: the table has the limits' defaults",
    "tenants.created_at and updated_at default to now",
    "a user_tenants row needs user_id and tenant_id: role is member, created_at is now",
    "a user_tenants row goes with its tenant (ON DELETE CASCADE)",
)
@pytest.mark.usefixtures("server")
def test_rows_of_tenants_have_the_defaults_of_their_tables(place: URL) -> None:
    query(place, "INSERT INTO tenants (tenant_id, name) VALUES ('by-hand', 'By hand')")
    query(place, "INSERT INTO user_tenants (user_id, tenant_id) VALUES ('zoe', 'by-hand')")
    [(*limits, made_at, changed_at)] = query(
        place,
        "SELECT max_users, max_sessions_per_user, max_mcp_servers, workspace_quota_bytes,"
        " created_at, updated_at FROM tenants WHERE tenant_id = 'by-hand'",
    )
    assert limits == [100, 10, 5, 1073741824]
    [(role, joined_at)] = query(
        place, "SELECT role, created_at FROM user_tenants WHERE user_id = 'zoe'"
    )
    assert role == "member"
    now = datetime.now(UTC).replace(tzinfo=None)
    assert all(abs(now - at) < timedelta(days=1) for at in (made_at, changed_at, joined_at))
    query(place, "DELETE FROM tenants WHERE tenant_id = 'by-hand'")
    assert query(place, "SELECT * FROM user_tenants WHERE user_id = 'zoe'") == []


@states(
    "001 §Database Schema for MCP Configuration",
    "mcp_servers.disabled: DEFAULT FALSE",
    "mcp_servers.timeout: DEFAULT 30",
    "mcp_servers.created_at and updated_at: a default of the table",
)
@pytest.mark.usefixtures("server")
def test_the_table_of_servers_has_its_defaults(place: URL) -> None:
    rows = query(
        place,
        "SELECT column_name, column_default FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name = 'mcp_servers'",
    )
    defaults = dict(rows)
    assert (int(defaults["disabled"]), float(defaults["timeout"])) == (0, 30)
    assert defaults["created_at"] is not None
    assert defaults["updated_at"] is not None


@states(
    "001 §Database Schema for MCP Configuration",
    "mcp_servers.disabled: FALSE by default",
    "mcp_servers.timeout: 30 by default",
)
def test_a_server_has_the_defaults_of_the_table(server: Running) -> None:
    body = {"name": "plain", "command": "no-such-program-anywhere"}
    answer = server.post(SERVERS.format("alice"), body).json()
    server.send("DELETE", f"{SERVERS.format('alice')}/plain")
    assert (answer["disabled"], answer["timeout"], answer["args"], answer["env"]) == (
        False,
        30,
        [],
        {},
    )


@states(
    "001 §Database Schema for MCP Configuration",
    "tenants.max_users: 100 by default",
    "tenants.max_sessions_per_user: 10 by default",
    "tenants.max_mcp_servers: 5 by default",
    "tenants.workspace_quota_bytes: 1073741824 by default",
)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_users", 100),
        ("max_sessions_per_user", 10),
        ("max_mcp_servers", 5),
        ("workspace_quota", 1073741824),
    ],
)
def test_a_tenant_has_the_defaults_of_the_table(server: Running, field: str, value: int) -> None:
    made = server.post("/api/v1/tenants", {"name": f"With {field}"}, "root")
    assert made.is_success
    assert made.json()[field] == value


@states(
    "001 §Database Schema for MCP Configuration",
    "user_tenants.role is member by default, or admin",
    "user_tenants goes with its tenant (ON DELETE CASCADE)",
)
def test_a_user_of_a_tenant_is_a_member(server: Running) -> None:
    assert server.post("/api/v1/tenants", {"tenant_id": "acme", "name": "Acme"}, "root").is_success
    path = "/api/v1/tenants/acme/users/alice"
    assert server.send("PUT", path, {"role": "admin"}, "root").is_success
    joined = server.send("PUT", path, {}, "root")
    assert joined.is_success
    assert joined.json()["role"] == "member"
    assert server.send("DELETE", "/api/v1/tenants/acme", None, "root").is_success


# -- the file system --------------------------------------------------------------------------


@pytest.fixture
def workspaces(tmp_path: Path) -> Any:
    manager = import_module("dataagent_core.workspace").UserWorkspaceManager
    return manager(workspace_root=tmp_path / "workspaces", default_quota_bytes=100)


@states(
    "001 §User Workspace Manager",
    "UserWorkspaceManager(workspace_root, default_quota_bytes=1073741824)",
    "get_user_workspace(user_id) -> workspace_root / user_id",
    "ensure_user_workspace(user_id) makes files/, uploads/, outputs/",
)
@states("001 §Storage Layer", "workspaces/{user_id}/files", "…/uploads", "…/outputs")
def test_a_workspace_is_made(workspaces: Any, tmp_path: Path) -> None:
    kind = import_module("dataagent_core.workspace").UserWorkspaceManager
    default = inspect.signature(kind).parameters["default_quota_bytes"].default
    assert default == 1024 * 1024 * 1024
    root = tmp_path / "workspaces" / "ana"
    assert workspaces.get_user_workspace("ana") == root
    assert workspaces.ensure_user_workspace("ana") == root
    assert {path.name for path in root.iterdir()} >= {"files", "uploads", "outputs"}


@states("001 §User Workspace Manager", "validate_path(user_id, path) -> bool")
@states("P52", "a path outside of the workspace is refused")
def test_a_path_outside_is_not_valid(workspaces: Any, tmp_path: Path) -> None:
    root = workspaces.ensure_user_workspace("ana")
    workspaces.ensure_user_workspace("ben")
    (root / "files" / "out").symlink_to(tmp_path)
    assert workspaces.validate_path("ana", root / "files" / "a.txt") is True
    assert workspaces.validate_path("ana", root / "files" / ".." / ".." / "ben") is False
    assert workspaces.validate_path("ana", root / "files" / "out" / "a.txt") is False
    assert workspaces.validate_path("ana", Path("/etc/passwd")) is False


@states(
    "001 §User Workspace Manager",
    "get_workspace_usage(user_id) -> bytes, 0 without a workspace",
    "check_quota(user_id, additional_bytes=0) -> bool",
    "cleanup_workspace(user_id) removes it",
)
@states("P53", "more than the quota is refused")
def test_the_usage_is_counted(workspaces: Any) -> None:
    assert workspaces.get_workspace_usage("ana") == 0
    root = workspaces.ensure_user_workspace("ana")
    (root / "files" / "a.txt").write_bytes(b"x" * 60)
    assert workspaces.get_workspace_usage("ana") == 60
    assert workspaces.check_quota("ana") is True
    assert workspaces.check_quota("ana", additional_bytes=40) is True
    assert workspaces.check_quota("ana", 41) is False
    workspaces.cleanup_workspace("ana")
    assert not root.exists()
    workspaces.cleanup_workspace("ana")


@pytest.fixture
def files(workspaces: Any) -> Any:
    backend = import_module("dataagent_core.workspace").SandboxedFilesystemBackend
    return backend(user_id="ana", workspace_manager=workspaces)


@states(
    "001 §Sandboxed Filesystem Backend",
    "SandboxedFilesystemBackend(user_id, workspace_manager)",
    "it makes the workspace",
    "it is a backend of deepagents",
    "await write_file(path, content)",
    "await read_file(path) -> str",
)
async def test_files_are_written_and_read(files: Any, workspaces: Any) -> None:
    from deepagents.backends.protocol import BackendProtocol

    backend = import_module("dataagent_core.workspace").SandboxedFilesystemBackend
    assert issubclass(backend, BackendProtocol)
    assert (workspaces.get_user_workspace("ana") / "files").is_dir()
    await files.write_file("files/deep/a.txt", "总销售额\n")
    assert await files.read_file("files/deep/a.txt") == "总销售额\n"
    written = workspaces.get_user_workspace("ana") / "files" / "deep" / "a.txt"
    assert written.read_text(encoding="utf-8") == "总销售额\n"


@states(
    "001 §Sandboxed Filesystem Backend", "PermissionError: Access denied: path outside workspace"
)
@pytest.mark.parametrize("path", ["../ben/a.txt", "/etc/passwd", "files/../../../a.txt"])
async def test_a_path_outside_is_denied(files: Any, path: str) -> None:
    with pytest.raises(PermissionError, match=r"^Access denied: path outside workspace"):
        await files.read_file(path)
    with pytest.raises(PermissionError, match=r"^Access denied: path outside workspace"):
        await files.write_file(path, "x")


@states("001 §Sandboxed Filesystem Backend", "PermissionError: Workspace quota exceeded")
async def test_more_than_the_quota_is_denied(files: Any) -> None:
    await files.write_file("files/a.txt", "x" * 100)
    with pytest.raises(PermissionError, match=r"^Workspace quota exceeded"):
        await files.write_file("files/b.txt", "x")
    with pytest.raises(FileNotFoundError):
        await files.read_file("files/b.txt")


@states("001 §Storage Layer", "memories/{user_id}/{assistant_id}/")
@states("P54", "memory is read from the user's own folder")
async def test_memories_are_where_the_document_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.acceptance.library import NotingModel, turn

    home = set_up(monkeypatch, tmp_path)
    for user_id in ("ana", "ben"):
        folder = home / "memories" / user_id / "helper"
        folder.mkdir(parents=True)
        (folder / "AGENTS.md").write_text(f"I am {user_id}.", encoding="utf-8")
    model = NotingModel()
    await turn("Hi", model=model, user_id="ana")
    assert "I am ana." in model.told
    assert "I am ben." not in model.told
