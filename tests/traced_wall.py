"""For `make coverage`: follows the sandbox's runner to the other side of the wall.

Nothing written there comes back, and what runs there is killed when it is done with. So one file is
let through, and each step from line to line that is new goes into it at once, in the form that
coverage has for it. `follow` is for the process outside, `noted` for whoever adds it all up.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from dataagent_core.sandbox import bwrap, runner

RUNNER = Path(runner.__file__).parent
STEPS = Path(tempfile.gettempdir(), f"dataagent-runner-steps-{os.geteuid()}")
_INSIDE = "/run/steps"


def note_steps(steps: str, folder: str) -> None:
    """Write down each new step through a module in `folder`. Runs inside, with nothing of ours."""
    import os
    import resource
    import sys

    # The last of all: no new one comes to stand there once a kernel has closed this one.
    number = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1
    os.dup2(opened := os.open(steps, os.O_WRONLY | os.O_APPEND), number, inheritable=False)
    os.close(opened)
    known: set[tuple[str, int, int]] = set()

    def note(*step: Any) -> None:
        if step not in known:
            known.add(step)
            try:
                os.write(number, "{}:{}:{}\n".format(*step).encode())
            except OSError:  # closed, as everything is that user code must not have
                sys.settrace(None)

    def enter(frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(folder):
            return None
        name, outside = code.co_filename[len(folder) :], -code.co_firstlineno
        has_been_here = code.co_code[frame.f_lasti + 1] != 0  # goes on after a yield
        last = frame.f_lineno if has_been_here else outside

        def go(frame: Any, event: str, argument: Any) -> Any:
            nonlocal last
            if event in ("line", "return"):
                here = frame.f_lineno if event == "line" else outside
                note(name, last, here)
                last = here
            return go

        return go

    sys.settrace(enter)


def follow() -> None:
    """Let every wall that is built from now on have the file, and its runner write to it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        STEPS.write_bytes(b"")
        STEPS.chmod(0o666)
    module: Any = bwrap  # its parts are its own
    module._ENTRY = f"{_noting(_INSIDE, '/opt/dataagent/runner/')}; {module._ENTRY}"
    kind: Any = bwrap.BwrapCommand
    build, complete = kind._bwrap, kind.arguments

    def with_steps(command: Any, places: dict[str, Path], *more: Any) -> list[str]:
        outside = command._stage / "files" / "steps"
        if not outside.exists():
            os.link(STEPS, outside)
        arguments = build(command, places, *more)
        at = arguments.index("--remount-ro")
        return [*arguments[:at], "--bind", str(places["files"] / "steps"), _INSIDE, *arguments[at:]]

    def from_the_start(command: Any) -> list[str]:
        arguments = complete(command)
        if command._is_root:  # then the first program is ours, and still outside
            at = arguments.index("-c") + 1
            arguments[at] = f"{_noting(str(STEPS), f'{RUNNER}/')}; {arguments[at]}"
        return arguments

    kind._bwrap, kind.arguments = with_steps, from_the_start


def _noting(steps: str, folder: str) -> str:
    """A statement that has a program note its steps."""
    future, call = "from __future__ import annotations", f"note_steps({steps!r}, {folder!r})"
    return f"exec({chr(10).join([future, inspect.getsource(note_steps), call])!r})"


def noted() -> dict[str, list[tuple[int, int]]]:
    """The steps that were written down, by module, as coverage takes them."""
    found: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    if STEPS.exists():
        for line in STEPS.read_text(encoding="utf-8").splitlines():
            name, last, current = line.rsplit(":", 2)
            found[str(RUNNER / name)].add((int(last), int(current)))
    return {name: sorted(steps) for name, steps in found.items()}
