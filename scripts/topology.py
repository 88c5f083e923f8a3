"""The topology of `infra/compose.yaml` as plain processes: one installation, web and workers.

    python -m scripts.topology --database postgresql://… --redis redis://… [--web 2] [--workers 2]

It starts them, prints their addresses, restarts what dies, and ends them with Ctrl-C. There is no
proxy in front: each web process has its own port. Tests use `web_settings` and `worker_settings`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK_SECONDS = 0.5
_END_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Shared:
    """The settings that all processes of an installation share."""

    database_url: str
    redis_url: str
    home: Path  # their workspaces and artefacts: one directory, or one volume
    redis_prefix: str = "dataagent:"
    lease_seconds: float = 10.0


def worker_settings(shared: Shared) -> dict[str, str]:
    """The environment of a worker."""
    return {
        "DATAAGENT_DATABASE_URL": shared.database_url,
        "DATAAGENT_REDIS_URL": shared.redis_url,
        "DATAAGENT_REDIS_PREFIX": shared.redis_prefix,
        "DATAAGENT_HOME": str(shared.home),
        "DATAAGENT_LEASE_SECONDS": str(shared.lease_seconds),
        "DATAAGENT_RUNS_IN": "workers",
    }


def web_settings(shared: Shared, *, port: int) -> dict[str, str]:
    """The environment of a web process."""
    return worker_settings(shared) | {"DATAAGENT_PORT": str(port)}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the topology until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--database", required=True, help="URL of PostgreSQL or MySQL/MariaDB")
    parser.add_argument("--redis", required=True, help="URL of Redis")
    parser.add_argument("--prefix", default="dataagent:", help="before all names in Redis")
    parser.add_argument("--home", type=Path, default=Path("~/.dataagent").expanduser())
    parser.add_argument("--port", type=int, default=8001, help="of the first web process")
    parser.add_argument("--web", type=int, default=2, help="how many web processes")
    parser.add_argument("--workers", type=int, default=2, help="how many workers")
    given = parser.parse_args(argv)
    shared = Shared(given.database, given.redis, given.home, given.prefix)
    orders = [("serve", web_settings(shared, port=given.port + i)) for i in range(given.web)]
    orders += [("worker", worker_settings(shared)) for _ in range(given.workers)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _keep(orders)


def _keep(orders: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    processes = [_start(*order) for order in orders]
    try:
        while True:
            time.sleep(_LOOK_SECONDS)
            for place, process in enumerate(processes):
                if process.poll() is not None:
                    print(f"process {process.pid} ended with {process.returncode}; started again")
                    processes[place] = _start(*orders[place])
    except KeyboardInterrupt:
        print("ending")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            process.kill()


def _start(command: str, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "dataagent_server", command]
    return subprocess.Popen(program, env={**os.environ, **settings})


if __name__ == "__main__":
    main()
