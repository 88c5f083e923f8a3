"""Starts servers quickly: imports everything once, then forks a server for each line it reads.

Run as a program by `server.py`. A line is JSON `{"env": {…}, "log": path, "command": "serve"}`; the
answer is the pid.
The forked process is an ordinary server: it can be killed at any moment without harm to this one.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys


def serve(env: dict[str, str], log: str, command: str) -> None:
    """Become a server, or whatever the command says, with these settings."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(env)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    from dataagent_server.cli import main

    sys.argv = ["dataagent-server", command]
    main()


def run() -> None:
    """Fork a server per line until the input ends."""
    from dataagent_server.main import built_routes

    built_routes()  # for the children
    gc.collect()
    gc.freeze()  # else each child looks at all of it when it starts, and so copies it
    atexit.register(gc.unfreeze)  # else native libraries report what is frozen as leaked
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            serve(order["env"], order["log"], order["command"])
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    run()
