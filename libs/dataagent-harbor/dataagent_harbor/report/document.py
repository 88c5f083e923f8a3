"""The report itself: the JSON document that every other form is made from, and baselines are.

A transcript as a person reads it: what was said, called and found, one step after another.

A pure function over the events' wire form. Long texts are cut: the whole is in the results file.

Compares a report with an earlier one: what passed then and does not now, and what is slower.

Latency is compared as a ratio, so that a slower machine does not have to mean a regression: the
caller says how much is too much. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from dataagent_harbor.questions import BadQuestionSet
from dataagent_harbor.results import GradedResult
from dataagent_harbor.statistics import TokenPrices, summary
from dataagent_harbor.transcripts import Transcript

Step = dict[str, str]  # kind, title, text
_LONGEST = 1500
_JOINED = ("text", "thinking")


def steps_of(events: Iterable[dict[str, Any]]) -> list[Step]:
    """The steps; text that came in pieces is one of them."""
    steps: list[Step] = []
    for event in events:
        kind = str(event["event_type"])
        title, text = _describe(kind, event)
        if kind in _JOINED and steps and (steps[-1]["kind"], steps[-1]["title"]) == (kind, title):
            steps[-1]["text"] += text
        elif title:
            steps.append({"kind": kind, "title": title, "text": text})
    return [{**step, "text": _cut(step["text"])} for step in steps]


def _describe(kind: str, data: dict[str, Any]) -> tuple[str, str]:
    """A title and a text; no title leaves the event out."""
    tell = _DESCRIBERS.get(kind)
    return ("", "") if tell is None else tell(data)


_DESCRIBERS: dict[str, Callable[[dict[str, Any]], tuple[str, str]]] = {
    "text": lambda data: (str(data.get("agent") or "answer"), str(data.get("content", ""))),
    "thinking": lambda data: ("thinking", str(data.get("content", ""))),
    "tool_call": lambda data: (f"calls {data.get('tool_name')}", _shown(data.get("tool_args"))),
    "tool_result": lambda data: (
        f"{data.get('tool_name')}: {data.get('status')}",
        _shown(data.get("result")),
    ),
    "artifact": lambda data: (f"makes a {data.get('kind')}", str(data.get("title", ""))),
    "hitl_request": lambda data: ("asks for approval", _shown(data.get("action_requests"))),
    "error": lambda data: (f"error {data.get('error_code', '')}", str(data.get("error", ""))),
    "done": lambda data: (f"ends: {data.get('reason')}", ""),
}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n…"


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


_COMPARED = ("p50", "p95")


def load_report(path: Path) -> Report:
    """An earlier report.

    Raises:
        BadQuestionSet: the file is no report.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadQuestionSet(f"{path}: cannot be read as a report: {error}") from error
    if not isinstance(found, dict) or not {"summary", "results"} <= set(cast("Report", found)):
        raise BadQuestionSet(f"{path}: is no report; write one with --output")
    return cast("Report", found)


def regressions(report: Report, baseline: Report, *, slower_by: float | None = None) -> list[str]:
    """What got worse, a line each. Questions that only one of them has are not compared."""
    now, then = _passes(report), _passes(baseline)
    worse = [
        f"{key}: passed {then[key][0]} of {then[key][1]} times, now {passed} of {asked}"
        for key, (passed, asked) in now.items()
        if key in then and passed / asked < then[key][0] / then[key][1]
    ]
    if slower_by is not None:
        worse.extend(_slower(report["summary"], baseline["summary"], slower_by))
    return worse


def _passes(report: Report) -> dict[str, tuple[int, int]]:
    """How often each question passed, of how many times it was asked."""
    found: dict[str, tuple[int, int]] = {}
    for row in report["results"]:
        passed, asked = found.get(row["id"], (0, 0))
        found[row["id"]] = (passed + (row["status"] == "passed"), asked + 1)
    return found


def _slower(now: dict[str, Any], then: dict[str, Any], slower_by: float) -> list[str]:
    found: list[str] = []
    for name in _COMPARED:
        before, after = then["latency"][name], now["latency"][name]
        if before and after and after / before > slower_by:
            found.append(
                f"latency {name}: {after:.2f} s, {after / before:.2f} times the baseline's "
                f"{before:.2f} s (at most {slower_by:g} times)"
            )
    return found
