"""Which servers a user has is known without asking, and never as it was before a change."""

from __future__ import annotations

import asyncio
import builtins

from dataagent_core.mcp.servers.registration import ServerChanges
from dataagent_core.mcp.servers.server_store import ServerDirectory, ServerStore
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.storage import Database
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .stored import own


class SlowStore(ServerStore):
    """Hands out what it has read of a user when it is let."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.has_read = asyncio.Event()
        self.go_on = asyncio.Event()

    async def all_for(self, user_id: str, tenant_id: str | None) -> builtins.list[ServerSpec]:
        found = await super().all_for(user_id, tenant_id)
        self.has_read.set()
        await self.go_on.wait()
        return found


@requirement("R30.6")
async def test_what_was_read_before_a_change_is_not_cached_after_it(database: Database) -> None:
    store = SlowStore(database)
    made = await store.create(own("docs"), by="alice")
    directory = ServerDirectory(store)
    await directory.refresh()

    async with asyncio.timeout(WAIT_SECONDS):
        reading = asyncio.create_task(directory.all_for("alice", None))
        await store.has_read.wait()
        await store.update(made.server_id, ServerChanges(disabled=True), by="admin")
        assert await directory.refresh()
        store.go_on.set()
        assert await reading == (made,)  # who asked before the change

    [now] = await directory.all_for("alice", None)
    assert now.disabled
