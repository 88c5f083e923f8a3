"""The catalogue of MCP tools: discovered, numbered, described and approved.

A process caches the tools of shared servers, and those of users' servers that connected recently;
it reads again when the version in the database has grown. A server's list is stored as a whole, in
one transaction. A removed tool keeps its row and its number, so bindings survive a restart of its
server.
"""

from __future__ import annotations

import asyncio
import builtins
import hashlib
import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from dataagent_core.errors import Conflict, ToolNotFound, Unavailable
from dataagent_core.mcp.catalogue.definitions import DefinitionDiff, as_json, difference
from dataagent_core.mcp.catalogue.listing import FileTools, SyncReport, ToolListing, prepare_listing
from dataagent_core.mcp.catalogue.tool_rows import TOOLS, mark_server, sync_tools, tool_from
from dataagent_core.mcp.changes import count_up, hold, version_of
from dataagent_core.mcp.types import CatalogueTool, RemoteTool, ServerSpec, ToolStatus
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import mcp_servers, mcp_tool_versions, mcp_tools, tools

__all__ = ["DefinitionDiff", "SyncReport", "ToolCatalogue"]

logger = logging.getLogger(__name__)
_SEEN_SECONDS = 600.0
"""How long a list that says the same is not written down again."""
_UNUSED_SECONDS = 6 * 3600.0
"""How long a user's tools are cached after their last use."""
_SHARED = select(mcp_servers.c.server_id).where(mcp_servers.c.scope != "user")
_CHANGED = select(mcp_servers.c.server_id, mcp_servers.c.scope).where(
    mcp_servers.c.catalogue_version > bindparam("known")
)
_OF_SERVERS = TOOLS.where(mcp_tools.c.server_id.in_(bindparam("wanted", expanding=True)))
_ONE = TOOLS.where(mcp_tools.c.tool_id == bindparam("wanted"))
_DEFINITION = select(mcp_tool_versions.c.definition).where(
    mcp_tool_versions.c.tool_id == bindparam("wanted"),
    mcp_tool_versions.c.definition_hash == bindparam("digest"),
)


@dataclass(frozen=True, slots=True)
class _LastListing:
    """The last list of tools a server sent to this process."""

    fingerprint: str
    at: float


class ToolCatalogue:
    """The tools of all servers. Used from the event loop only; call `open` first."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = database
        self._clock = clock
        self._files = FileTools()
        self._bringing = asyncio.Lock()
        self._version = -1
        self._servers: dict[str, tuple[CatalogueTool, ...]] = {}
        self._tools: dict[int, CatalogueTool] = {}
        self._own: dict[str, float] = {}
        self._seen: dict[str, _LastListing] = {}

    # -- life -----------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read the tools of shared servers.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        await self.refresh()

    async def refresh(self) -> None:
        """Read again if another process changed anything.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        async with self._bringing:
            await self._refresh()

    async def _refresh(self) -> None:
        version = await self._db.read(version_of)
        if version == self._version:
            return
        known = self._version if version > self._version else -1
        shared, changed, rows = await self._db.read(lambda c: self._read(c, known))
        for server_id in [*self._servers]:
            if server_id not in shared and server_id not in self._own:
                self._put(server_id, ())
        for server_id in changed:
            self._put(server_id, [tool for tool in rows if tool.server_id == server_id])
        self._version = version
        self._forget_unused()

    def _read(
        self, connection: Connection, known: int
    ) -> tuple[set[str], set[str], builtins.list[CatalogueTool]]:
        shared = set(connection.execute(_SHARED).scalars())
        rows = connection.execute(_CHANGED, {"known": known})
        changed = {row.server_id for row in rows if row.server_id in shared | self._own.keys()}
        found = _tools_of(connection, changed) if changed else []
        return shared, changed, found

    def _put(self, server_id: str, found: Sequence[CatalogueTool]) -> None:
        for tool in self._servers.pop(server_id, ()):
            self._tools.pop(tool.tool_id, None)
        self._seen.pop(server_id, None)
        if found:
            self._servers[server_id] = tuple(found)
            self._tools |= {tool.tool_id: tool for tool in found}

    def _forget_unused(self) -> None:
        before = self._clock() - _UNUSED_SECONDS
        for server_id in [each for each, used in self._own.items() if used < before]:
            self.forget(server_id)

    def forget(self, server_id: str) -> None:
        """Drop a server's tools from memory; they are read when it connects again."""
        self._own.pop(server_id, None)
        self._files.forget(server_id)
        self._put(server_id, ())

    # -- what there is --------------------------------------------------------------------------

    def tools_of(self, server_id: str) -> tuple[CatalogueTool, ...]:
        """Return the server's tools as cached here, in any status, by number."""
        if server_id in self._own:
            self._own[server_id] = self._clock()
        return self._servers.get(server_id) or self._files.tools_of(server_id)

    def get(self, tool_id: int) -> CatalogueTool | None:
        """Return the tool with the number, if it is cached here."""
        if tool_id < 0:
            return self._files.get(tool_id)
        return self._tools.get(tool_id)

    async def find(self, tool_id: int) -> CatalogueTool:
        """Return the tool with the number.

        Raises:
            ToolNotFound: there is none.
        """
        known = self._files.get(tool_id)
        if known is not None:
            return known
        row = await self._db.read(lambda c: c.execute(_ONE, {"wanted": tool_id}).first())
        if row is None:
            raise _tool_not_found(tool_id)
        return tool_from(row)

    async def list(
        self, *, server_id: str | None = None, status: ToolStatus | None = None
    ) -> builtins.list[CatalogueTool]:
        """Return the tools of a server, or of all shared ones, by number."""
        where = (
            mcp_tools.c.server_id == server_id if server_id else mcp_tools.c.server_id.in_(_SHARED)
        )
        wanted = TOOLS.where(where)
        if status is not None:
            wanted = wanted.where(mcp_tools.c.status == status)
        return await self._db.read(lambda c: [tool_from(row) for row in c.execute(wanted)])

    # -- what servers say -----------------------------------------------------------------------

    async def sync(self, spec: ServerSpec, tools: Sequence[RemoteTool]) -> SyncReport:
        """Store the list of tools a server sent. Repeating it changes nothing.

        A changed definition waits for a look where the server is set to that. A server that was
        removed meanwhile has none.

        Raises:
            StorageUnavailable: the database does not answer and the list is another than before.
        """
        seen = await prepare_listing(tools)
        for warning in seen.warnings:
            logger.warning("MCP server %s: %s", spec.label, warning)
        if spec.scope == "file":
            return self._files.sync(spec, seen)
        async with self._bringing:
            return await self._sync(spec, seen)

    async def _sync(self, spec: ServerSpec, seen: ToolListing) -> SyncReport:
        fingerprint = _fingerprint(spec, seen)
        known = self._seen.get(spec.server_id, _LastListing("", 0.0))
        is_same = known.fingerprint == fingerprint
        as_before = SyncReport(tools=self.tools_of(spec.server_id), warnings=seen.warnings)
        if is_same and self._clock() - known.at < _SEEN_SECONDS:
            return as_before
        try:
            found = await self._db.write(lambda c: sync_tools(c, spec, seen))
        except Unavailable:
            if not is_same:
                raise
            return as_before
        if spec.scope == "user":
            self._own[spec.server_id] = self._clock()
        self._put(spec.server_id, found.tools)
        self._seen[spec.server_id] = _LastListing(fingerprint, self._clock())
        if found.is_changed:
            logger.info("MCP server %s: %s", spec.label, _summary(found))
        return found

    # -- what people say ------------------------------------------------------------------------

    async def diff(self, tool_id: int) -> DefinitionDiff:
        """Return how a tool differs from its approved definition.

        Raises:
            ToolNotFound: there is none.
        """

        def unit(connection: Connection) -> DefinitionDiff:
            row = connection.execute(_ONE, {"wanted": tool_id}).first()
            if row is None:
                raise _tool_not_found(tool_id)
            wanted = {"wanted": tool_id, "digest": row.approved_hash}
            approved = connection.execute(_DEFINITION, wanted).scalar()
            return difference(tool_id, approved, as_json(tool_from(row).definition))

        return await self._db.read(unit)

    async def approve(
        self, tool_id: int, *, by: str, definition_hash: str | None = None
    ) -> CatalogueTool:
        """Approve a tool as it is defined now; `definition_hash` is the definition reviewed.

        Raises:
            ToolNotFound: there is none.
            Conflict: it has changed once more since.
        """

        def values(tool: CatalogueTool) -> dict[str, Any]:
            if definition_hash not in (None, tool.definition_hash):
                raise Conflict("The tool has changed since you looked. Look at it again.")
            status = "active" if tool.status == "quarantined" else tool.status
            return {"approved_hash": tool.definition_hash, "approved_by": by, "status": status}

        return await self._change(tool_id, mcp_tools, values)

    async def set(
        self,
        tool_id: int,
        *,
        enabled: bool,
        retry_safe: bool,
        timeout_seconds: float | None,
    ) -> CatalogueTool:
        """Enable or disable a tool, and set whether it may be retried and its timeout.

        Raises:
            ToolNotFound: there is none.
        """
        new = {"enabled": enabled, "retry_safe": retry_safe, "timeout_s": timeout_seconds}
        return await self._change(tool_id, tools, lambda _: new)

    async def _change(
        self, tool_id: int, table: Any, values: Callable[[CatalogueTool], dict[str, Any]]
    ) -> CatalogueTool:
        def unit(connection: Connection) -> CatalogueTool:
            version = hold(connection)
            row = connection.execute(_ONE, {"wanted": tool_id}).first()
            if row is None:
                raise _tool_not_found(tool_id)
            new = values(tool_from(row))
            connection.execute(update(table).where(table.c.tool_id == tool_id).values(new))
            mark_server(connection, row.server_id, version)
            count_up(connection)
            return tool_from(connection.execute(_ONE, {"wanted": tool_id}).one())

        changed = await self._db.write(unit)
        await self.refresh()
        return changed


def _tools_of(connection: Connection, server_ids: Collection[str]) -> list[CatalogueTool]:
    rows = connection.execute(_OF_SERVERS, {"wanted": sorted(server_ids)})
    return [tool_from(row) for row in rows]


def _fingerprint(spec: ServerSpec, seen: ToolListing) -> str:
    """Return a hash that changes when storing the list would change anything."""
    parts = [spec.alias, spec.on_change, spec.session_scope]
    parts += [f"{name}\x00{digest}" for name, (_, digest) in seen.tools.items()]
    return hashlib.sha256("\x01".join(parts).encode()).hexdigest()


def _summary(found: SyncReport) -> str:
    parts = {
        "new": found.added,
        "changed": found.changed,
        "waiting for a look": found.quarantined,
        "gone": found.removed,
        "back": found.restored,
    }
    return ", ".join(f"{len(names)} tools {what}" for what, names in parts.items() if names)


def _tool_not_found(tool_id: int) -> ToolNotFound:
    return ToolNotFound(f"There is no MCP tool {tool_id}. GET /api/v1/mcp/tools lists them.")
