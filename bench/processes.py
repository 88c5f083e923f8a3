"""Starts the processes of a part: the measured one alone on a core, everything else on another.

`Worker` is a process that answers one line of JSON with one line of JSON (`answer_lines` is its
other end). `Service` is a server at an address. Both end with their `with` block, by their own id.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

Json = dict[str, Any]
ROOT = Path(__file__).parents[1]
KEY = "bench-key"
_SETTINGS = re.compile(
    r"(DATAAGENT_|OTEL_|LANGSMITH_|LANGCHAIN_|LANGFUSE_|OPENAI_|ANTHROPIC_|TAVILY_|"
    r"PYTHONDONTWRITEBYTECODE)"
)
"""The last one because installed programs are compiled; a checkout would be at each start."""
_START_SECONDS = 60.0
_CORES = sorted(os.sched_getaffinity(0))
MEASURED = _CORES[0]
OTHERS = _CORES[-1]
"""Cores as the starting process sees them; each process it starts has one of them alone."""
ALL = -1
"""In place of a core: all of them."""


def clean_environment(**settings: str) -> dict[str, str]:
    """The environment without the user's settings, plus the given ones."""
    inherited = {name: value for name, value in os.environ.items() if not _SETTINGS.match(name)}
    return {**inherited, "PYTHONHASHSEED": "0", **settings}


def spawn(
    command: Sequence[str], *, core: int, environment: dict[str, str] | None = None, **streams: int
) -> subprocess.Popen[bytes]:
    """Start a process that stays on one core with all its threads; `ALL` for any core."""
    cores = _CORES if core == ALL else {core}
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment if environment is not None else clean_environment(),
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509 no threads here
        stdin=streams.get("stdin"),
        stdout=streams.get("stdout"),
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that `spawn` started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(35)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


class Worker:
    """A process that answers one line of JSON with one line of JSON."""

    def __init__(self, module: str, *arguments: str, core: int) -> None:
        command = [sys.executable, "-m", module, *arguments]
        self._process = spawn(command, core=core, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._name = " ".join([module, *arguments])

    def ask(self, **command: Any) -> Json:
        """Send a command and wait for the answer.

        Raises:
            RuntimeError: the command failed, or the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended, which the next lines report
            self._process.stdin.write(orjson.dumps(command) + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with {self._process.wait()}.")
        answer: Json = orjson.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self._name} failed:\n{answer['error']}")
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # it then cleans up and ends
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(15)
        stop(self._process)
        self._process.stdout.close()


def answer_lines(
    handle: Callable[[Json], Awaitable[Json]],
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
    stack: AsyncExitStack,
) -> None:
    """Be a worker: execute commands from stdin until it ends, then close the stack."""

    async def execute(command: Json) -> Json:
        try:
            return await handle(command)
        except Exception:
            return {"error": traceback.format_exc()}

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        for line in sys.stdin.buffer:
            answer = runner.run(execute(orjson.loads(line)))
            sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
            sys.stdout.buffer.flush()
        runner.run(stack.aclose())


@dataclass(frozen=True, slots=True)
class Service:
    """A running server."""

    url: str
    pid: int


@contextmanager
def dataagent_server(
    core: int = MEASURED, /, *, model: str = "scripted", **settings: str
) -> Generator[Service]:
    """Our server with its embedded default (SQLite), on the measured core by default."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        usual = {
            "HOME": home,
            "DATAAGENT_HOME": home,
            "DATAAGENT_MODEL": model,
            "DATAAGENT_API_KEYS": f"bench:{KEY}",
            "DATAAGENT_PORT": str(port),
            "DATAAGENT_MAX_CONNECTIONS": "2000",
            "DATAAGENT_MAX_RUNS_PER_USER": "0",  # its one user stands for many
            "DATAAGENT_MAX_CONNECTIONS_PER_USER": "0",
            "DATAAGENT_RATE_LIMIT_PER_MINUTE": "0",
            "DATAAGENT_LOG_LEVEL": "WARNING",
        }
        environment = clean_environment(**(usual | settings))
        command = [str(program("dataagent-server")), "serve"]
        with served(command, port, "/api/v1/health", core=core, environment=environment) as it:
            yield it


@contextmanager
def served(
    command: Sequence[str], port: int, path: str, *, core: int, environment: dict[str, str]
) -> Generator[Service]:
    """A server that runs while the block does, from its first answer on."""
    process = spawn(command, core=core, environment=environment, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_served(process, url + path)
        yield Service(url, process.pid)
    finally:
        stop(process)


def wait_until_served(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait for the first answer that is not a server error."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"A server ended with {process.returncode} before it answered.")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500:
                return
        except OSError:
            pass  # nothing listens yet
        time.sleep(0.01)
    raise RuntimeError(f"{url} did not answer within {_START_SECONDS:.0f} seconds.")


def finish(command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Run a program, alone on the measured core, to its end.

    Raises:
        RuntimeError: it failed.
    """
    devnull = subprocess.DEVNULL
    process = spawn(command, core=MEASURED, environment=environment, stdout=devnull, stdin=devnull)
    if process.wait() != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}.")


def program(name: str) -> Path:
    """An installed program of this environment."""
    return Path(sys.executable).with_name(name)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
