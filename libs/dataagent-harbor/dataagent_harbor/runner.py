"""Asks a whole set: so many at once, several rounds, a warm-up, and on from where it was stopped.

Each question has a conversation of its own, with its follow-ups in it. Above: `cli.py`. Below:
`asker.py` for one question, `scoring.py` for its grade.

When questions are asked: so many at once, or so many a second, growing over a ramp.

With a rate, each question has a moment at which it is due, whatever became of the ones before it;
latency counts from there, so that a server that stalls is charged for those who would have waited.

A bar that says how far it is: redrawn on a terminal, a line now and then elsewhere.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO, TypeVar

from dataagent_client import ClientError, DataAgentClient
from dataagent_harbor.asker import Asker
from dataagent_harbor.questions import Question
from dataagent_harbor.results import GradedResult, key_of
from dataagent_harbor.scoring import STATUSES, Status, score
from dataagent_harbor.transcripts import FetchedTable, Transcript

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `concurrency` at once; with a `rate`, one every 1/rate seconds once ramped up."""

    concurrency: int = 4
    rate: float | None = None
    ramp_seconds: float = 0.0

    def due_after(self, number: int) -> float:
        """Seconds after the start at which the question of that number, from 0, is due."""
        if self.rate is None:
            return self.ramp_seconds * min(number / self.concurrency, 1.0)
        ramped = self.rate * self.ramp_seconds / 2  # asked while the rate grows from 0
        if number < ramped:
            return (2 * number * self.ramp_seconds / self.rate) ** 0.5
        return self.ramp_seconds + (number - ramped) / self.rate


async def pace_items(items: Sequence[T], pace: Pace) -> AsyncIterator[tuple[T, float | None]]:
    """Each item when it is due, with that moment if there is a rate."""
    start = time.monotonic()
    for number, item in enumerate(items):
        due = start + pace.due_after(number)
        await asyncio.sleep(max(due - time.monotonic(), 0))
        yield item, (None if pace.rate is None else due)


OnResult = Callable[[GradedResult], None]
_MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is asked how often. Warm-up questions are asked and not graded."""

    pace: Pace
    rounds: int = 1
    warm_up: int = 0


class QuestionSetRunner:
    """Runs question sets against one server."""

    def __init__(self, client: DataAgentClient, asker: Asker, on_result: OnResult) -> None:
        self._client = client
        self._asker = asker
        self._on_result = on_result
        self._expected: dict[str, asyncio.Task[list[list[object]] | str]] = {}

    async def run(
        self, questions: Sequence[Question], plan: RunPlan, *, done: Iterable[str] = ()
    ) -> None:
        """Ask everything that is not done yet; each result is told as it comes.

        Raises:
            Exception: what `on_result` raises; nothing is asked any more.
        """
        await self._warm_up(questions, plan.warm_up)
        over = frozenset(done)
        todo = [
            (question, number)
            for number in range(1, plan.rounds + 1)
            for question in questions
            if any(key_of(each, number) not in over for each in question.in_order)
        ]
        room = asyncio.Semaphore(plan.pace.concurrency)

        async def one(question: Question, number: int, due: float | None) -> None:
            async with room:
                await self._ask_in_order(question, number, due, over)

        try:
            async with asyncio.TaskGroup() as group:
                async for (question, number), due in pace_items(todo, plan.pace):
                    if due is None:  # without a rate, wait for room before the next one is due
                        async with room:
                            pass
                    group.create_task(one(question, number, due))
        except ExceptionGroup as failed:  # the first stopped the others
            raise failed.exceptions[0] from None

    async def _warm_up(self, questions: Sequence[Question], count: int) -> None:
        for number in range(count):
            question = questions[number % len(questions)]
            await self._asker.ask(question.question, message_id=str(uuid.uuid4()))

    async def _ask_in_order(
        self, question: Question, number: int, due: float | None, over: frozenset[str]
    ) -> None:
        session_id: str | None = None
        for each in question.in_order:
            told = await self._asker.ask(
                each.question, session_id, message_id=str(uuid.uuid4()), due=due
            )
            session_id = told.session_id
            due = None  # a follow-up is due when the answer before it is there
            if key_of(each, number) not in over:
                self._on_result(await self._grade(each, number, told))

    async def _grade(self, question: Question, number: int, told: Transcript) -> GradedResult:
        if question.expected_sql is None or told.end != "answered":
            return GradedResult(question, number, score(question, told), told)
        expected = await self._rows_of(question.expected_sql, question.source)
        if isinstance(expected, str):
            verdict = score(question, _ungradable(told, expected))
            return GradedResult(question, number, verdict, told)
        tables = await self._tables(told.table_ids)
        verdict = score(question, told, expected_rows=expected, tables=tables)
        return GradedResult(question, number, verdict, told)

    async def _rows_of(self, sql: str, source: str | None) -> list[list[object]] | str:
        """What a statement gives, asked once for all rounds; a text says why it gives nothing."""
        key = f"{source}\n{sql}"
        if key not in self._expected:
            self._expected[key] = asyncio.create_task(self._query(sql, source))
        return await self._expected[key]

    async def _query(self, sql: str, source: str | None) -> list[list[object]] | str:
        try:
            sources = await self._client.data.sources()
            chosen = next(each for each in sources if source in (None, each.name, each.source_id))
            found = await self._client.data.query(chosen.source_id, sql)
            return (await self._client.data.rows(found.artifact_id, most=_MOST_ROWS)).rows
        except StopIteration:
            return f"there is no data source {source!r} to ask the expected statement of"
        except ClientError as error:
            return f"the expected statement failed: {error}"

    async def _tables(self, artifact_ids: Sequence[str]) -> list[FetchedTable]:
        tables: list[FetchedTable] = []
        for artifact_id in artifact_ids:
            try:
                found = await self._client.data.rows(artifact_id, most=_MOST_ROWS)
            except ClientError:
                continue  # gone, or not a table any more: it cannot be the answer
            tables.append(FetchedTable(artifact_id, found.columns, found.rows))
        return tables


def _ungradable(told: Transcript, why: str) -> Transcript:
    """A transcript that cannot be graded: the set is wrong, not the answer."""
    return Transcript(end="error", answer=told.answer, detail=why, seconds=told.seconds)


_WIDTH = 30
_LINES = 10  # how many lines a whole run writes where nothing can be redrawn


class ProgressBar:
    """Counts results. Use it as a context manager: the bar ends with a line of its own."""

    def __init__(self, total: int, *, done: int, stream: TextIO) -> None:
        self._total = total
        self._done = done
        self._stream = stream
        self._is_drawn = stream.isatty()
        self._counts: Counter[Status] = Counter()

    def __enter__(self) -> ProgressBar:
        if self._done:
            self._stream.write(f"{self._done} of {self._total} are there already\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            self._stream.write("\n")

    def add(self, status: Status) -> None:
        """One more result."""
        self._done += 1
        self._counts[status] += 1
        told = ", ".join(f"{self._counts[each]} {each}" for each in STATUSES if self._counts[each])
        if self._is_drawn:
            filled = _WIDTH * self._done // max(self._total, 1)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            self._stream.write(f"\r\x1b[K{bar} {self._done}/{self._total}  {told}")
        elif self._done == self._total or self._done % max(self._total // _LINES, 1) == 0:
            self._stream.write(f"{self._done}/{self._total}  {told}\n")
        self._stream.flush()
