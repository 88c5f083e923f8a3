"""DuckDB in processes of its own: a few that stay for the next statement, each within limits.

DuckDB bounds its buffers, but not what a function allocates, and it looks for an interrupt only
between steps: `repeat('x', 1000000000)` takes as much memory and time as it likes. So statements
run in child processes (`duckdb_worker.py`) with a limit on their memory, and a statement that
ignores an interrupt is killed. A child that ends takes only its statement with it.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import json
import logging
import re
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataagent_core.data.arrow import pa
from dataagent_core.data.engines.base import EngineOptions
from dataagent_core.data.engines.pool import Slots

logger = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("duckdb_worker.py")
_SPARE_BYTES = 768 * 1024 * 1024
"""Memory beyond DuckDB's own limit: its threads, rows on their way out, values of functions."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_IDLE_SECONDS = 300.0
_MOST_STATEMENTS = 1_000
"""After so many a process is replaced: libraries keep a little memory of each."""
_CONFIGURED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "allowed_configs": ["timezone"],
}
_LOCKED = (  # once the file is open: its own path would stay readable, bytes past every policy
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)


class DuckdbWorkerError(Exception):
    """What DuckDB says; `kind` is the name of its exception."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class DuckdbWorkerExited(Exception):
    """The process ended before it answered: it was killed, or had no memory left."""


@dataclass(frozen=True, slots=True)
class DuckdbDatabase:
    """What statements run on: a DuckDB file, or stored tables, each a name and a Parquet file."""

    path: str | None = None
    tables: tuple[tuple[str, str], ...] = ()


class DuckdbProcess:
    """A child that runs DuckDB. One thread asks; `interrupt` and `kill` may come from any."""

    def __init__(self, options: EngineOptions) -> None:
        self.database: DuckdbDatabase | None = None
        self.statements = 0
        self.idle_since = 0.0
        self._options = options
        self._writing = threading.Lock()
        self._child = subprocess.Popen(
            [sys.executable, "-I", str(_WORKER), str(_memory_bytes(options) + _SPARE_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"TZ": "UTC", "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "4"},
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        """Whether it can take a request."""
        return self._child.poll() is None

    def open(self, database: DuckdbDatabase) -> None:
        """Open a database in place of the one before.

        Raises:
            WorkerError, WorkerEnded: as `ask`.
        """
        if self.database == database:
            return
        self.database = None
        bounds = {"memory_limit": self._options.memory_limit, "threads": self._options.threads}
        self.ask(
            "open",
            path=database.path,
            tables=dict(database.tables),
            config={**_CONFIGURED, **bounds},
            settings=_LOCKED,
        )
        self.database = database

    def close_database(self) -> None:
        """Release what is open, above all the lock on its file.

        Raises:
            WorkerError, WorkerEnded: as `ask`.
        """
        self.database = None
        self.ask("close")

    def ask(self, op: str, **request: Any) -> Any:  # Any: JSON, or a batch
        """The answer: a JSON value, a batch of rows, or None at the end of the rows.

        Raises:
            WorkerError: DuckDB refuses.
            WorkerEnded: the process is no more.
        """
        self._send({"op": op, **request})
        kind = self._read(1)
        content = self._read(struct.unpack(">Q", self._read(8))[0])
        if kind == b"a":
            with pa.ipc.open_stream(content) as stream:
                return next(iter(stream))
        if kind == b".":
            return None
        value = json.loads(content)
        if kind == b"e":
            raise DuckdbWorkerError(value["type"], value["message"])
        return value

    def interrupt(self) -> None:
        """Have it give up what it does. It may not hear."""
        with suppress(DuckdbWorkerExited):
            self._send({"op": "interrupt"})

    def kill(self) -> None:
        """End it."""
        self._child.kill()

    def end(self) -> None:
        """End the process and release everything it held."""
        self._child.kill()
        with suppress(OSError):
            self._child.communicate()

    def _send(self, request: dict[str, Any]) -> None:
        message = json.dumps(request).encode()
        stdin = self._child.stdin
        assert stdin is not None  # noqa: S101  # it is a pipe
        try:
            with self._writing:
                stdin.write(struct.pack(">I", len(message)) + message)
                stdin.flush()
        except (OSError, ValueError) as error:
            raise DuckdbWorkerExited from error

    def _read(self, size: int) -> bytes:
        stdout = self._child.stdout
        assert stdout is not None  # noqa: S101  # it is a pipe
        try:
            data = stdout.read(size)
        except (OSError, ValueError) as error:
            raise DuckdbWorkerExited from error
        if len(data) < size:
            raise DuckdbWorkerExited
        return data


class DuckdbProcesses:
    """The processes, shared by all DuckDB databases of a program. Safe for threads."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        """At most `options.max_connections` at once, each with `options.memory_limit`."""
        self._options = options or EngineOptions()
        self._slots = Slots(self._options.max_connections, what="processes for DuckDB")
        self._idle: list[DuckdbProcess] = []
        self._timer: threading.Timer | None = None
        weakref.finalize(self, _end_all, self._idle)

    @property
    def in_use(self) -> int:
        """How many are in use."""
        return self._slots.in_use

    def acquire(
        self, database: DuckdbDatabase, *, timeout_seconds: float, is_cancelled: Callable[[], bool]
    ) -> DuckdbProcess | None:
        """A process that has the database open; None when `is_cancelled` came true meanwhile.

        Raises:
            SourceUnavailable: all stay busy for too long, or this was closed.
            WorkerError: DuckDB cannot open the database.
            WorkerEnded: the process could not be started.
        """
        if not self._slots.acquire(timeout_seconds=timeout_seconds, is_cancelled=is_cancelled):
            return None
        process: DuckdbProcess | None = None
        try:
            process = self._idle_one(database) or DuckdbProcess(self._options)
            process.open(database)
        except BaseException as error:
            is_clean = isinstance(error, DuckdbWorkerError)
            if process is None:
                self._slots.release()
            else:
                self.release(process, is_clean=is_clean)
            raise
        process.statements += 1
        return process

    def release(self, process: DuckdbProcess, *, is_clean: bool) -> None:
        """End the use of a process; keep it for the next statement only if nothing runs on it."""
        process.idle_since = time.monotonic()
        is_kept = is_clean and process.is_alive and process.statements < _MOST_STATEMENTS
        with self._slots.changed:
            is_kept = is_kept and not self._slots.is_closed
            if is_kept:
                self._idle.append(process)
                self._schedule()
        if not is_kept:
            process.end()
        self._slots.release()

    def forget(self, database: DuckdbDatabase) -> None:
        """Close the database wherever it is open and not in use."""
        with self._slots.changed:
            holding = [one for one in self._idle if one.database == database]
            self._idle[:] = [one for one in self._idle if one not in holding]
            self._slots.in_use += len(holding)
        for process in holding:
            try:
                process.close_database()
            except (DuckdbWorkerError, DuckdbWorkerExited):
                self.release(process, is_clean=False)
            else:
                self.release(process, is_clean=True)

    def close(self) -> None:
        """End the idle ones now, the others when they are given back."""
        self._slots.close()
        with self._slots.changed:
            idle = list(self._idle)
            self._idle.clear()
            if self._timer is not None:
                self._timer.cancel()
        _end_all(idle)

    def _idle_one(self, database: DuckdbDatabase) -> DuckdbProcess | None:
        """One that has the database open already; else the one that was idle for longest."""
        while True:
            with self._slots.changed:
                having = [one for one in self._idle if one.database == database]
                chosen = having[-1] if having else self._idle[0] if self._idle else None
                if chosen is None:
                    return None
                self._idle.remove(chosen)
            if chosen.is_alive:
                return chosen
            chosen.end()

    def _schedule(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_IDLE_SECONDS, _trim, [weakref.ref(self)])
            self._timer.daemon = True
            self._timer.start()

    def end_idle(self) -> None:
        """End the processes that were idle for long."""
        longest = time.monotonic() - _IDLE_SECONDS
        with self._slots.changed:
            ended = [one for one in self._idle if one.idle_since <= longest]
            self._idle[:] = [one for one in self._idle if one not in ended]
            self._timer = None
            if self._idle and not self._slots.is_closed:
                self._schedule()
        _end_all(ended)


def _trim(processes: weakref.ref[DuckdbProcesses]) -> None:
    found = processes()
    if found is not None:
        found.end_idle()


def _end_all(processes: Sequence[DuckdbProcess]) -> None:
    for process in processes:
        process.end()


def _memory_bytes(options: EngineOptions) -> int:
    """`1GB`, as DuckDB reads it."""
    match = re.fullmatch(
        r"([0-9.]+)\s*([KMGT]?)(i?)B?", options.memory_limit.strip(), re.IGNORECASE
    )
    if match is None:
        raise ValueError(f"{options.memory_limit!r} is no amount of memory.")
    amount, unit, binary = match[1], match[2].upper(), bool(match[3])
    scale = 1024 ** "KMGT".index(unit) * 1024 if unit and binary else _UNITS[unit]
    return int(float(amount) * scale)
