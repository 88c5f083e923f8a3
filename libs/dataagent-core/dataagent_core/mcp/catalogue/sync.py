"""Brings a server's list of tools into the database, in one transaction.

Above: `catalogue.py`. Below: `merge.py` says what changes, `tool_rows.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select

from dataagent_core.mcp.catalogue.merge import (
    CatalogueEntry,
    SyncReport,
    ToolListing,
    merge,
    report,
)
from dataagent_core.mcp.catalogue.tool_rows import (
    add_tools,
    change_tools,
    mark_server,
    read_entries,
    touch_tools,
    versions_of,
)
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.versions import count_up, hold, hold_agents
from dataagent_core.storage.mcp import mcp_servers

_SERVER = select(mcp_servers.c.scope, mcp_servers.c.config_version).where(
    mcp_servers.c.server_id == bindparam("wanted")
)


def sync_tools(connection: Connection, spec: ServerSpec, seen: ToolListing) -> SyncReport:
    """Make a server's rows say what it lists.

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
    """The tools whose definition is another than it was."""
    return [
        each.tool.tool_id
        for name, each in before.items()
        if name in seen.tools and seen.tools[name][1] != each.tool.definition_hash
    ]


def _differs(before: Mapping[str, CatalogueEntry], after: CatalogueEntry) -> bool:
    """Whether more changed than when a tool was last seen."""
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
