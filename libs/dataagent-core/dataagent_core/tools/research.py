"""Limits and numbers the searches and sources of a question's research.

The rule, for each run (a user's message, with all its sub-agents):

- A question has three searches. One with several aspects has five: each search then names the
  aspect it is for.
- No further search for an aspect that has three relevant sources.

A source is relevant when the search service scores it at one half or more. Sources are numbered
within a conversation, so that an answer can cite them as [1], [2]; the same address keeps its
number. Nothing is stored: a new process counts anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from dataagent_core.errors import LimitReached, Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.workspace import run_context

T = TypeVar("T")
SIMPLE_SEARCHES = 3
COMPLEX_SEARCHES = 5
ENOUGH_SOURCES = 3
RELEVANT = 0.5
_MOST_FAILURES = 3
_KEPT = 1000
_LISTED = 15


@dataclass(slots=True)
class _Run:
    """One run's searches: their number, and relevant addresses by aspect."""

    searches: int = 0
    failures: int = 0
    relevant: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @property
    def most(self) -> int:
        return COMPLEX_SEARCHES if len(self.relevant) > 1 else SIMPLE_SEARCHES


class Research:
    """The research of all runs of a process, the most recent of them."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._sources: OrderedDict[str, dict[str, int]] = OrderedDict()

    def take(self, aspect: str) -> None:
        """Use up one search of the run that is under way.

        Raises:
            LimitReached: there is none left, or enough was found; the message says what to do.
        """
        run, key = self._run(), _key(aspect)
        if run is None:
            return
        self._refuse_what_is_enough(run, key)
        run.relevant.setdefault(key, set())
        if run.failures >= _MOST_FAILURES:
            raise LimitReached(
                "The search service failed several times in this turn and is not asked again. Say "
                "so, and answer with what you have."
            )
        if run.searches >= run.most:
            raise LimitReached(self._no_more(run))
        run.searches += 1

    def failed(self) -> None:
        """Give a search back that brought nothing because the service failed."""
        run = self._run()
        if run is not None:
            run.searches -= 1
            run.failures += 1

    def found(self, aspect: str, url: str, score: float) -> int:
        """Note a result; its number in this conversation."""
        run = self._run()
        if run is not None and score >= RELEVANT:
            run.relevant.setdefault(_key(aspect), set()).add(url)
        return self.number(url)

    def number(self, url: str) -> int:
        """The number of a source in this conversation, a new one if need be."""
        context = _context()
        if context is None:
            return 1
        numbers = _get_or_make(self._sources, context.session_id, dict[str, int])
        return numbers.setdefault(url, len(numbers) + 1)

    def left(self) -> str:
        """The number of searches left, for the model."""
        run = self._run()
        if run is None:
            return ""
        return f"Searches left for this question: {run.most - run.searches}."

    def _refuse_what_is_enough(self, run: _Run, key: str) -> None:
        if len(run.relevant.get(key, ())) < ENOUGH_SOURCES:
            return
        about = f"for '{key}' " if key else ""
        raise LimitReached(
            f"No further search: {len(run.relevant[key])} relevant sources were found {about}"
            f"already. {self._known()} Read them with fetch_url, or answer now. If the question "
            "has another aspect, name it in `aspect`."
        )

    def _no_more(self, run: _Run) -> str:
        hint = "" if run.most == COMPLEX_SEARCHES else (
            f" A question with several aspects has {COMPLEX_SEARCHES}: name each in `aspect`."
        )  # fmt: skip
        return (
            f"No further search: this question's {run.most} searches are used up.{hint} "
            f"{self._known()} Answer with what was found, cite it, and say what is missing."
        )

    def _known(self) -> str:
        context = _context()
        numbers = self._sources.get(context.session_id, {}) if context is not None else {}
        listed = [f"[{number}] {url}" for url, number in numbers.items()][-_LISTED:]
        return f"Sources so far: {', '.join(listed)}." if listed else "No source was found."

    def _run(self) -> _Run | None:
        context = _context()
        return None if context is None else _get_or_make(self._runs, context.run_id, _Run)


def _key(aspect: str) -> str:
    return " ".join(aspect.casefold().split())


def _context() -> RunContext | None:
    """The run we are in; None outside of any, where nothing is counted."""
    try:
        return run_context()
    except Misconfigured:
        return None


def _get_or_make(of: OrderedDict[str, T], key: str, make: Callable[[], T]) -> T:
    if key not in of:
        of[key] = make()
        while len(of) > _KEPT:
            of.popitem(last=False)
    of.move_to_end(key)
    return of[key]
