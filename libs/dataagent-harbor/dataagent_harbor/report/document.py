"""The report itself: the JSON document that every other form is made from, and baselines are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataagent_harbor.prices import TokenPrices
from dataagent_harbor.report.steps import steps_of
from dataagent_harbor.results import GradedResult
from dataagent_harbor.statistics import summary
from dataagent_harbor.transcripts import Transcript

Report = dict[str, Any]  # the JSON document: about, summary, results, failures, affected
_SHOWN_ANSWER = 2000


def report_of(
    results: Sequence[GradedResult], *, about: dict[str, Any], prices: TokenPrices | None = None
) -> Report:
    """The report; `about` says what was run against what, and how."""
    ordered = sorted(results, key=lambda each: (each.round, each.question.id))
    rows = [_row(each, prices) for each in ordered]
    return {
        "about": about,
        "summary": summary(ordered, prices),
        "results": rows,
        "failures": [
            {**row, "steps": steps_of(each.transcript.events)}
            for row, each in zip(rows, ordered, strict=True)
            if row["status"] != "passed"
        ],
        "affected": [_affected(each) for each in ordered if each.transcript.is_affected],
    }


def _row(result: GradedResult, prices: TokenPrices | None) -> dict[str, Any]:
    told = result.transcript
    cut = len(told.answer) > _SHOWN_ANSWER
    return {
        "id": result.question.id,
        "round": result.round,
        "question": result.question.question,
        "category": result.question.category,
        "difficulty": result.question.difficulty,
        "status": result.status,
        "response_time": told.seconds,
        "waited_time": told.waited_seconds,
        "first_token_time": told.first_token_seconds,
        "asked_at": told.asked_at,
        "matched_keywords": list(result.verdict.matched_keywords),
        "reasons": result.verdict.reasons,
        "answer": told.answer[:_SHOWN_ANSWER],
        "is_answer_cut": cut,
        "tools": list(told.tools),
        "tokens": told.tokens,
        "cost": None if prices is None else prices.cost_of(told.tokens),
        "session_id": told.session_id,
        "run_id": told.run_id,
    }


def _affected(result: GradedResult) -> dict[str, Any]:
    told = result.transcript
    return {
        "id": result.question.id,
        "round": result.round,
        "status": result.status,
        "connection_losses": told.losses,
        "how": _effect_text(told),
    }


def _effect_text(told: Transcript) -> str:
    """What the server's absence meant for a question."""
    if told.is_interrupted:
        return "ended by the server: its process stopped while it was answered"
    if told.end in ("error", "timeout"):
        return "given up: the server did not come back in time"
    return "resumed: the connection was lost and taken up again"
