"""The runs in what LangSmith was sent, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.standins.langsmith_server import LangSmith


@dataclass
class TracedRun:
    """A run in LangSmith: the fields sent at its start and at its end."""

    run_id: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def metadata(self) -> dict[str, Any]:
        extra: dict[str, dict[str, Any]] = self.fields.get("extra") or {}
        return extra.get("metadata") or {}


def runs_of(found: LangSmith) -> dict[str, TracedRun]:
    """All runs by their ids."""
    with found.lock:
        return {run_id: TracedRun(run_id, dict(fields)) for run_id, fields in found.runs.items()}


def tree(runs: dict[str, TracedRun]) -> str:
    """Names, kinds and ends, in the order they began."""
    top = [run for run in runs.values() if run.fields.get("parent_run_id") not in runs]
    return "\n".join(line for run in _in_order(top) for line in _lines(run, runs, 0))


def _lines(run: TracedRun, runs: dict[str, TracedRun], depth: int) -> Iterator[str]:
    fields = run.fields
    assert fields.get("end_time"), f"{fields['name']} has no end"
    error = fields.get("error")
    end = f" FAILED {error}" if error else ""
    yield f"{'  ' * depth}{fields['name']} [{fields['run_type']}]{end}"
    below = [each for each in runs.values() if each.fields.get("parent_run_id") == run.run_id]
    for each in _in_order(below):
        yield from _lines(each, runs, depth + 1)


def _in_order(runs: list[TracedRun]) -> list[TracedRun]:
    return sorted(runs, key=lambda run: str(run.fields["dotted_order"]))
