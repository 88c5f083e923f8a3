"""Which MCP tools an API key may use: all, or a list.

A process caches the lists of restricted keys, which are few, and checks at most once a second
whether they changed; its own changes apply at once. The deployment's own key has no row and is not
restricted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from dataagent_core.errors import NotFound, ToolNotFound
from dataagent_core.mcp.changes import count_up, hold, version_of
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import api_key_tools, mcp_tools
from dataagent_core.storage.tables import api_keys

_LOOK_SECONDS = 1.0
_RESTRICTED = select(api_keys.c.key_id).where(api_keys.c.tool_scope == "list")
_LISTED = select(api_key_tools.c.key_id, api_key_tools.c.tool_id)
_IS_KEY = api_keys.c.key_id == bindparam("wanted")
_SCOPE = update(api_keys).where(_IS_KEY).values(tool_scope=bindparam("new_scope"))
_KNOWN = select(mcp_tools.c.tool_id).where(
    mcp_tools.c.tool_id.in_(bindparam("wanted", expanding=True))
)
_UNLIST = delete(api_key_tools).where(api_key_tools.c.key_id == bindparam("wanted"))


class KeyTools:
    """The tools of restricted API keys."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._db = database
        self._clock = clock
        self._version = -1
        self._looked_at = 0.0
        self._lists: dict[str, frozenset[int]] = {}

    async def allowed(self, api_key_id: str | None) -> frozenset[int] | None:
        """Return the numbers of the tools a key may use; None means all of them.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        if api_key_id is None:
            return None
        if self._version < 0 or self._clock() - self._looked_at >= _LOOK_SECONDS:
            await self.refresh()
        return self._lists.get(api_key_id)

    async def refresh(self) -> None:
        """Read again if anything was changed.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        looked_at = self._clock()
        version = await self._db.read(version_of)
        if version != self._version:
            self._lists = await self._db.read(_lists)
            self._version = version
        self._looked_at = looked_at

    async def replace(self, api_key_id: str, tool_ids: Iterable[int] | None) -> None:
        """Replace a key's list of tools; None lifts the restriction.

        Raises:
            NotFound: there is no such key; the deployment's own cannot be restricted.
            ToolNotFound: a number is no MCP tool's.
        """
        wanted = None if tool_ids is None else sorted(set(tool_ids))

        def unit(connection: Connection) -> None:
            hold(connection)
            scope = {"wanted": api_key_id, "new_scope": "all" if wanted is None else "list"}
            if connection.execute(select(api_keys.c.key_id).where(_IS_KEY), scope).first() is None:
                raise NotFound(f"There is no API key {api_key_id[:80]!r}.")
            connection.execute(_SCOPE, scope)
            connection.execute(_UNLIST, {"wanted": api_key_id})
            if wanted:
                _check_known(connection, wanted)
                rows = [{"key_id": api_key_id, "tool_id": each} for each in wanted]
                connection.execute(insert(api_key_tools), rows)
            count_up(connection)

        await self._db.write(unit)
        await self.refresh()


def _check_known(connection: Connection, wanted: list[int]) -> None:
    known = set(connection.execute(_KNOWN, {"wanted": wanted}).scalars())
    unknown = [each for each in wanted if each not in known]
    if unknown:
        raise ToolNotFound(f"There is no MCP tool with the number {unknown[0]}.")


def _lists(connection: Connection) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {key: set() for key in connection.execute(_RESTRICTED).scalars()}
    for key_id, tool_id in connection.execute(_LISTED):
        found.setdefault(key_id, set()).add(tool_id)
    return {key: frozenset(tools) for key, tools in found.items()}
