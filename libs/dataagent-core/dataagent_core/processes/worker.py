"""The program of a worker process: `python -m dataagent_core.processes.worker FD BYTES SECONDS`.

It reads calls from the connection FD, runs one at a time and sends the results, until the other end
is closed or it was idle for a while. It may reserve BYTES of memory more than at its start, and
ends when they do not suffice. A call that takes SECONDS of processor time ends the process by
SIGPROF, even if its parent has died.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from dataagent_core.errors import DataAgentError

_IDLE_SECONDS = 300
_NICENESS = 5  # the server itself goes first


def main() -> None:
    """Serve one parent."""
    descriptor, memory_bytes = map(int, sys.argv[1:3])
    seconds = float(sys.argv[3])
    if sys.platform == "linux":
        _limit_memory(memory_bytes)
    os.nice(_NICENESS)
    with Connection(descriptor) as connection:
        while connection.poll(_IDLE_SECONDS):
            try:
                request = connection.recv_bytes()
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer = _answer(request)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send_bytes(answer)


def _answer(request: bytes) -> bytes:
    """Return, pickled, whether the function returned, and its value or its error."""
    try:
        function, arguments = pickle.loads(request)  # noqa: S301  # our parent wrote it
        return pickle.dumps((True, function(*arguments)))
    except MemoryError:
        os._exit(1)
    except DataAgentError as error:
        return pickle.dumps((False, error))
    except Exception:
        return pickle.dumps((False, RuntimeError(traceback.format_exc())))


def _limit_memory(more_bytes: int) -> None:
    import resource  # not on every system

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()
