"""`dataagent-harbor run`: asks a set, shows the progress, writes the reports, compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from dataagent_client import DataAgentClient
from dataagent_harbor.arguments import HarborOptions
from dataagent_harbor.asker import Asker, CountingBackoff, Mode
from dataagent_harbor.langsmith import Experiment, open_experiment
from dataagent_harbor.questions import BadQuestionSet, Question, named_questions
from dataagent_harbor.report import Report, as_html, as_junit, as_markdown, report_of
from dataagent_harbor.report.document import load_report, regressions
from dataagent_harbor.results import GradedResult, ResultFile, load_results
from dataagent_harbor.runner import Pace, ProgressBar, QuestionSetRunner, RunPlan
from dataagent_harbor.statistics import TokenPrices, UsageCost, usage_cost

PASSED, NOT_PASSED = 0, 1
Form = tuple[Path | None, Callable[[], str]]


async def run(options: HarborOptions) -> int:
    """Ask, report, and compare; the exit status.

    Raises:
        BadQuestionSet: the set, the baseline or the prices cannot be used.
        ClientError: the server cannot be reached, or the key is not valid.
    """
    questions = named_questions(options.questions)
    baseline = None if options.baseline is None else load_report(options.baseline)
    prices = _prices(options)
    experiment = open_experiment(options.langsmith_dataset, options.questions)
    started = datetime.now(UTC)
    async with DataAgentClient(
        options.url,
        options.api_key,
        timeout_seconds=options.timeout,
        backoff=CountingBackoff(),
    ) as client:
        version = (await client.health()).version
        day = started.date() - timedelta(days=1)  # whatever the server's clock says
        before = await usage_cost(client, day)  # also checks the key, before any question
        earlier = _load_earlier(options, questions)
        results = [*earlier, *await _ask_remaining(options, questions, client, earlier)]
        after = None if earlier else await usage_cost(client, day)
    report = report_of(results, about=_about(options, version, started), prices=prices)
    if prices is None:
        report["summary"]["cost"] = _server_cost(before, after)
    await _send(experiment, questions, results)
    write_forms(_forms(options, report))
    say(as_markdown(report))
    return _verdict(report, baseline, options.slower_by)


def _prices(options: HarborOptions) -> TokenPrices | None:
    given = (options.input_price, options.output_price)
    if given == (None, None):
        return None
    if None in given:
        raise BadQuestionSet("--input-price and --output-price are given together")
    return TokenPrices(given[0] or 0.0, given[1] or 0.0, options.currency)


def _server_cost(before: UsageCost | None, after: UsageCost | None) -> dict[str, Any] | None:
    """The cost as the server states it; unknown when some results are of an earlier run."""
    if after is None:
        return None
    used = after.since(before or UsageCost(0.0, after.currency))
    return {"total": used.amount, "currency": used.currency, "by": "server"}


def _load_earlier(options: HarborOptions, questions: list[Question]) -> list[GradedResult]:
    if options.transcripts is None:
        return []
    return load_results(options.transcripts, questions, rounds=options.rounds)


async def _ask_remaining(
    options: HarborOptions,
    questions: list[Question],
    client: DataAgentClient,
    earlier: list[GradedResult],
) -> list[GradedResult]:
    """Ask what has no result yet; each result is written as it arrives."""
    results: list[GradedResult] = []
    total = options.rounds * sum(len(each.in_order) for each in questions)
    progress = ProgressBar(total, done=len(earlier), stream=sys.stderr)
    file = nullcontext() if options.transcripts is None else ResultFile(options.transcripts)
    asker = Asker(
        client,
        mode=cast("Mode", options.mode),  # argparse accepts no other
        timeout_seconds=options.timeout,
        assistant_id=options.assistant_id,
        is_approving=options.is_approving,
    )
    pace = Pace(options.concurrency, options.rate, options.ramp)
    with progress, file as opened:

        def take(result: GradedResult) -> None:
            results.append(result)
            if opened is not None:
                opened.add(result)
            progress.add(result.status)

        runner = QuestionSetRunner(client, asker, take)
        plan = RunPlan(pace, options.rounds, options.warm_up)
        await runner.run(questions, plan, done=[each.key for each in earlier])
    return results


def _about(options: HarborOptions, version: str, started: datetime) -> dict[str, Any]:
    return {
        "set": Path(options.questions).name,
        "server": options.url,
        "version": version,
        "mode": options.mode,
        "agent": options.assistant_id,
        "concurrency": options.concurrency,
        "rate": options.rate,
        "rounds": options.rounds,
        "started": started.isoformat(timespec="seconds"),
    }


async def _send(
    experiment: Experiment | None, questions: list[Question], results: list[GradedResult]
) -> None:
    """Send the results to LangSmith; what it rejects is a warning, since the report is written."""
    if experiment is None:
        return
    problems = await experiment.record(questions, results)
    say(f"LangSmith: {len(results)} traces in the project {experiment.project}")
    for problem in problems:
        say(f"warning: {problem}")


def _forms(options: HarborOptions, report: Report) -> Iterable[Form]:
    return (
        (options.output, lambda: json.dumps(report, ensure_ascii=False, indent=1) + "\n"),
        (options.html, lambda: as_html(report)),
        (options.markdown, lambda: as_markdown(report)),
        (options.junit, lambda: as_junit(report)),
    )


def write_forms(forms: Iterable[Form]) -> None:
    """Write each form of a report that has a file."""
    for path, render in forms:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(), encoding="utf-8")
            say(f"wrote {path}")


def _verdict(report: Report, baseline: Report | None, slower_by: float | None) -> int:
    if baseline is None:
        summary: dict[str, Any] = report["summary"]
        return PASSED if summary["passed"] == summary["total"] else NOT_PASSED
    worse = regressions(report, baseline, slower_by=slower_by)
    for line in worse:
        say(f"worse: {line}")
    return NOT_PASSED if worse else PASSED


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"{text}\n")
