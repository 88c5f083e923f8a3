"""The chain of hashes finds the first row that is not as it was written, whatever was done."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.audit.records import (
    START,
    AuditRecord,
    AuditRow,
    ChainVerdict,
    ChainVerifier,
    Head,
    chain_records,
    moment,
)

AT = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)


def record(target: str) -> AuditRecord:
    return AuditRecord(
        at=AT,
        action="login",
        outcome="success",
        user_id="alice",
        via="cookie",
        address="192.0.2.1",
        target=target,
        request_id=None,
        session_id=None,
        run_id=None,
        details="{}",
    )


def rows(count: int) -> list[AuditRow]:
    return chain_records(START, 1, [record(str(i)) for i in range(count)])


def verdict(found: list[AuditRow], head: Head | None) -> ChainVerdict:
    walk = ChainVerifier()
    walk.take(found)
    return walk.verdict(head)


def head_of(found: list[AuditRow]) -> Head:
    return Head(found[-1].position, found[-1].hash)


def test_a_row_and_its_hash_are_these() -> None:
    """The form is fixed: rows of an older version must still fit."""
    assert rows(1)[0].hash == "527ba9f01d0134b6f31c446ff3a202031276a7f8af79e3f37513739b35f0937a"
    assert rows(2)[1].previous_hash == rows(2)[0].hash
    assert rows(1)[0].previous_hash == "0" * 64


def test_an_empty_log_is_whole() -> None:
    assert verdict([], None).is_whole
    assert verdict([], START).is_whole


@given(st.integers(1, 12), st.data())
def test_whatever_is_done_to_a_log_is_found_where_it_was_done(
    count: int, data: st.DataObject
) -> None:
    good = rows(count)
    head = head_of(good)
    assert verdict(good, head).is_whole
    at = data.draw(st.integers(0, count - 1))
    bad = list(good)
    match data.draw(st.sampled_from(["change", "remove", "insert", "swap"])):
        case "change":
            changed = replace(good[at].record, target="another")
            bad[at] = replace(good[at], record=changed)
        case "remove":
            del bad[at]
        case "insert":
            new = replace(good[at], record=record("new"))
            bad = [*good[:at], new, *(replace(row, position=row.position + 1) for row in good[at:])]
        case _:
            other = data.draw(st.integers(0, count - 1).filter(lambda i: count == 1 or i != at))
            if other == at:
                return
            bad[at] = replace(good[other], position=at + 1)
            bad[other] = replace(good[at], position=other + 1)
            at = min(at, other)
    found = verdict(bad, head)
    assert found.first_bad == at + 1
    assert found.checked == at


def test_a_log_cut_at_its_end_or_written_on_by_others_is_found() -> None:
    good = rows(5)
    assert verdict(good[:3], head_of(good)).first_bad == 4
    assert verdict([], head_of(good)).first_bad == 1
    assert verdict(good, head_of(good[:4])).first_bad == 5
    assert verdict(good, None).first_bad == 5
    assert verdict(good, Head(5, "f" * 64)).first_bad == 5


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_kept_in_whole_milliseconds(at: datetime) -> None:
    assert moment(at).microsecond % 1000 == 0
    assert abs((moment(at) - at).total_seconds()) < 0.001
