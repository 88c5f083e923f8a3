"""When questions are due, and the figures over how long they took."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dataagent_harbor.runner import Pace
from dataagent_harbor.statistics import correct_omission, latency, percentile
from tests.requirements import requirement


def test_with_a_rate_questions_are_due_at_even_distances() -> None:
    pace = Pace(concurrency=1, rate=4)
    assert [pace.due_after(number) for number in range(5)] == [0, 0.25, 0.5, 0.75, 1.0]


def test_a_ramp_begins_slowly_and_ends_at_the_rate() -> None:
    pace = Pace(concurrency=1, rate=10, ramp_seconds=4)
    due = [pace.due_after(number) for number in range(40)]
    gaps = [after - before for before, after in itertools.pairwise(due)]
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(gaps))
    assert abs(due[20] - 4) < 1e-9
    assert abs(gaps[-1] - 0.1) < 1e-9


def test_without_a_rate_a_ramp_adds_one_asker_after_another() -> None:
    pace = Pace(concurrency=4, ramp_seconds=8)
    assert [pace.due_after(number) for number in range(6)] == [0, 2, 4, 6, 8, 8]


@requirement("R27.5")
@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=1))
def test_percentiles_are_values_that_so_many_do_not_exceed(values: list[float]) -> None:
    ordered = sorted(values)
    for share in (0.5, 0.95, 0.99, 1.0):
        found = percentile(ordered, share)
        assert found in ordered
        assert sum(value <= found for value in ordered) >= share * len(ordered) - 1e-9


def test_no_answer_has_no_latency() -> None:
    assert set(latency([]).values()) == {None}


def test_questions_that_a_stall_kept_from_being_asked_are_put_in() -> None:
    assert correct_omission([1.0, 1.0, 5.0], 1.0) == [1.0, 1.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert correct_omission([1.0, 1.9], 1.0) == [1.0, 1.9]
    assert correct_omission([3.0], 0.0) == [3.0]


@given(
    st.lists(st.floats(min_value=0.001, max_value=50), min_size=1, max_size=20),
    st.floats(min_value=1, max_value=10),
)
def test_the_correction_only_adds_and_never_below_the_interval(
    values: list[float], interval: float
) -> None:
    found = correct_omission(values, interval)
    assert found[: len(values)] == values
    assert all(interval - 1e-6 <= each <= max(values) for each in found[len(values) :])
    assert max(found) == max(values)
