"""Asks and grades a whole set, concurrently or at a rate, in several rounds.

Each question has a conversation of its own, with its follow-ups in it. With a rate, each question
is due at a fixed moment and its latency counts from there, so that a server that stalls is charged
for the questions that would have waited.
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
    """At most `concurrency` questions at once; with a `rate`, so many a second after the ramp."""

    concurrency: int = 4
    rate: float | None = None
    ramp_seconds: float = 0.0

    def due_after(self, number: int) -> float:
        """Seconds after the start at which a question is due; numbers begin at 0."""
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
    """How often a set is asked, at which pace. Warm-up questions are not graded."""

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
        """Ask everything that is not done yet; `on_result` gets each result as it arrives.

        Raises:
            Exception: what `on_result` raises; it ends the run.
        """
        await self._warm_up(questions, plan.warm_up)
        finished = frozenset(done)
        todo = [
            (question, number)
            for number in range(1, plan.rounds + 1)
            for question in questions
            if any(key_of(each, number) not in finished for each in question.in_order)
        ]
        slots = asyncio.Semaphore(plan.pace.concurrency)

        async def ask(question: Question, number: int, due: float | None) -> None:
            async with slots:
                await self._ask_in_order(question, number, due, finished)

        try:
            async with asyncio.TaskGroup() as group:
                async for (question, number), due in pace_items(todo, plan.pace):
                    if due is None:  # without a rate, a question is due when a slot is free
                        async with slots:
                            pass
                    group.create_task(ask(question, number, due))
        except ExceptionGroup as failed:  # the first stopped the others
            raise failed.exceptions[0] from None

    async def _warm_up(self, questions: Sequence[Question], count: int) -> None:
        for number in range(count):
            question = questions[number % len(questions)]
            await self._asker.ask(question.question, message_id=str(uuid.uuid4()))

    async def _ask_in_order(
        self, question: Question, number: int, due: float | None, finished: frozenset[str]
    ) -> None:
        session_id: str | None = None
        for each in question.in_order:
            transcript = await self._asker.ask(
                each.question, session_id, message_id=str(uuid.uuid4()), due=due
            )
            session_id = transcript.session_id
            due = None  # a follow-up is due when the answer before it has ended
            if key_of(each, number) not in finished:
                self._on_result(await self._grade(each, number, transcript))

    async def _grade(self, question: Question, number: int, transcript: Transcript) -> GradedResult:
        if question.expected_sql is None or transcript.end != "answered":
            return GradedResult(question, number, score(question, transcript), transcript)
        expected = await self._rows_of(question.expected_sql, question.source)
        if isinstance(expected, str):
            verdict = score(question, _ungradable(transcript, expected))
            return GradedResult(question, number, verdict, transcript)
        tables = await self._tables(transcript.table_ids)
        verdict = score(question, transcript, expected_rows=expected, tables=tables)
        return GradedResult(question, number, verdict, transcript)

    async def _rows_of(self, sql: str, source: str | None) -> list[list[object]] | str:
        """A statement's rows, queried once for all rounds; a text says why there are none."""
        key = f"{source}\n{sql}"
        if key not in self._expected:
            self._expected[key] = asyncio.create_task(self._query(sql, source))
        return await self._expected[key]

    async def _query(self, sql: str, source: str | None) -> list[list[object]] | str:
        try:
            sources = await self._client.data.sources()
            chosen = next(each for each in sources if source in (None, each.name, each.source_id))
            result = await self._client.data.query(chosen.source_id, sql)
            return (await self._client.data.rows(result.artifact_id, most=_MOST_ROWS)).rows
        except StopIteration:
            return f"no data source {source!r} for the expected statement"
        except ClientError as error:
            return f"the expected statement failed: {error}"

    async def _tables(self, artifact_ids: Sequence[str]) -> list[FetchedTable]:
        tables: list[FetchedTable] = []
        for artifact_id in artifact_ids:
            try:
                rows = await self._client.data.rows(artifact_id, most=_MOST_ROWS)
            except ClientError:
                continue  # it no longer exists, so it cannot be the answer
            tables.append(FetchedTable(artifact_id, rows.columns, rows.rows))
        return tables


def _ungradable(transcript: Transcript, reason: str) -> Transcript:
    """A transcript that cannot be graded: the set is wrong, not the answer."""
    return Transcript(
        end="error", answer=transcript.answer, detail=reason, seconds=transcript.seconds
    )


_WIDTH = 30
_LINES = 10  # of a whole run, where nothing can be redrawn


class ProgressBar:
    """Shows how many results there are: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, total: int, *, done: int, stream: TextIO) -> None:
        self._total = total
        self._done = done
        self._stream = stream
        self._is_drawn = stream.isatty()
        self._counts: Counter[Status] = Counter()

    def __enter__(self) -> ProgressBar:
        if self._done:
            self._stream.write(f"{self._done} of {self._total} were answered before\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_drawn:
            self._stream.write("\n")

    def add(self, status: Status) -> None:
        """One more result."""
        self._done += 1
        self._counts[status] += 1
        counts = ", ".join(
            f"{self._counts[each]} {each}" for each in STATUSES if self._counts[each]
        )
        if self._is_drawn:
            filled = _WIDTH * self._done // max(self._total, 1)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            self._stream.write(f"\r\x1b[K{bar} {self._done}/{self._total}  {counts}")
        elif self._done == self._total or self._done % max(self._total // _LINES, 1) == 0:
            self._stream.write(f"{self._done}/{self._total}  {counts}\n")
        self._stream.flush()
