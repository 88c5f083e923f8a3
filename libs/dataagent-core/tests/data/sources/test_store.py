"""Sources with their grants and credentials, on every SQL database."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict, replace
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, select

from dataagent_core.data.sources import (
    EVERYONE,
    Grant,
    NewSource,
    Source,
    SourceChanges,
    SourceStore,
)
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import BadInput, Conflict, Misconfigured, SourceNotFound
from dataagent_core.storage import Database, tables

PASSWORD = "s3cr3t-p@ss/wörd"
URL = SecretStr("postgresql://reader:s3cr3t-p%40ss%2Fw%C3%B6rd@db.example:5433/sales?sslkey=kkk")
LITE = SecretStr("sqlite:////data/shop.db")


def kept_rows(connection: Connection) -> str:
    return str([connection.execute(select(t)).all() for t in (tables.data_sources,)])


async def test_a_source_is_kept_whole(sources: SourceStore) -> None:
    new = NewSource(
        "销售-2024",
        url=URL,
        description="Orders 订单",
        default_policy="deny",
        time_zone="Asia/Shanghai",
        limits=QueryLimits(max_rows=7, max_bytes=8, timeout_seconds=1.5),
        grants=(Grant("user", "dora"), EVERYONE, Grant("user", "dora")),
    )
    made = await sources.create(new, owner_id="dora", is_sample=True)
    assert made == Source(
        source_id=made.source_id,
        name="销售-2024",
        kind="database",
        description="Orders 订单",
        dialect=None,
        owner_id="dora",
        is_sample=True,
        is_from_config=False,
        default_policy="deny",
        time_zone="Asia/Shanghai",
        limits=QueryLimits(max_rows=7, max_bytes=8, timeout_seconds=1.5),
        grants=(EVERYONE, Grant("user", "dora")),
        has_credentials=True,
        address="postgresql://reader:••••@db.example:5433/sales?…",
        folder=None,
        files=(),
        address_changed_at=made.created_at,
        created_at=made.created_at,
        updated_at=made.created_at,
    )
    assert await sources.get(made.source_id) == await sources.by_name("销售-2024") == made
    assert await sources.list() == [made]
    assert await sources.url_of(made.source_id) == URL


async def test_files_are_a_source_without_credentials(sources: SourceStore) -> None:
    folder = await sources.create(NewSource("a", folder="/data/reports"))
    files = await sources.create(NewSource("b", files=("x.csv", "报表.xlsx")))
    assert (folder.kind, folder.address, folder.has_credentials) == (
        "files",
        "/data/reports",
        False,
    )
    assert (files.kind, files.address, files.files) == (
        "files",
        "x.csv, 报表.xlsx",
        ("x.csv", "报表.xlsx"),
    )
    assert await sources.url_of(folder.source_id) is None
    assert [source.name for source in await sources.list()] == ["a", "b"]


@pytest.mark.parametrize(
    "name", ["", "a b", "x" * 65, "-x", "a/b", "a.b", "a\x00", "\ud800", "a\n", "a;b"]
)
async def test_a_name_that_could_confuse_is_refused(sources: SourceStore, name: str) -> None:
    with pytest.raises(BadInput):
        await sources.create(NewSource(name, url=LITE))
    assert await sources.by_name(name) is None


async def test_a_name_that_looks_like_an_id_is_refused(sources: SourceStore) -> None:
    made = await sources.create(NewSource("first", url=LITE))
    with pytest.raises(BadInput, match="look like an id"):
        await sources.create(NewSource(made.source_id, url=LITE))


async def test_a_name_is_the_same_however_it_was_composed(sources: SourceStore) -> None:
    await sources.create(NewSource("cafe\u0301", url=LITE))
    with pytest.raises(Conflict, match="Choose another"):
        await sources.create(NewSource("caf\u00e9", url=LITE))


UNKNOWN: Any = "maybe"  # as an API might send


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (NewSource("x"), "exactly one"),
        (NewSource("x", url=LITE, folder="/a"), "exactly one"),
        (NewSource("x", folder=" "), "path"),
        (NewSource("x", files=("a", "b\x00")), "path"),
        (NewSource("x", url=SecretStr("no url")), "cannot be read"),
        (NewSource("x", url=SecretStr("")), "cannot be read"),
        (NewSource("x", url=LITE, time_zone="Mars/Olympus"), "Mars/Olympus"),
        (NewSource("x", url=LITE, time_zone="../etc/passwd"), "time zone"),
        (NewSource("x", url=LITE, limits=QueryLimits(max_rows=0)), "max_rows"),
        (NewSource("x", url=LITE, limits=QueryLimits(timeout_seconds=float("nan"))), "timeout"),
        (NewSource("x", url=LITE, description="\x00"), "description"),
        (NewSource("x", url=LITE, description="d" * 4001), "description"),
        (NewSource("x", url=LITE, grants=(Grant("user", ""),)), "user"),
        (NewSource("x", url=LITE, grants=(Grant("tenant", "t" * 65),)), "tenant"),
        (NewSource("x", url=LITE, grants=(Grant("everyone", "dora"),)), "everyone"),
        (NewSource("x", url=LITE, default_policy=UNKNOWN), "default_policy"),
        (NewSource("x", url=LITE, grants=(Grant(UNKNOWN, "g"),)), "grant"),
    ],
)
async def test_a_bad_value_is_named_and_nothing_is_kept(
    sources: SourceStore, new: NewSource, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        await sources.create(new)
    assert await sources.list() == []


async def test_a_change_leaves_the_rest_and_the_credential(sources: SourceStore) -> None:
    made = await sources.create(NewSource("sales", url=URL, grants=(Grant("user", "dora"),)))
    await sources.note_dialect(made.source_id, "postgres")
    changed = await sources.update(made.source_id, SourceChanges(name="shop", description="new"))
    assert changed == replace(
        made, name="shop", description="new", dialect="postgres", updated_at=changed.updated_at
    )
    assert await sources.url_of(made.source_id) == URL
    assert await sources.by_name("sales") is None


async def test_a_new_address_replaces_the_old_one_and_its_dialect(sources: SourceStore) -> None:
    made = await sources.create(NewSource("sales", url=URL))
    await sources.note_dialect(made.source_id, "postgres")
    moved = await sources.update(made.source_id, SourceChanges(url=LITE))
    assert (moved.dialect, moved.address, moved.has_credentials) == (
        None,
        "sqlite:////data/shop.db",
        False,
    )
    assert moved.address_changed_at == moved.updated_at
    files = await sources.update(made.source_id, SourceChanges(folder="/data"))
    assert (files.kind, files.folder) == ("files", "/data")
    assert await sources.url_of(made.source_id) is None
    with pytest.raises(BadInput, match="exactly one"):
        await sources.update(made.source_id, SourceChanges(url=LITE, folder="/data"))
    with pytest.raises(BadInput, match="exactly one"):
        await sources.update(made.source_id, SourceChanges(files=()))


async def test_changes_at_the_same_moment_all_last(sources: SourceStore) -> None:
    made = await sources.create(NewSource("sales", url=LITE))
    changes = [
        SourceChanges(name="shop"),
        SourceChanges(description="words"),
        SourceChanges(time_zone="Asia/Shanghai"),
        SourceChanges(default_policy="deny"),
        SourceChanges(limits=QueryLimits(max_rows=5)),
        SourceChanges(grants=(EVERYONE,)),
    ]
    await asyncio.gather(*(sources.update(made.source_id, change) for change in changes))
    after = await sources.require(made.source_id)
    assert after == replace(
        made,
        name="shop",
        description="words",
        time_zone="Asia/Shanghai",
        default_policy="deny",
        limits=QueryLimits(max_rows=5),
        grants=(EVERYONE,),
        updated_at=after.updated_at,
    )


async def test_a_name_can_be_taken_once(sources: SourceStore) -> None:
    await sources.create(NewSource("one", url=LITE))
    two = await sources.create(NewSource("two", url=LITE))
    with pytest.raises(Conflict, match="'one'"):
        await sources.create(NewSource("one", url=LITE))
    with pytest.raises(Conflict, match="'one'"):
        await sources.update(two.source_id, SourceChanges(name="one"))
    await sources.create(NewSource("One", url=LITE))  # another name, on every database


async def test_grants_are_replaced_as_a_whole(sources: SourceStore) -> None:
    made = await sources.create(NewSource("sales", url=LITE, grants=(EVERYONE,)))
    tenant, agent = Grant("tenant", "north"), Grant("agent", "sql")
    changed = await sources.set_grants(made.source_id, [tenant, agent, tenant])
    assert changed.grants == (agent, tenant)
    assert (await sources.set_grants(made.source_id, [])).grants == ()


async def test_a_deleted_source_takes_everything_with_it(
    sources: SourceStore, database: Database
) -> None:
    made = await sources.create(NewSource("sales", url=URL, grants=(EVERYONE,)))
    await sources.policies.put(made.source_id, "all", {"tables": {}})
    await sources.delete(made.source_id)
    assert await sources.get(made.source_id) is None
    left = (tables.data_grants, tables.data_policies, tables.data_sources)
    for table in left:
        found = await database.read(lambda c, t=table: c.execute(select(t)).all())
        assert found == []
    for again in (
        sources.delete(made.source_id),
        sources.update(made.source_id, SourceChanges(name="x")),
        sources.note_dialect(made.source_id, "sqlite"),
        sources.require("no such"),
        sources.url_of("no such"),
    ):
        with pytest.raises(SourceNotFound):
            await again


async def test_what_the_file_defines_is_changed_in_the_file(sources: SourceStore) -> None:
    sources.config_file = "/etc/dataagent/sources.yaml"
    made = await sources.create(NewSource("sales", url=LITE), by_config=True)
    for refused in (
        sources.update(made.source_id, SourceChanges(name="x")),
        sources.set_grants(made.source_id, [EVERYONE]),
        sources.delete(made.source_id),
    ):
        with pytest.raises(Conflict, match="configuration file"):
            await refused


# -- credentials ----------------------------------------------------------------------------


async def test_a_credential_shows_nowhere(
    sources: SourceStore, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    new = NewSource("sales", url=URL)
    made = await sources.create(new)
    changes = SourceChanges(url=URL)
    made = await sources.update(made.source_id, changes)
    shown = [repr(new), repr(changes), repr(made), json.dumps(asdict(made), default=str)]
    shown += [await database.read(kept_rows), caplog.text, repr(sources), str(vars(sources))]
    with pytest.raises(Conflict) as taken:
        await sources.create(new)
    shown += [repr(taken.value), str(taken.value.__cause__)]
    for secret in ("s3cr3t", PASSWORD, "kkk"):
        assert not [text for text in shown if secret in text]


@pytest.mark.parametrize(
    "url",
    ["postgresql://u:s3cr3t@h:notaport/db", "s3cr3t", "u:s3cr3t@h", "postgresql://u:a@s3cr3t@h/x"],
)
async def test_a_bad_url_is_not_quoted(sources: SourceStore, url: str) -> None:
    with pytest.raises(BadInput) as refused:
        await sources.create(NewSource("x", url=SecretStr(url)))
    error: BaseException | None = refused.value
    assert "s3cr3t" not in repr(error)
    assert error.__cause__ is None


async def test_all_processes_share_the_key(sources: SourceStore, database: Database) -> None:
    made = await sources.create(NewSource("sales", url=URL))
    assert await SourceStore(database).url_of(made.source_id) == URL


async def test_the_operators_key_is_needed_to_read_what_it_sealed(database: Database) -> None:
    mine = SourceStore(database, secret_key=SecretStr("operator"))
    made = await mine.create(NewSource("sales", url=URL))
    assert await mine.url_of(made.source_id) == URL
    for other in (SourceStore(database), SourceStore(database, secret_key=SecretStr("other"))):
        with pytest.raises(Misconfigured, match="DATAAGENT_SECRET_KEY"):
            await other.url_of(made.source_id)


async def test_a_credential_cannot_be_moved_to_another_source(
    sources: SourceStore, database: Database
) -> None:
    one = await sources.create(NewSource("one", url=URL))
    two = await sources.create(NewSource("two", url=LITE))
    table = tables.data_sources

    def swap(connection: Connection) -> None:
        stolen = connection.execute(
            select(table.c.secret_url).where(table.c.source_id == one.source_id)
        ).scalar()
        connection.execute(
            table.update().where(table.c.source_id == two.source_id).values(secret_url=stolen)
        )

    await database.write(swap)
    with pytest.raises(Misconfigured):
        await sources.url_of(two.source_id)
