from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dataagent_core.errors import QuotaExceeded
from dataagent_core.workspace import QuotaLedger
from tests.requirements import requirement


@requirement("R33.5", "R33.6", "P53")
async def test_a_reservation_that_does_not_fit_is_refused_and_books_nothing(
    ledger: QuotaLedger,
) -> None:
    await ledger.reserve("u1", 60, 100)
    with pytest.raises(
        QuotaExceeded, match="60 of 100 bytes are used and this needs 41 more"
    ) as caught:
        await ledger.reserve("u1", 41, 100)
    assert caught.value.details == {"bytes_used": 60, "quota": 100, "needed": 41}
    await ledger.reserve("u1", 40, 100)
    assert await ledger.usage("u1") == 100


@requirement("P53")
async def test_users_do_not_share_a_quota(ledger: QuotaLedger) -> None:
    await ledger.reserve("u1", 100, 100)
    await ledger.reserve("u2", 100, 100)
    assert await ledger.usage("u3") is None


@requirement("P53")
async def test_many_writers_at_once_never_pass_the_quota(ledger: QuotaLedger) -> None:
    async def one() -> bool:
        try:
            await ledger.reserve("u1", 10, 95)
        except QuotaExceeded:
            return False
        return True

    granted = await asyncio.gather(*(one() for _ in range(40)))
    assert sum(granted) == 9
    assert await ledger.usage("u1") == 90


@requirement("R33.6")
async def test_released_bytes_can_be_used_again_and_usage_never_falls_below_zero(
    ledger: QuotaLedger,
) -> None:
    await ledger.reserve("u1", 100, 100)
    await ledger.release("u1", 30)
    await ledger.reserve("u1", 30, 100)
    await ledger.release("u1", 500)
    assert await ledger.usage("u1") == 0
    await ledger.release("u1", -7)
    assert await ledger.usage("u1") == 7


@requirement("R33.6")
async def test_reconcile_replaces_the_ledgers_bytes(ledger: QuotaLedger) -> None:
    await ledger.reconcile("u1", 90)
    with pytest.raises(QuotaExceeded):
        await ledger.reserve("u1", 11, 100)
    await ledger.reconcile("u1", 0)
    await ledger.reserve("u1", 100, 100)


@requirement("R33.6")
async def test_bytes_reserved_and_never_written_are_corrected(ledger: QuotaLedger) -> None:
    async def measured() -> int:
        return 25

    assert await ledger.correct_if_quiet("u1", measured, quiet=timedelta()) is None
    await ledger.reserve("u1", 90, 100)
    assert await ledger.correct_if_quiet("u1", measured) == 90  # it may be on its way to the disk
    assert await ledger.correct_if_quiet("u1", measured, quiet=timedelta()) == 25
    assert await ledger.usage("u1") == 25


@requirement("R33.6", "P53")
async def test_bytes_reserved_while_measuring_stay_reserved(ledger: QuotaLedger) -> None:
    async def measured() -> int:
        await ledger.reserve("u1", 10, 100)
        await ledger.release("u1", 10)
        return 25

    await ledger.reserve("u1", 90, 100)
    assert await ledger.correct_if_quiet("u1", measured, quiet=timedelta()) == 90
    assert await ledger.usage("u1") == 90
