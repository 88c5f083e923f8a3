"""(j) Runs that workers execute: two against one, and on paper what larger machines would do.

Web process, workers, PostgreSQL, Redis and load generator share this machine's few cores. So each
worker gets a fixed share of one (a control group, which needs root): what is measured is whether a
second worker does as much again, not how fast one is. The processor time of each part for a turn is
measured beside it, and from that follows how many turns a machine of its own could do, and with how
many processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median

import psutil
import redis

from bench.processes import (
    ALL,
    KEY,
    OTHERS,
    Service,
    Worker,
    clean_environment,
    free_port,
    program,
    served,
    spawn,
    stop,
)
from bench.report import Report, Row, at_least, say
from scripts.topology import Shared, web_settings, worker_settings
from tests.services import fresh_database, fresh_redis_prefix, redis_url

_SHARE = 0.2
_SESSIONS = 24
_TURNS = 6
_MESSAGE = "!slow 50 0"
_USED = 0.7  # of a machine's cores: the rest is for peaks
_MACHINES = (8, 32, 128)
_READY_SECONDS = 60.0
_PERIOD = 10_000  # microseconds; short, so that a process never stands still for long
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Costs:
    """Processor seconds of one turn, by process."""

    web: float
    worker: float
    database: float
    redis: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.web + self.worker + self.database + self.redis


def run(report: Report) -> None:
    """Measure one and two workers in turns, and report the ratio and the table."""
    rounds = 1 if report.options.is_quick else report.options.rounds
    ratios: list[float] = []
    costs: list[Costs] = []
    with ExitStack() as stack:
        load = stack.enter_context(Worker("bench.load", core=OTHERS))
        site = stack.enter_context(_site())
        for number in range(rounds):
            one = site.measure(load, workers=1)
            two = site.measure(load, workers=2)
            ratios.append(two[0] / one[0])
            costs.append(two[1])
            report.keep("j", "workers", round=number, one=one[0], two=two[0])
            say(f"(j) round {number + 1}: {one[0]:.1f} and {two[0]:.1f} turns a second")
    note = f"each worker has {_SHARE:.0%} of a core"
    report.add(
        Row(
            "j",
            "two workers / one, turns a second",
            median(ratios),
            target=at_least(1.7),
            note=note,
        )
    )
    costs.sort(key=lambda each: each.total)
    _on_paper(report, costs[len(costs) // 2])


def _on_paper(report: Report, costs: Costs) -> None:
    parts = ", ".join(
        f"{name} {seconds * 1000:.1f}"
        for name, seconds in (
            ("web", costs.web),
            ("worker", costs.worker),
            ("PostgreSQL", costs.database),
            ("Redis", costs.redis),
        )
    )
    report.add(
        Row("j", "a turn's processor time, all parts", costs.total * 1000, unit="ms", note=parts)
    )
    for cores in _MACHINES:
        turns = _USED * cores / costs.total
        web, workers = (max(1, ceil(turns * each / _USED)) for each in (costs.web, costs.worker))
        redis_use = turns * costs.redis
        note = f"{web} web processes, {workers} workers; Redis uses {redis_use:.1f} of one core"
        report.add(
            Row("j", f"on paper, {cores} cores: turns a second", turns, unit="/s", note=note)
        )


@contextmanager
def _site() -> Generator[_Site]:
    with (
        tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home,
        fresh_database("postgres", Path(home)) as database,
        fresh_redis_prefix() as prefix,
    ):
        shared = Shared(database, redis_url(), Path(home), prefix)
        port = free_port()
        command = [str(program("dataagent-server")), "serve"]
        environment = _environment(web_settings(shared, port=port))
        with served(command, port, "/api/v1/health", core=ALL, environment=environment) as web:
            yield _Site(shared, web)


def _environment(settings: dict[str, str]) -> dict[str, str]:
    return clean_environment(
        DATAAGENT_MODEL="scripted",
        DATAAGENT_SAMPLE_DATA="false",
        DATAAGENT_API_KEYS=f"bench:{KEY}",
        DATAAGENT_MAX_RUNS_PER_USER="0",
        DATAAGENT_MAX_CONNECTIONS_PER_USER="0",
        DATAAGENT_RATE_LIMIT_PER_MINUTE="0",
        DATAAGENT_LOG_LEVEL="WARNING",
        **settings,
    )


class _Site:
    """One web process with a database and a Redis; workers start and stop."""

    def __init__(self, shared: Shared, web: Service) -> None:
        self._shared = shared
        self._web = web

    def measure(self, load: Worker, *, workers: int) -> tuple[float, Costs]:
        """Turns a second with so many workers, and what a turn cost."""
        with ExitStack() as stack:
            pids = [stack.enter_context(self._worker()) for _ in range(workers)]
            self._wait_for(workers)
            self._ask(load, turns=1)  # graphs are built and connections opened
            parts = ([self._web.pid], pids, _named("postgres"), _named("redis-server"))
            before = [_spent(part) for part in parts]
            wall = self._ask(load, turns=_TURNS)
            after = [_spent(part) for part in parts]
        turns = _SESSIONS * _TURNS
        spent = [(end - begin) / turns for begin, end in zip(before, after, strict=True)]
        return turns / wall, Costs(*spent)

    def _ask(self, load: Worker, *, turns: int) -> float:
        answer = load.ask(
            do="turns",
            transport="ws",
            url=self._web.url,
            pid=self._web.pid,
            message=_MESSAGE,
            sessions=_SESSIONS,
            turns=turns,
            expected="chunk49 ",
        )
        return float(answer["wall"])

    @contextmanager
    def _worker(self) -> Generator[int]:
        command = [sys.executable, "-m", "dataagent_server", "worker"]
        process = spawn(
            command,
            core=ALL,
            environment=_environment(worker_settings(self._shared)),
            stdout=subprocess.DEVNULL,
        )
        try:
            with _limited(process.pid, share=_SHARE):
                yield process.pid
        finally:
            stop(process)

    def _wait_for(self, workers: int) -> None:
        """Wait until so many workers are registered in Redis."""
        deadline = time.monotonic() + _READY_SECONDS
        # untyped
        with redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
            self._shared.redis_url
        ) as client:
            key = f"{self._shared.redis_prefix}workers"
            while client.zcount(key, time.time(), "+inf") != workers:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{workers} workers were not ready in time.")
                time.sleep(0.1)


def _named(name: str) -> list[int]:
    """Ids of all processes of a name on this machine."""
    return [each.pid for each in psutil.process_iter(["name"]) if each.info["name"] == name]


def _spent(pids: list[int]) -> float:
    """Processor seconds of some processes so far; of those that still live."""
    total = 0.0
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


@contextmanager
def _limited(pid: int, *, share: float) -> Generator[None]:
    """Hold a process, threads and all, to a share of one core while the block runs.

    Raises:
        RuntimeError: there are no control groups, or this user may not create them.
    """
    old = _GROUPS / "cpu"
    group = (old if old.is_dir() else _GROUPS) / f"dataagent-bench-{pid}"
    quota = int(_PERIOD * share)
    limits = {"cpu.cfs_period_us": f"{_PERIOD}", "cpu.cfs_quota_us": f"{quota}"}
    if not old.is_dir():
        limits = {"cpu.max": f"{quota} {_PERIOD}"}
    with ExitStack() as stack:
        try:
            group.mkdir()
            stack.callback(_remove, group)
            for name, value in {**limits, "cgroup.procs": f"{pid}"}.items():
                (group / name).write_text(value)
        except OSError as error:
            raise RuntimeError(f"No process can be held to a share of a core: {error}.") from error
        yield


def _remove(group: Path) -> None:
    """Remove a group; processes still in it go on without a limit."""
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()
