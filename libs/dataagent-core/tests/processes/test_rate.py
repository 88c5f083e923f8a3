"""How often something may be done, by one caller and by each of many."""

from __future__ import annotations

import pytest

from dataagent_core.processes.concurrency import KeyedRate, TokenBucket


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_allows_a_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate_per_second=10, burst=3, now=0.0)
    assert [bucket.delay(0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.delay(0.0) == pytest.approx(0.1)
    assert bucket.delay(1.0) == 0.0


def test_a_bucket_returns_the_wait_without_taking_a_token() -> None:
    bucket = TokenBucket(rate_per_second=10, burst=2, now=0.0)
    assert [bucket.wait(0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert [bucket.delay(0.0), bucket.delay(0.0)] == [0.0, 0.0]
    assert bucket.wait(0.0) == pytest.approx(0.1)
    assert bucket.wait(0.05) == pytest.approx(0.05)
    assert bucket.wait(0.11) == 0.0


def test_each_key_has_a_minutes_worth_that_fills_up_again() -> None:
    clock = Clock()
    rate = KeyedRate(2, clock=clock)
    assert [rate.take("anna") for _ in range(3)] == [0.0, 0.0, pytest.approx(30)]
    assert rate.take("bob") == 0.0
    clock.now += 30
    assert rate.wait("anna") == 0.0
    assert [rate.take("anna"), rate.take("anna")] == [0.0, pytest.approx(30)]


def test_a_rate_of_zero_is_no_limit() -> None:
    rate = KeyedRate(0)
    assert not any(rate.take("anna") for _ in range(1000))
    assert rate.wait("anna") == 0.0


def test_the_keys_used_least_recently_are_forgotten() -> None:
    rate = KeyedRate(1, clock=Clock(), max_keys=2)
    assert [rate.take(key) for key in ("anna", "bob")] == [0.0, 0.0]
    assert rate.wait("anna")
    assert rate.take("carl") == 0.0
    assert rate.wait("anna")
    assert rate.wait("carl")
    assert rate.wait("bob") == 0.0
