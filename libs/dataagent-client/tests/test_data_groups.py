"""The data groups of the client against a real server: sources, artefacts, policies."""

from __future__ import annotations

import json
import sys
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs] it has none
import pytest

from dataagent_client import (
    ConflictError,
    Grant,
    InvalidError,
    NotFoundError,
    NotInstalled,
    QueryError,
    SyncDataAgentClient,
    UnavailableError,
)
from tests.end_to_end.server import USER, Server
from tests.requirements import requirement

Client = SyncDataAgentClient


def sample(client: Client) -> str:
    return next(each.source_id for each in client.data.sources() if each.is_sample)


@requirement("R11.1")
def test_a_source_is_looked_at_checked_and_asked(alice: Client) -> None:
    source_id = sample(alice)
    assert "Track" in {each.key for each in alice.data.tables(source_id).items}
    source = alice.data.source(source_id)
    assert (source.kind, source.dialect, source.owner_id) == ("database", "sqlite", None)
    (track,) = alice.data.catalogue(source_id, table="Track").tables
    assert track.primary_key == ("TrackId",)
    assert "AlbumId" in {name for key in track.foreign_keys for name in key.columns}
    hits = alice.data.catalogue(source_id, search="invoice total").hits
    assert hits is not None
    assert hits[0].table_key.startswith("Invoice")
    checked = alice.data.check(source_id, "select Name from Genre")
    assert "Genre" in checked.sql_executed
    result = alice.data.query(source_id, "select Name from Genre order by 1", limit=3, title="G")
    assert (result.row_count, result.is_truncated, result.truncated_by) == (3, True, "rows")
    assert result.columns[0].name == "Name"
    assert result.statistics[0].nulls == 0
    assert alice.data.rows(result.artifact_id).rows == result.preview
    with pytest.raises(InvalidError) as refused:
        alice.data.check(source_id, "drop table Genre")
    assert refused.value.error_code == "query_refused"
    with pytest.raises(QueryError) as failed:
        alice.data.query(source_id, "select abs(-9223372036854775808)")
    assert failed.value.error_code == "query_failed"


def test_artefacts_come_as_pages_files_pandas_and_arrow(alice: Client, tmp_path: Path) -> None:
    sql = "select GenreId, Name, 1.5 as Half from Genre order by GenreId"
    made = alice.data.query(sample(alice), sql, title="Genres").artifact
    detail = alice.artifacts.get(made.artifact_id)
    assert detail.receipt is not None
    assert (detail.title, detail.receipt.is_truncated) == ("Genres", False)
    page = alice.artifacts.page(made.artifact_id, limit=2, offset=1, sort=["-GenreId"])
    assert [row[0] for row in page.rows] == [page.total - 1, page.total - 2]
    assert made.artifact_id in {each.artifact_id for each in alice.artifacts.list().items}
    csv = alice.artifacts.read(made.artifact_id, "csv", has_bom=True)
    assert csv.startswith(b"\xef\xbb\xbfGenreId,Name,Half")
    rows = json.loads(alice.artifacts.read(made.artifact_id, "json"))
    assert len(rows) == page.total
    saved = alice.artifacts.download(made.artifact_id, tmp_path / "genres.xlsx", "xlsx")
    assert saved.read_bytes().startswith(b"PK")
    table = alice.artifacts.to_arrow(made.artifact_id)
    assert isinstance(table, pa.Table)  # pyright: ignore[reportUnknownMemberType] it has no types
    assert table.column_names == ["GenreId", "Name", "Half"]
    frame = alice.artifacts.to_pandas(made.artifact_id)
    assert list(frame.columns) == ["GenreId", "Name", "Half"]
    assert frame["GenreId"].sum() == sum(row["GenreId"] for row in rows)
    assert Decimal(str(frame["Half"].iloc[0])) == Decimal("1.5")
    alice.artifacts.delete(made.artifact_id)
    with pytest.raises(NotFoundError):
        alice.artifacts.read(made.artifact_id, "parquet")


@pytest.mark.parametrize(("module", "extra"), [("pandas", "pandas"), ("pyarrow.parquet", "arrow")])
def test_a_missing_extra_says_what_to_install(
    alice: Client, monkeypatch: pytest.MonkeyPatch, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not there
    with pytest.raises(NotInstalled, match=rf"pip install 'dataagent-client\[{extra}\]'"):
        alice.artifacts.to_pandas("any")


def test_ones_own_files_become_a_source(alice: Client, tmp_path: Path) -> None:
    local = tmp_path / "sales.csv"
    local.write_bytes(b"region,amount\nNorth,3\nSouth,4\n")
    before = alice.files.upload(b"a,b\n1,2\n", filename="more.csv")
    name = f"mine{uuid.uuid4().hex[:8]}"
    made = alice.data.upload(name, [local], file_ids=[before.file_id], description="Mine")
    assert (made.kind, made.is_own, made.description) == ("files", True, "Mine")
    assert {each.key for each in alice.data.tables(made.source_id).items} == {"sales", "more"}
    found = alice.data.query(made.source_id, "select sum(amount) from sales")
    assert [str(cell) for cell in found.preview[0]] == ["7"]
    with pytest.raises(ConflictError):
        alice.data.upload(name, file_ids=[before.file_id])
    alice.data.delete(made.source_id)
    with pytest.raises(NotFoundError):
        alice.data.source(made.source_id)


@requirement("R11.1")
def test_sources_and_policies_are_administered(root: Client, alice: Client, server: Server) -> None:
    url = f"sqlite:///{server.home / 'data/sample/chinook.sqlite'}"
    admin = root.admin.data
    made = admin.create("shop", url=url, description="A shop", limits={"max_rows": 5})
    assert (made.limits.max_rows, made.has_credentials, made.grants) == (5, False, ())
    with pytest.raises(NotFoundError):
        alice.data.source(made.source_id)
    granted = admin.set_grants(made.source_id, [Grant("user", USER)])
    assert granted.grants == (Grant("user", USER),)
    assert alice.data.source("shop").source_id == made.source_id
    assert admin.update(made.source_id, description="Another").description == "Another"
    assert admin.refresh(made.source_id).table_count == 11

    rules: dict[str, object] = {
        "subjects": {"users": [USER]},
        "tables": {"Customer": {"row_filter": "Country = :user.country"}},
    }
    policy = admin.create_policy(made.source_id, "home", rules)
    assert admin.set_attributes(USER, {"country": "Germany"}).attributes == {"country": "Germany"}
    assert admin.attributes(USER).attributes == {"country": "Germany"}
    sql = "select distinct Country from Customer"
    assert alice.data.query(made.source_id, sql).preview == [["Germany"]]
    assert root.data.check(made.source_id, sql, as_user=USER).policy != ()
    rules["tables"] = {"Customer": {"deny_columns": ["Phone"]}}
    replaced = admin.replace_policy(made.source_id, policy.policy_id, "home", rules)
    assert replaced.policy_id == policy.policy_id
    assert [each.name for each in admin.policies(made.source_id).items] == ["home"]
    admin.delete_policy(made.source_id, policy.policy_id)
    root.data.delete(made.source_id)
    with pytest.raises(UnavailableError) as down:
        admin.create("gone", url="postgresql://nobody@127.0.0.1:1/none")
    assert down.value.error_code == "source_unavailable"


# -- agents, the log, the server ----------------------------------------------------------------
