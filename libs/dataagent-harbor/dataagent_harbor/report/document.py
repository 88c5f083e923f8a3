"""The report as a JSON document: every other form is made from it, and it serves as a baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, assert_never, cast

from dataagent_client import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    event_from_dict,
)
from dataagent_harbor.questions import BadQuestionSet
from dataagent_harbor.results import GradedResult
from dataagent_harbor.statistics import TokenPrices, summary
from dataagent_harbor.transcripts import Transcript

Report = dict[str, Any]  # the JSON document: about, summary, results, failures, affected
Step = dict[str, str]  # kind, title, text
_MOST_ANSWER = 2000
_MOST_STEP = 1500
_COMPARED = ("p50", "p95")


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


def row_name(row: dict[str, Any]) -> str:
    """A question's id and, after the first round, which round it was."""
    name: str = row["id"]
    return name if row["round"] == 1 else f"{name} (round {row['round']})"


def _row(result: GradedResult, prices: TokenPrices | None) -> dict[str, Any]:
    transcript = result.transcript
    return {
        "id": result.question.id,
        "round": result.round,
        "question": result.question.question,
        "category": result.question.category,
        "difficulty": result.question.difficulty,
        "status": result.status,
        "response_time": transcript.seconds,
        "waited_time": transcript.waited_seconds,
        "first_token_time": transcript.first_token_seconds,
        "asked_at": transcript.asked_at,
        "matched_keywords": list(result.verdict.matched_keywords),
        "reasons": result.verdict.reasons,
        "answer": transcript.answer[:_MOST_ANSWER],
        "is_answer_cut": len(transcript.answer) > _MOST_ANSWER,
        "tools": list(transcript.tools),
        "tokens": transcript.tokens,
        "cost": None if prices is None else prices.cost_of(transcript.tokens),
        "session_id": transcript.session_id,
        "run_id": transcript.run_id,
    }


def _affected(result: GradedResult) -> dict[str, Any]:
    return {
        "id": result.question.id,
        "round": result.round,
        "status": result.status,
        "connection_losses": result.transcript.losses,
        "how": _effect_text(result.transcript),
    }


def _effect_text(transcript: Transcript) -> str:
    """What the server's failure meant for a question."""
    if transcript.is_interrupted:
        return "ended by the server: its process stopped while it was answered"
    if transcript.end in ("error", "timeout"):
        return "given up: the server did not come back in time"
    return "resumed: the connection was lost and opened again"


# -- transcripts --------------------------------------------------------------------------------


def steps_of(events: Iterable[dict[str, Any]]) -> list[Step]:
    """A run as a person reads it, one step after another; pieces of one text are one step.

    Long texts are cut: the results file has them whole.
    """
    steps: list[Step] = []
    for event in map(event_from_dict, events):
        described = _describe(event)
        if described is None:
            continue
        title, text = described
        is_piece = isinstance(event, TextEvent | ThinkingEvent)
        if (
            is_piece
            and steps
            and (steps[-1]["kind"], steps[-1]["title"])
            == (
                event.event_type,
                title,
            )
        ):
            steps[-1]["text"] += text
        else:
            steps.append({"kind": event.event_type, "title": title, "text": text})
    return [{**step, "text": _cut(step["text"])} for step in steps]


def _describe(event: AnyEvent) -> tuple[str, str] | None:
    """A title and a text; None leaves the event out."""
    match event:
        case TextEvent():
            return event.agent or "answer", event.content
        case ThinkingEvent():
            return "thinking", event.content
        case ToolCallEvent():
            return f"calls {event.tool_name}", _as_text(event.tool_args)
        case ToolResultEvent():
            return f"{event.tool_name}: {event.status}", _as_text(event.result)
        case HITLRequestEvent():
            return f"asks for approval of {event.action.name}", _as_text(event.action.args)
        case ArtifactEvent():
            return f"makes a {event.kind}", event.title
        case ErrorEvent():
            return f"error {event.error_code}", event.error
        case DoneEvent():
            return f"ends: {event.reason}", ""
        case TodoUpdateEvent() | FileOperationEvent():  # the calls say it
            return None
        case _:
            assert_never(event)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_STEP else f"{text[:_MOST_STEP]}\n…"


# -- comparison with an earlier report ----------------------------------------------------------


def load_report(path: Path) -> Report:
    """An earlier report.

    Raises:
        BadQuestionSet: the file is no report.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadQuestionSet(f"{path}: cannot be read as a report: {error}") from error
    if not isinstance(report, dict) or not {"summary", "results"} <= set(cast("Report", report)):
        raise BadQuestionSet(f"{path}: is no report; write one with --output")
    return cast("Report", report)


def regressions(report: Report, baseline: Report, *, slower_by: float | None = None) -> list[str]:
    """What got worse, a line each: questions that pass less often, and latency.

    Questions that only one report has are not compared. `slower_by` is the ratio of latencies that
    counts as slower: a ratio, so that a slower machine need not mean a regression.
    """
    now, before = _passes(report), _passes(baseline)
    worse = [
        f"{key}: passed {before[key][0]} of {before[key][1]} times, now {passed} of {asked}"
        for key, (passed, asked) in now.items()
        if key in before and passed / asked < before[key][0] / before[key][1]
    ]
    if slower_by is not None:
        worse.extend(_slower(report["summary"], baseline["summary"], slower_by))
    return worse


def _passes(report: Report) -> dict[str, tuple[int, int]]:
    """How often each question passed, of how many times it was asked."""
    counts: dict[str, tuple[int, int]] = {}
    for row in report["results"]:
        passed, asked = counts.get(row["id"], (0, 0))
        counts[row["id"]] = (passed + (row["status"] == "passed"), asked + 1)
    return counts


def _slower(now: dict[str, Any], before: dict[str, Any], slower_by: float) -> list[str]:
    lines: list[str] = []
    for name in _COMPARED:
        old, new = before["latency"][name], now["latency"][name]
        if old and new and new / old > slower_by:
            lines.append(
                f"latency {name}: {new:.2f} s, {new / old:.2f} times the baseline's "
                f"{old:.2f} s (at most {slower_by:g} times)"
            )
    return lines
