"""The keeper: one build for many callers, drift told, sources that are down, a clean end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select, update

from dataagent_core.data.catalogue import CatalogueCache, CatalogueState, CatalogueStore
from dataagent_core.data.sources import NewSource, Source, SourceChanges, SourceStore
from dataagent_core.data.types import Catalogue, Column, Table
from dataagent_core.errors import SourceNotFound, SourceUnavailable
from dataagent_core.storage import Database, tables

if TYPE_CHECKING:
    from .conftest import FakeEngine

MakeKeeper = Callable[..., CatalogueCache]
MakeCatalogue = Callable[..., Catalogue]
EXTRA = Table("Extra", (Column("a", "INTEGER"),))


@pytest.fixture
async def make_keeper(
    store: CatalogueStore, sources: SourceStore, engine: FakeEngine
) -> AsyncIterator[MakeKeeper]:
    """Makes keepers over one engine, each as another process would have; closed at the end."""
    made: list[CatalogueCache] = []

    async def engine_of(_source: Source) -> FakeEngine:
        return engine

    def make(**options: float) -> CatalogueCache:
        given: Any = {"engine_of": engine_of, "list_sources": sources.list, **options}
        made.append(CatalogueCache(store, **given))
        return made[-1]

    yield make
    engine.is_free.set()
    for keeper in made:
        await keeper.aclose()


@pytest.fixture
def keeper(make_keeper: MakeKeeper) -> CatalogueCache:
    return make_keeper()


async def begun(engine: FakeEngine) -> None:
    """Wait until the engine is in the middle of describing itself."""
    assert await asyncio.to_thread(engine.has_begun.wait, 5)


# -- kept -----------------------------------------------------------------------------------


async def test_a_catalogue_is_kept_whole(
    store: CatalogueStore, source: Source, catalogue_of: MakeCatalogue
) -> None:
    assert await store.get(source.source_id) is None
    column = Column("名", "TEXT", comment="注", samples=("a", "北京"), are_samples_truncated=True)
    table = Table("客户", (column,), schema="crm", is_view=True, primary_key=("名",), row_count=3)
    made = replace(catalogue_of(table, EXTRA), source_id=source.source_id)
    await store.put(made)
    assert await store.get(source.source_id) == made
    assert await store.refreshed_at(source.source_id) == made.refreshed_at
    again = replace(made, tables=(EXTRA,), hash="0" * 64)
    await store.put(again)
    assert await store.get(source.source_id) == again
    await store.delete(source.source_id)
    assert await store.get(source.source_id) is None


async def test_a_catalogue_goes_with_its_source(
    store: CatalogueStore, sources: SourceStore, source: Source, catalogue_of: MakeCatalogue
) -> None:
    made = replace(catalogue_of(EXTRA), source_id=source.source_id)
    await store.put(made)
    await sources.delete(source.source_id)
    assert await store.get(source.source_id) is None
    with pytest.raises(SourceNotFound):
        await store.put(made)


RULES = {"name": "p", "subjects": {"users": ["ana"]}, "tables": {"customer": {"grant": False}}}


async def test_a_policy_takes_values_out_of_what_is_kept(
    keeper: CatalogueCache,
    store: CatalogueStore,
    sources: SourceStore,
    source: Source,
    engine: FakeEngine,
) -> None:
    engine.values = {"Country": (("Norway",), False)}
    before = await keeper.get(source)
    assert "Norway" in repr(await store.get(source.source_id))
    kept = await sources.policies.put(source.source_id, "p", RULES)
    after = await store.get(source.source_id)
    assert "Norway" not in repr(after)
    assert after is not None
    assert (after.hash, after.refreshed_at) == (before.hash, before.refreshed_at)
    engine.sampled.clear()
    await keeper.refresh(source)
    assert engine.sampled == {"Invoice": ("InvoiceId", "CustomerId", "Total")}
    await sources.policies.delete(source.source_id, kept.policy_id)
    assert "Norway" in repr((await keeper.refresh(source)).catalogue)
    assert "Norway" in repr(await store.get(source.source_id))
    await sources.policies.put(source.source_id, "not a policy", {"x": 1})
    assert "Norway" not in repr(await store.get(source.source_id))


async def test_a_policy_that_comes_during_a_build_holds_for_what_is_kept_of_it(
    keeper: CatalogueCache,
    store: CatalogueStore,
    sources: SourceStore,
    source: Source,
    engine: FakeEngine,
) -> None:
    engine.values = {"Country": (("Norway",), False)}
    engine.is_free.clear()
    building = asyncio.create_task(keeper.get(source))
    await begun(engine)
    await sources.policies.put(source.source_id, "p", RULES)
    engine.is_free.set()
    assert "Norway" not in repr(await building)
    assert engine.sampled["Customer"] == ("CustomerId", "Country")  # it was asked for before
    assert "Norway" not in repr(await store.get(source.source_id))


async def test_a_kept_catalogue_that_cannot_be_read_goes_when_a_policy_comes(
    keeper: CatalogueCache, database: Database, sources: SourceStore, source: Source
) -> None:
    await keeper.get(source)
    spoil = update(tables.catalogues).values(content='{"form":99,"tables":["Norway"]}')
    await database.write(lambda connection: connection.execute(spoil).rowcount)
    await sources.policies.put(source.source_id, "p", RULES)
    count = select(func.count()).select_from(tables.catalogues)
    assert await database.read(lambda connection: connection.execute(count).scalar()) == 0


@pytest.mark.parametrize(
    "content", ["", "{}", '{"form":99}', '{"form":1,"dialect":"x","tables":[{}]}']
)
async def test_what_cannot_be_read_is_built_again(
    keeper: CatalogueCache,
    make_keeper: MakeKeeper,
    database: Database,
    source: Source,
    engine: FakeEngine,
    content: str,
) -> None:
    first = await keeper.get(source)
    spoil = update(tables.catalogues).values(content=content)
    await database.write(lambda connection: connection.execute(spoil).rowcount)
    second = await make_keeper().get(source)
    assert (second.hash, engine.times) == (first.hash, 2)


# -- one build ------------------------------------------------------------------------------


async def test_ten_callers_share_one_build(
    keeper: CatalogueCache, source: Source, engine: FakeEngine
) -> None:
    engine.is_free.clear()
    callers = [asyncio.create_task(keeper.get(source)) for _ in range(10)]
    await begun(engine)
    assert not [caller for caller in callers if caller.done()]
    engine.is_free.set()
    found = await asyncio.gather(*callers)
    assert engine.times == 1
    assert all(one is found[0] for one in found)
    assert await keeper.get(source) is found[0]


async def test_ten_callers_share_one_failure(
    keeper: CatalogueCache, source: Source, engine: FakeEngine
) -> None:
    engine.is_free.clear()
    engine.error = SourceUnavailable("down")
    callers = [asyncio.create_task(keeper.get(source)) for _ in range(10)]
    await begun(engine)
    engine.is_free.set()
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert engine.times == 1
    assert all(isinstance(one, SourceUnavailable) for one in found)
    engine.error = None
    assert (await keeper.get(source)).tables  # a failure is not remembered


async def test_a_caller_who_leaves_does_not_end_the_build(
    keeper: CatalogueCache, source: Source, engine: FakeEngine
) -> None:
    engine.is_free.clear()
    leaving, staying = (asyncio.create_task(keeper.get(source)) for _ in range(2))
    await begun(engine)
    leaving.cancel()
    await asyncio.wait([leaving])
    engine.is_free.set()
    assert (await staying).tables
    assert engine.times == 1


async def test_a_refresh_sees_what_a_build_under_way_may_have_missed(
    keeper: CatalogueCache, source: Source, engine: FakeEngine
) -> None:
    engine.is_free.clear()
    first = asyncio.create_task(keeper.get(source))
    await begun(engine)
    asked = [asyncio.create_task(keeper.refresh(source)) for _ in range(10)]
    await asyncio.sleep(0)  # they now wait for the first build
    engine.is_free.set()
    await first
    engine.tables.append(EXTRA)
    states = await asyncio.gather(*asked)
    assert engine.times == 2
    assert all(EXTRA.key in {t.key for t in state.catalogue.tables} for state in states)


async def test_another_process_need_not_ask_the_source(
    keeper: CatalogueCache, make_keeper: MakeKeeper, source: Source, engine: FakeEngine
) -> None:
    first = await keeper.get(source)
    assert await make_keeper().get(source) == first
    assert engine.times == 1


async def test_a_new_address_is_asked_anew(
    keeper: CatalogueCache, sources: SourceStore, source: Source, engine: FakeEngine
) -> None:
    await keeper.get(source)
    same = await sources.update(source.source_id, SourceChanges(description="new words"))
    await keeper.get(same)
    assert engine.times == 1
    moved = await sources.update(
        source.source_id, SourceChanges(url=SecretStr("sqlite:////data/other.db"))
    )
    later = replace(moved, address_changed_at=moved.address_changed_at + timedelta(minutes=1))
    engine.error = SourceUnavailable("down")
    with pytest.raises(SourceUnavailable):  # the old address' catalogue is no substitute
        await keeper.get(later)
    engine.error, engine.tables = None, [EXTRA]
    assert [table.key for table in (await keeper.refresh(moved)).catalogue.tables] == ["Extra"]


# -- refreshed ------------------------------------------------------------------------------


async def test_drift_is_told_and_logged(
    keeper: CatalogueCache,
    source: Source,
    engine: FakeEngine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    first = await keeper.refresh(source)
    assert (first.drift, first.drifted_at, first.problem) == ((), None, None)
    engine.tables.append(EXTRA)
    second = await keeper.refresh(source)
    assert second.drift == ("Table Extra was added (1 columns).",)
    assert second.drifted_at == second.catalogue.refreshed_at
    assert "shop changed: Table Extra was added" in caplog.text
    third = await keeper.refresh(source)  # nothing new: the last drift stays visible
    assert (third.drift, third.drifted_at) == (second.drift, second.drifted_at)
    assert caplog.text.count("changed:") == 1
    assert (await keeper.state(source)) == third


async def test_drift_is_told_after_a_restart(
    keeper: CatalogueCache, make_keeper: MakeKeeper, source: Source, engine: FakeEngine
) -> None:
    await keeper.get(source)
    engine.tables.append(EXTRA)
    state = await make_keeper().refresh(source)
    assert state.drift == ("Table Extra was added (1 columns).",)


async def test_a_source_that_is_down_keeps_its_catalogue(
    keeper: CatalogueCache,
    make_keeper: MakeKeeper,
    source: Source,
    engine: FakeEngine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = await keeper.get(source)
    engine.error = SourceUnavailable("It does not answer.")
    for each in (keeper, make_keeper()):  # with a memory of it, and without
        state = await each.refresh(source)
        assert state == CatalogueState(first, problem="It does not answer.")
    assert (await keeper.state(source)).problem == "It does not answer."
    assert "no catalogue of data source shop: It does not answer." in caplog.text
    engine.error = None
    assert (await keeper.refresh(source)).problem is None


async def test_a_drivers_own_error_is_not_quoted(
    keeper: CatalogueCache, source: Source, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.error = RuntimeError("cannot connect to postgresql://u:s3cr3t@h/d")
    with pytest.raises(SourceUnavailable, match=r"'shop' cannot be read \(RuntimeError\)") as told:
        await keeper.get(source)
    assert "s3cr3t" not in caplog.text + repr(told.value)
    assert told.value.__cause__ is None


async def test_what_is_due_is_refreshed_and_the_rest_is_not(
    make_keeper: MakeKeeper, sources: SourceStore, source: Source, engine: FakeEngine
) -> None:
    lazy, eager = make_keeper(), make_keeper(interval_seconds=0.0)
    await lazy.refresh_due()
    assert engine.times == 1  # there was none
    await lazy.refresh_due()
    await make_keeper().refresh_due()  # another process sees that it is fresh
    assert engine.times == 1
    await eager.refresh_due()
    assert engine.times == 2
    down = SourceUnavailable("down")
    engine.error = down
    await sources.create(NewSource("second", folder="/x"))
    await eager.refresh_due()  # one that is down and one never seen: neither stops the other
    assert engine.times == 4
    assert (await eager.state(source)).problem == "down"


async def test_another_process_refresh_is_taken_over(
    make_keeper: MakeKeeper, source: Source, engine: FakeEngine
) -> None:
    mine, theirs = make_keeper(), make_keeper()
    await mine.get(source)
    engine.tables.append(EXTRA)
    newer = await theirs.refresh(source)
    assert newer.drift
    await mine.refresh_due()
    assert engine.times == 2  # not asked again
    state = await mine.state(source)
    assert (state.catalogue, state.drift) == (newer.catalogue, newer.drift)


async def test_a_removed_source_is_forgotten(
    keeper: CatalogueCache, sources: SourceStore, source: Source
) -> None:
    await keeper.get(source)
    await sources.delete(source.source_id)
    await keeper.refresh_due()
    with pytest.raises(SourceNotFound):
        await keeper.get(source)


async def test_the_interval_refreshes_until_the_end(
    make_keeper: MakeKeeper, source: Source, engine: FakeEngine
) -> None:
    keeper = make_keeper(interval_seconds=0.001)
    keeper.start()
    for _ in range(3):
        engine.has_begun.clear()
        await begun(engine)
    await keeper.aclose()
    times = engine.times
    assert times >= 3
    with pytest.raises(SourceUnavailable, match="ending"):
        await keeper.refresh(source)
    assert engine.times == times


async def test_closing_waits_for_a_build_under_way(
    make_keeper: MakeKeeper, store: CatalogueStore, source: Source, engine: FakeEngine
) -> None:
    keeper = make_keeper()
    engine.is_free.clear()
    caller = asyncio.create_task(keeper.get(source))
    await begun(engine)
    closing = asyncio.create_task(keeper.aclose())
    await asyncio.sleep(0)
    assert not closing.done()
    engine.is_free.set()
    await closing
    assert (await caller) == await store.get(source.source_id)
