"""A page of a session's history: its messages, each answer with the events of its run.

Read from the ledger, so a page that is loaded again shows what it showed live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Entry
from dataagent_core.session import Message

_RUNS_AT_ONCE = 20  # per query, so that other work runs in between


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A message; the assistant's comes with its run's entries and approvals."""

    message: Message
    entries: list[Entry]
    approvals: list[Approval]


@dataclass(frozen=True, slots=True)
class History:
    """A page of a session's messages; `total` is how many it has.

    Entries with a `seq` up to `last_seq` are on this or an earlier page; follow the session from
    there for later ones.
    """

    items: list[HistoryItem]
    total: int
    last_seq: int


async def load_items(
    store: RunStore, session_id: str, messages: Sequence[Message]
) -> list[HistoryItem]:
    """The messages of a session with the entries and approvals of their runs."""
    answers = {each.message_id: each.run_id for each in messages if each.role == "assistant"}
    run_ids = [run_id for run_id in answers.values() if run_id is not None]
    entries = await _entries(store, session_id, run_ids)
    items: list[HistoryItem] = []
    for message in messages:
        said = entries.get(answers.get(message.message_id) or "", [])
        is_asked = any(entry.event_type == "hitl_request" for entry in said)
        approvals = await store.approvals(said[0].run_id) if is_asked else []
        items.append(HistoryItem(message, said, approvals))
    return items


async def _entries(
    store: RunStore, session_id: str, run_ids: Sequence[str]
) -> dict[str, list[Entry]]:
    by_run: dict[str, list[Entry]] = {}
    for first in range(0, len(run_ids), _RUNS_AT_ONCE):
        for entry in await store.read_runs(session_id, run_ids[first : first + _RUNS_AT_ONCE]):
            by_run.setdefault(entry.run_id, []).append(entry)
    return by_run
