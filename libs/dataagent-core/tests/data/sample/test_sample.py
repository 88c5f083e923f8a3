from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dataagent_core.data.sample import SAMPLE_COMMENTS, create_sample
from tests.requirements import requirement

CHINOOK = {
    "Album": "AlbumId Title ArtistId",
    "Artist": "ArtistId Name",
    "Customer": "CustomerId FirstName LastName Company Address City State Country PostalCode "
    "Phone Fax Email SupportRepId",
    "Employee": "EmployeeId LastName FirstName Title ReportsTo BirthDate HireDate Address City "
    "State Country PostalCode Phone Fax Email",
    "Genre": "GenreId Name",
    "Invoice": "InvoiceId CustomerId InvoiceDate BillingAddress BillingCity BillingState "
    "BillingCountry BillingPostalCode Total",
    "InvoiceLine": "InvoiceLineId InvoiceId TrackId UnitPrice Quantity",
    "MediaType": "MediaTypeId Name",
    "Playlist": "PlaylistId Name",
    "PlaylistTrack": "PlaylistId TrackId",
    "Track": "TrackId Name AlbumId MediaTypeId GenreId Composer Milliseconds Bytes UnitPrice",
}
TABLES = sorted(CHINOOK)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("sample") / "shop.db"
    create_sample(path)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def digest(path: Path) -> str:
    found = hashlib.sha256()
    with closing(sqlite3.connect(path)) as connection:
        for table in TABLES:
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2"):
                found.update(repr(row).encode())
    return found.hexdigest()


def one(connection: sqlite3.Connection, sql: str) -> object:
    return connection.execute(sql).fetchone()[0]


@requirement("S2.2.5.2a")
def test_the_tables_and_columns_are_those_of_chinook(sample: sqlite3.Connection) -> None:
    tables = sample.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    names = [row[0] for row in tables]
    assert names == TABLES
    assert {name: columns(sample, name) for name in names} == {
        name: text.split() for name, text in CHINOOK.items()
    }


def test_the_same_seed_gives_the_same_rows_in_another_process(tmp_path: Path) -> None:
    create_sample(tmp_path / "one.db")
    program = (
        "import sys; from pathlib import Path\n"
        "from dataagent_core.data.sample import create_sample\n"
        "create_sample(Path(sys.argv[1]))"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "two.db")],
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert digest(tmp_path / "one.db") == digest(tmp_path / "two.db")


def test_another_seed_gives_other_rows(tmp_path: Path) -> None:
    create_sample(tmp_path / "one.db", seed=1)
    create_sample(tmp_path / "two.db", seed=2)
    assert digest(tmp_path / "one.db") != digest(tmp_path / "two.db")


def test_an_old_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_text("old")
    create_sample(tmp_path / "shop.db")
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        assert one(connection, "PRAGMA integrity_check") == "ok"


def test_every_foreign_key_points_at_a_row(sample: sqlite3.Connection) -> None:
    keys = sum(
        len(sample.execute(f"PRAGMA foreign_key_list({name})").fetchall()) for name in TABLES
    )
    assert keys == 11
    assert sample.execute("PRAGMA foreign_key_check").fetchall() == []


def test_every_invoice_is_the_exact_sum_of_its_lines(sample: sqlite3.Connection) -> None:
    wrong = one(
        sample,
        """SELECT count(*) FROM Invoice i LEFT JOIN (
             SELECT InvoiceId, sum(CAST(round(UnitPrice * 100) AS INTEGER) * Quantity) AS cents
             FROM InvoiceLine GROUP BY InvoiceId) l USING (InvoiceId)
           WHERE l.cents IS NULL OR l.cents <> CAST(round(i.Total * 100) AS INTEGER)
              OR abs(i.Total * 100 - round(i.Total * 100)) > 1e-6""",
    )
    assert wrong == 0
    prices = sample.execute("SELECT DISTINCT UnitPrice FROM Track ORDER BY 1").fetchall()
    assert prices == [(0.99,), (1.99,)]
    assert one(
        sample,
        "SELECT count(*) FROM InvoiceLine l JOIN Track t USING (TrackId)"
        " WHERE l.UnitPrice <> t.UnitPrice",
    ) == 0  # fmt: skip


def test_the_shop_is_plausible(sample: sqlite3.Connection) -> None:
    countries = {row[0] for row in sample.execute("SELECT DISTINCT Country FROM Customer")}
    assert len(countries) == 24
    assert {"Germany", "USA", "Brazil", "France", "Canada", "India", "China"} <= countries
    years = sample.execute(
        "SELECT strftime('%Y', InvoiceDate), count(*) FROM Invoice GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert [year for year, _ in years] == ["2021", "2022", "2023", "2024", "2025"]
    counts = [count for _, count in years]
    assert counts == sorted(counts)  # it grows
    december, february = (
        one(sample, f"SELECT count(*) FROM Invoice WHERE strftime('%m', InvoiceDate) = '{month}'")
        for month in ("12", "02")
    )
    assert isinstance(december, int)
    assert isinstance(february, int)
    assert december > february * 1.3
    assert one(sample, "SELECT count(*) FROM Employee WHERE ReportsTo IS NULL") == 1
    sizes = [one(sample, f"SELECT count(*) FROM {t}") for t in ("Artist", "Album", "Customer")]
    assert sizes == [275, 350, 129]
    tracks = one(sample, "SELECT count(*) FROM Track")
    assert isinstance(tracks, int)
    assert 3300 < tracks < 3800


def test_invoices_carry_the_address_of_their_customer(sample: sqlite3.Connection) -> None:
    assert one(
        sample,
        """SELECT count(*) FROM Invoice i JOIN Customer c USING (CustomerId)
           WHERE i.BillingCountry IS NOT c.Country OR i.BillingCity IS NOT c.City
              OR i.BillingAddress IS NOT c.Address OR i.BillingState IS NOT c.State
              OR i.BillingPostalCode IS NOT c.PostalCode""",
    ) == 0  # fmt: skip


def test_every_table_and_column_has_a_comment_in_both_languages(
    sample: sqlite3.Connection,
) -> None:
    assert sorted(SAMPLE_COMMENTS) == TABLES
    for table, (comment, of_columns) in SAMPLE_COMMENTS.items():
        assert list(of_columns) == columns(sample, table)
        for text in (comment, *of_columns.values()):
            english, _, chinese = text.partition(" / ")
            assert english.isascii()
            assert any("\u4e00" <= char <= "\u9fff" for char in chinese)
