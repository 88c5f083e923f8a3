"""What a result rests on, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dataagent_cli.data.stored_results import receipt_lines, rows_text, size_text
from dataagent_core.data.types import Receipt

RECEIPT = Receipt(
    source_id="1",
    source_name="shop",
    dialect="postgres",
    sql="SELECT 1",
    sql_executed="SELECT 1",
    row_count=1234,
    is_truncated=True,
    truncated_by="time",
    duration_ms=12345.6,
    policy=("orders: only rows of your region", "customers.email: masked"),
    time_zone="UTC",
    executed_at=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_a_receipt_says_what_is_missing_and_which_rules_applied() -> None:
    assert receipt_lines(RECEIPT, shown=20) == [
        "20 of 1,234 rows · shop (postgres) · 12.3 s",
        "stopped at the time limit: the source has more rows than these",
        "policy: orders: only rows of your region",
        "policy: customers.email: masked",
    ]


def test_a_receipt_has_the_warnings_of_its_source() -> None:
    warning = "MySQL: Row 1 was cut by GROUP_CONCAT() (1260)"
    receipt = replace(RECEIPT, truncated_by="values", warnings=(warning,), policy=())
    assert receipt_lines(receipt, shown=20)[1:] == [
        "the source has cut a value: see the warnings",
        f"warning: {warning}",
    ]


@pytest.mark.parametrize(
    ("shown", "total", "text"),
    [(0, 0, "0 rows"), (1, 1, "1 row"), (1234, 1234, "1,234 rows"), (20, 21, "20 of 21 rows")],
)
def test_rows_are_counted_in_words(shown: int, total: int, text: str) -> None:
    assert rows_text(shown, total) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1400, "1.4 kB"),
        (2_500_000, "2.5 MB"),
        (3 * 10**9, "3.0 GB"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text
