"""The load's own figures: numbers of events, saturation, trends, the report; and how it ends."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_client import Backoff, DataAgentClient
from dataagent_harbor.arguments import HarborOptions, build_parser
from dataagent_harbor.load.report import as_html, as_markdown, report_of, trend_of
from dataagent_harbor.load.user import LoadUser, RestUser, SequenceCheck, SocketUser, TurnRecord
from dataagent_harbor.load.virtual_users import Load, LoadPhase, VirtualUsers, saturation
from tests.waiting import WAIT_SECONDS

from .fake_server import serve_fake


def read(numbers: list[int]) -> SequenceCheck:
    found = SequenceCheck()
    for number in numbers:
        found.take(number)
    return found


def test_missing_and_doubled_numbers_are_counted() -> None:
    assert read([1, 2, 3]) == SequenceCheck(last=3)
    assert read([1, 4, 5]) == SequenceCheck(last=5, gaps=2)
    assert read([1, 2, 2, 1, 3]) == SequenceCheck(last=3, doubles=2)


@given(st.sets(st.integers(min_value=1, max_value=60), min_size=1))
def test_what_is_left_out_is_missing_and_nothing_else(numbers: set[int]) -> None:
    found = read(sorted(numbers))
    assert (found.gaps, found.doubles) == (max(numbers) - len(numbers), 0)


def answered(seconds: float, *, problem: str = "", losses: int = 0) -> TurnRecord:
    return TurnRecord(began=10.0, first=10.1, ended=10.0 + seconds, problem=problem, losses=losses)


def phase(users: int, answers: int, seconds: float) -> LoadPhase:
    found = LoadPhase(users=users, begin=0.0, end=10.0)
    for _ in range(answers):
        found.add(answered(seconds))
    return found


def figures(users: int, answers: int, seconds: float) -> dict[str, object]:
    return phase(users, answers, seconds).figures(think_seconds=9.0, rest_seconds=1.0)


def test_a_stretch_says_what_was_offered_and_what_was_served() -> None:
    found = phase(100, 80, 2.0)
    found.add(answered(1.0, problem="timeout"))
    found.add(answered(1.0, losses=1))
    told = found.figures(think_seconds=9.0, rest_seconds=1.0)
    assert told["offered_per_second"] == 10.0
    assert told["served_per_second"] == 8.1
    assert (told["answered"], told["errors"], told["resumed"]) == (81, 1, 1)
    assert told["problems"] == {"timeout": 1}
    assert told["latency"]["p50"] == 2.0


def test_a_server_is_saturated_from_the_step_that_it_does_not_serve_or_serves_slowly() -> None:
    good, short, slow = figures(10, 10, 1.0), figures(100, 80, 1.5), figures(50, 50, 3.1)
    assert saturation([good, figures(100, 99, 2.9)]) is None
    assert saturation([good, short]) == {
        "users": 100,
        "why": "served less than 90 % of what was offered",
    }
    assert saturation([good, slow, short]) == {"users": 50, "why": "p95 over 3 times"}


def test_a_growing_series_has_a_slope_and_a_level_one_has_none() -> None:
    growing = trend_of([(float(second), 100.0 + second) for second in range(0, 400, 10)])
    level = trend_of([(float(second), 7.0) for second in range(10)])
    assert growing is not None
    assert level is not None
    assert growing.per_hour == pytest.approx(3600)
    assert growing.ratio > 2
    assert (level.per_hour, level.ratio) == (0, 1)
    assert trend_of([(1.0, 1.0), (2.0, 2.0)]) is None


def test_a_lost_event_or_an_error_makes_a_load_fail() -> None:
    steps = [figures(10, 10, 1.0)]
    good = report_of(steps, about={}, sequences=[SequenceCheck(last=9)], is_soak=False)
    lost = report_of(steps, about={}, sequences=[SequenceCheck(last=9, gaps=1)], is_soak=False)
    double = report_of(steps, about={}, sequences=[SequenceCheck(last=9, doubles=1)], is_soak=False)
    assert [each["summary"]["is_good"] for each in (good, lost, double)] == [True, False, False]


def test_a_soak_shows_where_memory_and_latency_go() -> None:
    steps = [
        {**figures(10, 10, 1.0 + part / 10), "memory": 100_000_000 + part * 1_000_000}
        for part in range(12)
    ]
    report = report_of(steps, about={"set": "<b>"}, sequences=[], is_soak=True)
    assert report["trends"]["memory"]["ratio"] > 1.05
    assert report["trends"]["p95"]["ratio"] > 1.5
    page = as_html(report)
    assert "Harbor soak" in page
    assert "<b>&lt;" not in page
    assert "memory: +360.0 MB an hour" in as_markdown(report)


@pytest.mark.parametrize(
    ("given", "seconds"), [("90", 90), ("1.5s", 1.5), ("10m", 600), ("8h", 28800), ("2d", 172800)]
)
def test_durations_are_written_with_a_unit(given: str, seconds: float) -> None:
    words = ["load", "sample", "--soak", given]
    assert build_parser().parse_args(words, namespace=HarborOptions()).soak == seconds


@pytest.mark.parametrize(
    "words",
    [
        ["--soak", "long"],
        ["--steps", "10,5"],
        ["--steps", "0"],
        ["--users", "-1"],
        ["--think", "-3"],
    ],
)
def test_a_load_that_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        build_parser().parse_args(["load", "sample", *words], namespace=HarborOptions())


@pytest.mark.parametrize("mode", ["ws", "rest"])
async def test_a_load_that_is_left_stops_its_runs(mode: str) -> None:
    async def memory() -> None:
        return None

    async with (
        asyncio.timeout(WAIT_SECONDS),
        serve_fake() as fake_server,
        DataAgentClient(fake_server.url, "k") as client,
    ):

        def user() -> LoadUser:
            return (
                SocketUser(fake_server.url, None, Backoff()) if mode == "ws" else RestUser(client)
            )

        async with VirtualUsers(Load(["hi"], 0.0, 0.0, 60.0), user, memory) as crowd:
            await crowd.grow(1)
            await fake_server.is_asked.wait()
            [member] = crowd.users
        await fake_server.is_stopped.wait()
    assert fake_server.stopped == [member.session_id]
