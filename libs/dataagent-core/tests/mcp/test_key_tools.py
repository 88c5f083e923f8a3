"""An API key may use all MCP tools, or exactly those listed for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import delete

from dataagent_core.errors import NotFound, ToolNotFound
from dataagent_core.identity.users import UserStore
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.servers.key_tools import KeyTools
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.storage import Database
from dataagent_core.storage.tables import users
from tests.requirements import requirement

from .stored import remote, shared


@pytest.fixture
async def key_id(database: Database) -> AsyncGenerator[str]:
    await database.write(lambda c: c.execute(delete(users)).rowcount)
    store = UserStore(database, password_rounds=4)
    user = await store.create("dora", "correct horse battery")
    key, _ = await store.keys.create(user.user_id, "report")
    yield key.key_id
    store.close()


async def _numbers(servers: ServerStore, catalogue: ToolCatalogue) -> list[int]:
    spec = await servers.create(shared("s"), by="root")
    report = await catalogue.sync(spec, [remote(name) for name in "abc"])
    return [tool.tool_id for tool in report.tools]


@requirement("M2.1")
async def test_a_list_replaces_the_whole_list_and_none_lifts_it(
    database: Database, servers: ServerStore, catalogue: ToolCatalogue, key_id: str
) -> None:
    a, b, c = await _numbers(servers, catalogue)
    keys = KeyTools(database)
    assert await keys.allowed(key_id) is None

    await keys.replace(key_id, [a, b, b])
    assert await keys.allowed(key_id) == {a, b}
    await keys.replace(key_id, [c])
    assert await keys.allowed(key_id) == {c}
    await keys.replace(key_id, [])
    assert await keys.allowed(key_id) == frozenset()
    await keys.replace(key_id, None)
    assert await keys.allowed(key_id) is None
    assert await keys.allowed(None) is None
    assert await keys.allowed("a deployment's key") is None


async def test_an_unknown_tool_or_key_is_named_and_nothing_changes(
    database: Database, servers: ServerStore, catalogue: ToolCatalogue, key_id: str
) -> None:
    a, *_ = await _numbers(servers, catalogue)
    keys = KeyTools(database)
    await keys.replace(key_id, [a])

    with pytest.raises(ToolNotFound, match="999999"):
        await keys.replace(key_id, [a, 999_999])
    with pytest.raises(NotFound):
        await keys.replace("k-none", [a])
    assert await keys.allowed(key_id) == {a}


async def test_a_server_that_goes_takes_its_tools_from_the_list(
    database: Database, servers: ServerStore, catalogue: ToolCatalogue, key_id: str
) -> None:
    a, *_ = await _numbers(servers, catalogue)
    keys = KeyTools(database)
    await keys.replace(key_id, [a])
    (spec,) = await servers.list()
    await servers.delete(spec.server_id)
    await keys.refresh()

    assert await keys.allowed(key_id) == frozenset()


async def test_another_process_holds_to_a_new_list_within_a_second(
    database: Database, servers: ServerStore, catalogue: ToolCatalogue, key_id: str
) -> None:
    a, *_ = await _numbers(servers, catalogue)
    now = [0.0]
    elsewhere = KeyTools(database, clock=lambda: now[0])
    assert await elsewhere.allowed(key_id) is None
    await KeyTools(database).replace(key_id, [a])
    now[0] = 1.0

    assert await elsewhere.allowed(key_id) == {a}
