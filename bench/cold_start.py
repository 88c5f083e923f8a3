"""(e) How long programs take to answer from nothing, against Python itself and against LangChain.

`python -c pass` is the least any program here can take; `import langchain.agents` is what a program
takes that loads the libraries before it knows what for.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

from bench.meter import median_ratio
from bench.processes import (
    KEY,
    MEASURED,
    clean_environment,
    finish,
    free_port,
    program,
    spawn,
    stop,
    wait_until_served,
)
from bench.report import Report, Row, below, say

_HELP = """
import sys
from dataagent_cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
sys.exit(any(name.partition(".")[0].startswith("langchain") for name in sys.modules))
"""
_LEAST, _LIBRARIES = "python -c pass", "import langchain.agents"


def run(report: Report) -> None:
    """Start everything a few times, in turns, and report the ratios."""
    starts: dict[str, Callable[[], float]] = {
        _LEAST: lambda: _finished([sys.executable, "-c", "pass"]),
        _LIBRARIES: lambda: _finished([sys.executable, "-c", "import langchain.agents"]),
        "dataagent --help": lambda: _finished([str(program("dataagent")), "--help"]),
        "dataagent --version": lambda: _finished([str(program("dataagent")), "--version"]),
        "server, first healthy answer": _first_answer,
    }
    seconds: dict[str, list[float]] = {name: [] for name in starts}
    for number in range(max(3, report.options.rounds) + 1):
        say(f"(e) round {number}")
        for name, start in starts.items():
            taken = start()
            if number:  # the first one fills the disk cache
                seconds[name].append(taken)
    for name, taken in seconds.items():
        report.keep("e", name, seconds=taken, median=median(taken))
        if name not in (_LEAST, _LIBRARIES):
            report.add(Row("e", f"{name} / {_LEAST}", median_ratio(taken, seconds[_LEAST])))
            report.add(Row("e", f"{name} / {_LIBRARIES}", median_ratio(taken, seconds[_LIBRARIES])))
    row = Row(
        "e",
        "dataagent --help imports LangChain",
        _imports_langchain(),
        unit="imported",
        target=below(1),
    )
    report.add(row)


def _finished(command: list[str]) -> float:
    """Seconds until a program ended well."""
    started = time.perf_counter()
    finish(command)
    return time.perf_counter() - started


def _first_answer() -> float:
    """Seconds until a server with a new data directory answers that it is well."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        environment = clean_environment(
            HOME=home,
            DATAAGENT_HOME=home,
            DATAAGENT_API_KEYS=KEY,
            DATAAGENT_PORT=str(port),
            DATAAGENT_LOG_LEVEL="WARNING",
        )
        started = time.perf_counter()
        command = [str(program("dataagent-server")), "serve"]
        process = spawn(command, core=MEASURED, environment=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until_served(process, f"http://127.0.0.1:{port}/api/v1/health")
            return time.perf_counter() - started
        finally:
            stop(process)


def _imports_langchain() -> float:
    """1 if `dataagent --help` loads any of LangChain, else 0."""
    process = spawn([sys.executable, "-c", _HELP], core=MEASURED, stdout=subprocess.DEVNULL)
    return float(process.wait() != 0)
