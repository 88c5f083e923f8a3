"""The books at the end of the day: what was acknowledged is there, once, and everything agrees.

Each check returns what is wrong, in words; nothing wrong is an empty list. Memory is looked at
along the way (`Watch`), on processes that nobody kills.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression, median
from time import monotonic

import psutil

from tests.end_to_end.server import Server
from tests.end_to_end.test_kill import check_session, ended
from tests.end_to_end.topology import Topology
from tests.soak.users import Notes, SoakUser

_LOOK_SECONDS = 2.0
_TELLING_MINUTES = 10.0
_MIB = 1024 * 1024
_FORCED = ("shutdown waits for", "Timeout (0:00:")


async def wrong_with(person: SoakUser, server: Server) -> list[str]:
    """What of a person's notes is not in the books."""
    me, own = f"{type(person).__name__} {person.user_id}", server.on_behalf_of(person.user_id)
    return [wrong for notes in person.all_notes for wrong in await _wrong_with(notes, me, own)]


async def _wrong_with(notes: Notes, me: str, own: Server) -> list[str]:
    found = [f"{me}: {fault}" for fault in notes.faults]
    for run_id in notes.runs:
        try:
            await ended(own, run_id)
        except TimeoutError:
            return [*found, f"{me}: has no end: {await own.get(f'/runs/{run_id}')}"]
    try:
        if notes.runs:  # else nothing was taken before the day was over
            await check_session(own, notes.session_id, set(notes.runs))
    except AssertionError as error:
        found.append(f"{me}: session {notes.session_id}: {error}")
    for run_id, mark in notes.runs.items():
        run = await own.get(f"/runs/{run_id}")
        if run["status"] == "done" and not await _says(own, notes.session_id, run_id, mark):
            found.append(f"{me}: run {run_id} is done and does not say {mark}")
    for file_id, digest in notes.files.items():
        async with own.http() as http, http.get(f"/api/files/{file_id}/download") as answer:
            same = answer.status == 200 and hashlib.sha256(await answer.read()).hexdigest()
        if same != digest:
            found.append(f"{me}: file {file_id} is not what was handed in ({answer.status})")
    return found


async def _says(server: Server, session_id: str, run_id: str, mark: str) -> bool:
    page = await server.get(f"/runs/{run_id}")
    if page["session_id"] != session_id:
        return False
    offset = 0
    while True:
        found = await server.get(f"/sessions/{session_id}/messages?limit=100&offset={offset}")
        for message in found["items"]:
            if message["run_id"] == run_id and message["role"] == "assistant":
                return mark in message["content"]
        offset += len(found["items"])
        if offset >= found["total"]:
            return False


async def wrong_with_the_audit(server: Server, admin_key: str) -> list[str]:
    """Whether the chain of the audit log is whole."""
    async with server.http(admin_key) as http, http.get("/api/v1/audit/verify") as answer:
        verdict = await answer.json()
    return [] if answer.status == 200 and verdict["whole"] else [f"audit: {verdict}"]


async def wrong_with_the_quota(server: Server, user_id: str, workspaces: Path) -> list[str]:
    """Whether what is booked for a user is what lies there, once the booking has caught up."""
    own = server.on_behalf_of(user_id)
    booked = actual = -1
    with suppress(TimeoutError):
        async with asyncio.timeout(30):
            while True:
                booked = (await own.get(f"/users/{user_id}/workspace"))["bytes_used"]
                actual = sum(
                    path.lstat().st_size
                    for path in (workspaces / user_id).rglob("*")
                    if path.is_file() and not path.is_symlink()
                )
                if booked == actual:
                    return []
                await asyncio.sleep(0.5)
    return [f"quota of {user_id}: {booked} bytes are booked, {actual} lie there"]


def wrong_with_the_ends(many: Topology) -> list[str]:
    """Processes that were told to end, and had to be ended (`dataagent_server.shutdown`)."""
    return [line for line in many.logs().splitlines() if any(mark in line for mark in _FORCED)]


@dataclass
class Watch:
    """The memory of processes over the day."""

    pids: dict[str, int]
    looks: dict[str, list[tuple[float, float]]] = field(
        default_factory=dict[str, list[tuple[float, float]]]
    )

    async def keep(self, is_over: asyncio.Event) -> None:
        """Look every few seconds."""
        while not is_over.is_set():
            for name, pid in self.pids.items():
                used = psutil.Process(pid).memory_info().rss / _MIB
                self.looks.setdefault(name, []).append((monotonic(), used))
            await asyncio.sleep(_LOOK_SECONDS)

    def write(self, path: Path) -> None:
        """Keep all looks, as CSV."""
        lines = [
            f"{name},{at:.1f},{used:.2f}"
            for name, looks in self.looks.items()
            for at, used in looks
        ]
        path.write_text("\n".join(["process,seconds,mib", *lines, ""]), encoding="utf-8")

    def growth(self, name: str) -> tuple[float, float, float]:
        """MiB a minute over the second half of the day, the noise of a look, the last look."""
        late = self.looks[name][len(self.looks[name]) // 2 :]
        times, used = [look[0] for look in late], [look[1] for look in late]
        slope, intercept = linear_regression(times, used)
        off = [abs(value - (intercept + slope * at)) for at, value in late]
        return slope * 60, median(off), used[-1]


def wrong_with_memory(watch: Watch, minutes: float) -> list[str]:
    """Processes whose memory grew by more than noise over the second half of the day.

    In a day of less than ten minutes they are still filling what they keep: that tells nothing.
    """
    found: list[str] = []
    if minutes < _TELLING_MINUTES:
        return found
    for name in watch.pids:
        slope, noise, last = watch.growth(name)
        grown = slope * minutes / 2
        if grown > max(3 * noise, 0.01 * last):
            found.append(f"memory of {name}: {slope:+.2f} MiB a minute (noise {noise:.1f} MiB)")
    return found


def told(people: Sequence[SoakUser]) -> str:
    """What the day was, in one line."""
    notes = [each for person in people for each in person.all_notes]
    runs, files = sum(len(each.runs) for each in notes), sum(len(each.files) for each in notes)
    return f"{runs} runs and {files} files acknowledged to {len(people)} people"
