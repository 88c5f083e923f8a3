"""Asks a whole set: so many at once, several rounds, a warm-up, and on from where it was stopped.

Each question has a conversation of its own, with its follow-ups in it. Above: `cli.py`. Below:
`asker.py` for one question, `scoring.py` for its grade.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dataagent_client import ClientError, DataAgentClient
from dataagent_harbor.asker import Asker
from dataagent_harbor.pacing import Pace, pace_items
from dataagent_harbor.questions import Question
from dataagent_harbor.results import GradedResult, key_of
from dataagent_harbor.scoring import score
from dataagent_harbor.transcripts import FetchedTable, Transcript

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
