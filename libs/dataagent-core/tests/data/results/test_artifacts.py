# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import Connection, delete

from dataagent_core.data.results import (
    ArtifactDraft,
    ArtifactSlot,
    ArtifactStore,
    StoredResult,
    load_stored_result,
    write_result,
)
from dataagent_core.data.results import artifacts as artifacts_module
from dataagent_core.data.types import Artifact, QueryLimits, Receipt
from dataagent_core.errors import ArtifactNotFound, OutsideWorkspace, QuotaExceeded
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.tables import artifacts, workspace_usage
from dataagent_core.workspace import SqlQuotaLedger

QUOTA = 1_000_000
START = datetime(2024, 5, 1, tzinfo=UTC)
RECEIPT = Receipt(
    source_id="s1",
    source_name="sample",
    dialect="sqlite",
    sql="SELECT 1",
    sql_executed='SELECT 1 AS "1"',
    row_count=3,
    is_truncated=True,
    truncated_by="rows",
    duration_ms=12.5,
    policy=("Rows of your region only.",),
    time_zone="Asia/Shanghai",
    executed_at=START,
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(sql_place: str) -> AsyncGenerator[Database]:
    database = open_database(sql_place)
    await database.write(_empty)
    yield database
    await database.close()


def _empty(connection: Connection) -> None:
    connection.execute(delete(artifacts))
    connection.execute(delete(workspace_usage))


@pytest.fixture
def ledger(database: Database) -> SqlQuotaLedger:
    return SqlQuotaLedger(database)


@pytest.fixture
def store(
    database: Database, ledger: SqlQuotaLedger, tmp_path: Path, clock: Clock
) -> ArtifactStore:
    return ArtifactStore(
        database, tmp_path / "artifacts", ledger, QUOTA, lifetime=timedelta(days=1), now=clock
    )


def rows(count: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"n": pa.array(range(count), pa.int64())})


async def written(slot: ArtifactSlot, batches: Iterator[pa.RecordBatch]) -> StoredResult:
    """As the query service does: `write_result` in a worker thread, booking as it goes."""
    return await asyncio.to_thread(
        lambda: write_result(
            batches, ["n"], slot.path, limits=QueryLimits(), on_bytes=slot.on_bytes
        )
    )


async def table(store: ArtifactStore, user_id: str = "u1", *, session: str = "s1") -> Artifact:
    async with store.new_slot(user_id) as slot:
        kept = await written(slot, rows(3))
        draft = ArtifactDraft(user_id, "Numbers 数字", session_id=session, run_id="r1")
        return await store.create_table(draft, slot, kept, receipt=RECEIPT)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".db"]


async def test_a_kept_table_is_found_again_as_it_was(
    store: ArtifactStore, ledger: SqlQuotaLedger
) -> None:
    made = await table(store)
    assert await store.get(made.artifact_id, owner="u1") == made
    assert made.receipt == RECEIPT
    assert (made.kind, made.row_count, made.title) == ("table", 3, "Numbers 数字")
    assert made.expires_at == START + timedelta(days=1)
    path = store.path_of(made)
    assert path.parts[-2:] == ("u1", f"{made.artifact_id}.parquet")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_stored_result(path).row_count == 3
    assert await ledger.usage("u1") == made.byte_size == path.stat().st_size
    assert await store.usage("u1") == made.byte_size


async def test_another_user_s_artefact_does_not_exist(store: ArtifactStore) -> None:
    made = await table(store)
    with pytest.raises(ArtifactNotFound, match=made.artifact_id):
        await store.get(made.artifact_id, owner="u2")
    with pytest.raises(ArtifactNotFound):
        await store.delete(made.artifact_id, owner="u2")
    assert await store.list("u2") == []
    assert await store.get(made.artifact_id, owner="u1") == made


@pytest.mark.parametrize("artifact_id", ["nope", "../../etc/passwd", "\x00", "\ud800", "x" * 500])
async def test_an_id_that_nobody_made_is_not_found(store: ArtifactStore, artifact_id: str) -> None:
    with pytest.raises(ArtifactNotFound):
        await store.get(artifact_id, owner="u1")


async def test_the_list_is_the_owner_s_the_newest_first_and_by_session(
    store: ArtifactStore, clock: Clock
) -> None:
    made: list[Artifact] = []
    for session in ("s1", "s2", "s1"):
        made.append(await table(store, session=session))
        clock.now += timedelta(seconds=1)
    await table(store, "u2")
    assert await store.list("u1") == made[::-1]
    assert await store.list("u1", session_id="s1") == [made[2], made[0]]
    assert await store.list("u1", limit=1, offset=1) == [made[1]]
    assert await store.count("u1") == 3
    assert await store.count("u1", session_id="s1") == 2


async def test_a_result_beyond_the_quota_is_refused_and_leaves_nothing(
    store: ArtifactStore, ledger: SqlQuotaLedger, tmp_path: Path
) -> None:
    await ledger.reserve("u1", QUOTA - 10, QUOTA)
    with pytest.raises(QuotaExceeded):
        await table(store)
    assert files(tmp_path) == []
    assert await ledger.usage("u1") == QUOTA - 10
    assert await store.list("u1") == []


async def test_a_read_that_fails_half_way_gives_its_booked_bytes_back(
    store: ArtifactStore, ledger: SqlQuotaLedger, tmp_path: Path
) -> None:
    booked: list[int | None] = []

    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows(70_000)
        yield from rows(1)
        raise ConnectionError("gone")

    async def fail_half_way() -> None:
        async with store.new_slot("u1") as slot:
            try:
                await written(slot, failing())
            finally:
                booked.append(await ledger.usage("u1"))

    with pytest.raises(ConnectionError):
        await fail_half_way()
    assert booked[0]
    assert await ledger.usage("u1") == 0
    assert files(tmp_path) == []


async def test_a_result_that_is_not_made_an_artefact_leaves_nothing(
    store: ArtifactStore, ledger: SqlQuotaLedger, tmp_path: Path
) -> None:
    async with store.new_slot("u1") as slot:
        await written(slot, rows(3))
        assert slot.path.exists()
    assert files(tmp_path) == []
    assert await ledger.usage("u1") == 0


async def test_a_writer_that_goes_on_after_it_was_given_up_is_stopped(
    store: ArtifactStore, tmp_path: Path
) -> None:
    async with store.new_slot("u1") as slot:
        pass
    with pytest.raises(ArtifactNotFound, match="given up"):
        await written(slot, rows(3))
    assert files(tmp_path) == []


@pytest.mark.parametrize("user_id", ["..", "a/b", "", ".hidden", "x" * 65])
async def test_a_user_id_that_is_no_folder_s_name_is_refused(
    store: ArtifactStore, user_id: str, tmp_path: Path
) -> None:
    with pytest.raises(OutsideWorkspace):
        await table(store, user_id)
    assert files(tmp_path) == []


async def test_charts_and_files_are_artefacts_of_their_table(
    store: ArtifactStore, ledger: SqlQuotaLedger
) -> None:
    parent = await table(store)
    draft = ArtifactDraft("u1", "Chart", session_id="s1")
    chart = await store.create_chart(draft, {"mark": "bar"}, parent=parent)
    image = await store.create_file(ArtifactDraft("u1", "chart.png"), b"\x89PNG", parent=parent)
    assert await store.get(chart.artifact_id, owner="u1") == chart
    assert (chart.kind, chart.spec, chart.parent_id) == (
        "chart",
        {"mark": "bar"},
        parent.artifact_id,
    )
    assert (chart.columns, chart.expires_at) == (parent.columns, parent.expires_at)
    assert store.path_of(image).read_bytes() == b"\x89PNG"
    assert stat.S_IMODE(store.path_of(image).stat().st_mode) == 0o600
    sizes = parent.byte_size + chart.byte_size + image.byte_size
    assert await ledger.usage("u1") == sizes
    await store.delete(parent.artifact_id, owner="u1")
    assert await store.list("u1") == []
    assert not store.path_of(image).exists()
    assert await ledger.usage("u1") == 0


async def test_a_table_goes_with_all_its_charts_and_a_session_with_all_it_has(
    store: ArtifactStore, ledger: SqlQuotaLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer go at once than otherwise: hundreds of charts take long to make."""
    monkeypatch.setattr(artifacts_module, "_AT_ONCE", 2)
    parent = await table(store)
    for _ in range(5):
        await store.create_chart(ArtifactDraft("u1", "Chart"), {"mark": "bar"}, parent=parent)
    await store.delete(parent.artifact_id, owner="u1")
    assert await store.count("u1") == 0
    for _ in range(5):
        await table(store, session="s1")
    assert await store.delete_session("s1", owner="u1") == 5
    assert await ledger.usage("u1") == 0


async def test_a_file_that_cannot_be_removed_holds_up_no_other(
    store: ArtifactStore, ledger: SqlQuotaLedger, caplog: pytest.LogCaptureFixture
) -> None:
    """Something else stands in a file's place, as the disk refuses it."""
    stuck, *others = [await table(store, session="s1") for _ in range(3)]
    store.path_of(stuck).unlink()
    store.path_of(stuck).mkdir()
    assert await store.delete_session("s1", owner="u1") == 3
    assert not any(store.path_of(each).exists() for each in others)
    assert await ledger.usage("u1") == 0
    assert [each.levelname for each in caplog.records] == ["ERROR"]


async def test_a_file_beyond_the_quota_is_refused_and_leaves_nothing(
    store: ArtifactStore, ledger: SqlQuotaLedger, tmp_path: Path
) -> None:
    with pytest.raises(QuotaExceeded):
        await store.create_file(ArtifactDraft("u1", "big"), b"x" * (QUOTA + 1))
    assert files(tmp_path) == []
    assert not await ledger.usage("u1")


async def test_deleting_twice_at_once_gives_the_bytes_back_once(
    store: ArtifactStore, ledger: SqlQuotaLedger
) -> None:
    made = await table(store)
    other = await table(store)
    ends = await asyncio.gather(
        *(store.delete(made.artifact_id, owner="u1") for _ in range(5)), return_exceptions=True
    )
    assert all(end is None or isinstance(end, ArtifactNotFound) for end in ends)
    assert await ledger.usage("u1") == other.byte_size


async def test_an_artefact_ends_with_its_time_and_gives_its_bytes_back(
    store: ArtifactStore, ledger: SqlQuotaLedger, clock: Clock
) -> None:
    old = await table(store)
    clock.now += timedelta(hours=23)
    young = await table(store)
    clock.now += timedelta(hours=1)
    with pytest.raises(ArtifactNotFound, match="expired"):
        await store.get(old.artifact_id, owner="u1")
    assert await store.list("u1") == [young]
    assert await store.delete_expired() == 1
    assert not store.path_of(old).exists()
    assert store.path_of(young).exists()
    assert await ledger.usage("u1") == young.byte_size
    assert await store.delete_expired() == 0


async def test_files_that_a_dead_process_left_are_removed_after_a_day(
    store: ArtifactStore, tmp_path: Path
) -> None:
    made = await table(store)
    folder = store.path_of(made).parent
    left = [folder / f".{'0' * 32}.parquet.{'1' * 32}.part", folder / f"{'2' * 32}.parquet"]
    young = folder / f"{'3' * 32}.parquet"
    for path in (*left, young):
        path.write_bytes(b"x")
    before = (START - timedelta(days=2)).timestamp()
    for path in (*left, store.path_of(made)):
        os.utime(path, (before, before))
    await store.delete_expired()
    assert sorted(files(tmp_path)) == sorted([store.path_of(made), young])


async def test_a_session_s_artefacts_go_with_it(
    store: ArtifactStore, ledger: SqlQuotaLedger
) -> None:
    await table(store, session="s1")
    kept = await table(store, session="s2")
    assert await store.delete_session("s1", owner="u2") == 0
    assert await store.delete_session("s1", owner="u1") == 1
    assert await store.list("u1") == [kept]
    assert await ledger.usage("u1") == kept.byte_size
