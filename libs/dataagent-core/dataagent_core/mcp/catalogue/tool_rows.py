"""The rows of MCP tools: `tools` holds their numbers, `mcp_tools` their definitions.

`sync_tools` stores a server's list of tools; call it inside a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from dataagent_core.mcp.catalogue.definitions import as_json, exposed_name
from dataagent_core.mcp.catalogue.listing import (
    CatalogueEntry,
    SyncReport,
    ToolListing,
    merge,
    report,
)
from dataagent_core.mcp.changes import count_up, hold, hold_agents
from dataagent_core.mcp.types import CatalogueTool, RemoteTool, ServerSpec
from dataagent_core.storage.agent_tables import mcp_servers, mcp_tool_versions, mcp_tools, tools

KEPT_VERSIONS = 20
"""Of a tool's definitions, beside the approved one."""
_TOOL_COLUMNS = (
    tools.c.name.label("exposed_name"),
    tools.c.enabled,
    tools.c.retry_safe,
    tools.c.timeout_s,
)
TOOLS = (
    select(mcp_tools, *_TOOL_COLUMNS)
    .join(tools, tools.c.tool_id == mcp_tools.c.tool_id)
    .order_by(mcp_tools.c.tool_id)
)
_TOOLS_OF = TOOLS.where(mcp_tools.c.server_id == bindparam("wanted"))
_NUMBERS = select(tools.c.tool_id, tools.c.tool_key).where(tools.c.server_id == bindparam("wanted"))
_IS_TOOL = mcp_tools.c.tool_id == bindparam("wanted")
_VERSIONS_OF = select(
    mcp_tool_versions.c.tool_id,
    mcp_tool_versions.c.schema_version,
    mcp_tool_versions.c.definition_hash,
).where(mcp_tool_versions.c.tool_id.in_(bindparam("wanted", expanding=True)))
_CHANGE = (
    update(mcp_tools)
    .where(_IS_TOOL)
    .values(
        title=bindparam("new_title"),
        description=bindparam("new_description"),
        input_schema=bindparam("new_input"),
        output_schema=bindparam("new_output"),
        annotations=bindparam("new_annotations"),
        definition_hash=bindparam("new_hash"),
        schema_version=bindparam("new_version"),
        approved_hash=bindparam("new_approved"),
        approved_by=bindparam("new_approved_by"),
        status=bindparam("new_status"),
        last_seen_at=bindparam("new_seen"),
    )
)
_DESCRIBE = (
    update(tools)
    .where(tools.c.tool_id == bindparam("wanted"))
    .values(description=bindparam("new_description"), input_schema=bindparam("new_input"))
)
_EXPOSE = (
    update(tools).where(tools.c.tool_id == bindparam("wanted")).values(name=bindparam("new_name"))
)
_MARK = (
    update(mcp_servers)
    .where(mcp_servers.c.server_id == bindparam("wanted"))
    .values(catalogue_version=bindparam("at_version"))
)
_TOUCH = (
    update(mcp_tools)
    .where(mcp_tools.c.tool_id.in_(bindparam("wanted", expanding=True)))
    .values(last_seen_at=bindparam("at"))
)
_DROP_VERSIONS = delete(mcp_tool_versions).where(
    mcp_tool_versions.c.tool_id == bindparam("wanted"),
    mcp_tool_versions.c.schema_version <= bindparam("up_to"),
    mcp_tool_versions.c.definition_hash != bindparam("approved"),
)


# -- reading --------------------------------------------------------------------------------------


def tool_from(row: Row[Any]) -> CatalogueTool:
    """Return the catalogue's tool of a row."""
    return CatalogueTool(
        tool_id=row.tool_id,
        server_id=row.server_id,
        name=row.name,
        exposed_name=row.exposed_name,
        definition=RemoteTool(
            name=row.name,
            title=row.title,
            description=row.description,
            input_schema=row.input_schema,
            output_schema=row.output_schema,
            annotations=row.annotations,
        ),
        definition_hash=row.definition_hash,
        schema_version=row.schema_version,
        status=row.status,
        enabled=row.enabled,
        retry_safe=row.retry_safe,
        timeout_seconds=row.timeout_s,
        approved_by=row.approved_by,
        first_seen_at=row.first_seen_at,
        last_seen_at=row.last_seen_at,
    )


def read_entries(connection: Connection, server_id: str) -> dict[str, CatalogueEntry]:
    """Return a server's tools by name."""
    rows = connection.execute(_TOOLS_OF, {"wanted": server_id})
    return {row.name: CatalogueEntry(tool_from(row), row.approved_hash) for row in rows}


def versions_of(
    connection: Connection, tool_ids: Sequence[int]
) -> tuple[dict[tuple[int, str], int], dict[int, int]]:
    """Return version numbers by tool and hash, and each tool's next version number."""
    known: dict[tuple[int, str], int] = {}
    following: dict[int, int] = {}
    if tool_ids:
        for row in connection.execute(_VERSIONS_OF, {"wanted": list(tool_ids)}):
            known[row.tool_id, row.definition_hash] = row.schema_version
            following[row.tool_id] = max(following.get(row.tool_id, 1), row.schema_version + 1)
    return known, following


# -- writing --------------------------------------------------------------------------------------


def add_tools(
    connection: Connection, spec: ServerSpec, new: Sequence[CatalogueEntry], *, at: datetime
) -> None:
    """Insert new tools in the order they were listed, which numbers them."""
    if not new:
        return
    connection.execute(insert(tools), [_numbered(spec, each.tool, at) for each in new])
    numbers = {
        row.tool_key: row.tool_id
        for row in connection.execute(_NUMBERS, {"wanted": spec.server_id})
    }
    rows: list[dict[str, Any]] = []
    for each in new:
        tool_id = numbers[_key(spec.server_id, each.tool.name)]
        rows.append(_columns(each, tool_id, at))
    connection.execute(insert(mcp_tools), rows)
    versions = [
        _version(row["tool_id"], each.tool, at) for row, each in zip(rows, new, strict=True)
    ]
    connection.execute(insert(mcp_tool_versions), versions)


def change_tools(
    connection: Connection,
    changed: Sequence[CatalogueEntry],
    *,
    known: Mapping[tuple[int, str], int],
    at: datetime,
) -> None:
    """Store changed tools; a definition never seen before becomes a new version.

    `known` are the versions of all those whose definition is another than it was.
    """
    renewed = {tool_id for tool_id, _ in known}
    for each in changed:
        tool = each.tool
        connection.execute(_CHANGE, _new_values(each))
        connection.execute(
            _DESCRIBE,
            {
                "wanted": tool.tool_id,
                "new_description": tool.definition.description,
                "new_input": tool.definition.input_schema,
            },
        )
        if tool.tool_id in renewed and (tool.tool_id, tool.definition_hash) not in known:
            connection.execute(insert(mcp_tool_versions), _version(tool.tool_id, tool, at))
            oldest = {
                "wanted": tool.tool_id,
                "up_to": tool.schema_version - KEPT_VERSIONS,
                "approved": each.approved_hash,
            }
            connection.execute(_DROP_VERSIONS, oldest)


def touch_tools(connection: Connection, tool_ids: Iterable[int], *, at: datetime) -> None:
    """Store that tools were listed again."""
    if wanted := list(tool_ids):
        connection.execute(_TOUCH, {"wanted": wanted, "at": at})


def mark_server(connection: Connection, server_id: str, version: int) -> None:
    """Store the version at which a server's tools last changed."""
    connection.execute(_MARK, {"wanted": server_id, "at_version": version})


def expose_anew(connection: Connection, spec: ServerSpec, version: int) -> None:
    """Rename a server's tools after its alias changed."""
    if spec.scope != "user":
        hold_agents(connection)
    taken: set[str] = set()
    for entry in read_entries(connection, spec.server_id).values():
        name = exposed_name(spec.alias, entry.tool.name, taken)
        taken.add(name)
        connection.execute(_EXPOSE, {"wanted": entry.tool.tool_id, "new_name": name})
    mark_server(connection, spec.server_id, version)


def delete_tools(connection: Connection, server_id: str) -> None:
    """Delete a server's tools and the bindings to them."""
    connection.execute(delete(tools).where(tools.c.server_id == server_id))


# -- shapes ---------------------------------------------------------------------------------------


def _key(server_id: str, name: str) -> str:
    return f"mcp:{server_id}/{name}"[:255]


def _numbered(spec: ServerSpec, tool: CatalogueTool, at: datetime) -> dict[str, Any]:
    return {
        "tool_key": _key(spec.server_id, tool.name),
        "name": tool.exposed_name,
        "kind": "mcp",
        "server_id": spec.server_id,
        "description": tool.definition.description,
        "input_schema": tool.definition.input_schema,
        "created_at": at,
    }


def _columns(entry: CatalogueEntry, tool_id: int, at: datetime) -> dict[str, Any]:
    tool, definition = entry.tool, entry.tool.definition
    return {
        "tool_id": tool_id,
        "server_id": tool.server_id,
        "name": tool.name,
        "title": definition.title,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "output_schema": definition.output_schema,
        "annotations": definition.annotations,
        "definition_hash": tool.definition_hash,
        "schema_version": tool.schema_version,
        "approved_hash": entry.approved_hash,
        "approved_by": tool.approved_by,
        "status": tool.status,
        "first_seen_at": at,
        "last_seen_at": at,
    }


def _new_values(entry: CatalogueEntry) -> dict[str, Any]:
    tool, definition = entry.tool, entry.tool.definition
    return {
        "wanted": tool.tool_id,
        "new_title": definition.title,
        "new_description": definition.description,
        "new_input": definition.input_schema,
        "new_output": definition.output_schema,
        "new_annotations": definition.annotations,
        "new_hash": tool.definition_hash,
        "new_version": tool.schema_version,
        "new_approved": entry.approved_hash,
        "new_approved_by": tool.approved_by,
        "new_status": tool.status,
        "new_seen": tool.last_seen_at,
    }


def _version(tool_id: int, tool: CatalogueTool, at: datetime) -> dict[str, Any]:
    return {
        "tool_id": tool_id,
        "schema_version": tool.schema_version,
        "definition_hash": tool.definition_hash,
        "definition": as_json(tool.definition),
        "seen_at": at,
    }


_SERVER = select(mcp_servers.c.scope, mcp_servers.c.config_version).where(
    mcp_servers.c.server_id == bindparam("wanted")
)


def sync_tools(connection: Connection, spec: ServerSpec, seen: ToolListing) -> SyncReport:
    """Store the list of tools a server sent.

    The version is held first, so that two processes do it one after the other. What a user's own
    server lists for a session that goes on with it as it was changes nothing.
    """
    version = hold(connection)
    server = connection.execute(_SERVER, {"wanted": spec.server_id}).first()
    if server is None:
        return SyncReport(warnings=("The server is not registered any more.",))
    at, scope = _now(), server.scope
    before = read_entries(connection, spec.server_id)
    if scope == "user" and server.config_version != spec.config_version:
        return SyncReport(tools=tuple(each.tool for each in before.values()))
    known, following = versions_of(connection, _redefined(before, seen))
    after = merge(before, seen, spec, versions=known, next_versions=following, at=at)
    found = report(before, after, seen.warnings)
    new = [each for each in after if each.tool.tool_id == 0]
    changed = [each for each in after if each.tool.tool_id and _differs(before, each)]
    if new or changed:
        if scope != "user":
            hold_agents(connection)
        add_tools(connection, spec, new, at=at)
        change_tools(connection, changed, known=known, at=at)
        mark_server(connection, spec.server_id, version)
        count_up(connection)
    _touch(connection, before, seen, at)
    stored = read_entries(connection, spec.server_id)
    return replace(found, tools=tuple(each.tool for each in stored.values()))


def _redefined(before: Mapping[str, CatalogueEntry], seen: ToolListing) -> list[int]:
    """Return the tools whose definition changed."""
    return [
        each.tool.tool_id
        for name, each in before.items()
        if name in seen.tools and seen.tools[name][1] != each.tool.definition_hash
    ]


def _differs(before: Mapping[str, CatalogueEntry], after: CatalogueEntry) -> bool:
    """Whether anything but the time it was last seen differs."""
    was = before[after.tool.name]
    seen_at = after.tool.last_seen_at
    return replace(was, tool=replace(was.tool, last_seen_at=seen_at)) != after


def _touch(
    connection: Connection, before: Mapping[str, CatalogueEntry], seen: ToolListing, at: datetime
) -> None:
    again = (each.tool.tool_id for name, each in before.items() if name in seen.tools)
    touch_tools(connection, again, at=at)


def _now() -> datetime:
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
