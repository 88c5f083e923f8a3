"""(l) The web app: what a first visit loads, and how fast it answers while it is busy.

The JavaScript is the built page's entry with everything it imports at once, packed as the server
packs it; what is loaded later (charts, other pages) does not count. Interaction to next paint is
measured in Chromium by `web/e2e/tools/speed.ts`: the worst of typing, clicking and opening a menu
while fifty events a second arrive, in a young conversation and in one of 500 messages.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import orjson

from bench.processes import MEASURED, OTHERS, ROOT
from bench.report import Report, Row, below, say

_WEB = ROOT / "web"
_BUILT = ROOT / "libs/dataagent-server/dataagent_server/web"
_ENTRY = re.compile(r'<script[^>]*type="module"[^>]*src="/assets/([^"]+\.js)"')
_IMPORT = re.compile(r"""(?:from|import)\s*["'`]\./([\w.-]+\.js)["'`]""")
_PACKING_LEVEL = 9
_SIZE = below(250)
_PAINT = below(200)
_SCENES = {"streaming": "50 events/s", "long": "50 events/s in 500 messages"}


def run(report: Report) -> None:
    """Measure both and report them."""
    say("(l) the web app is built")
    _npm("run", "--silent", "build")
    sizes = first_load(_BUILT)
    report.keep("l", "first load", **sizes)
    loaded = sum(sizes.values()) / 1000
    report.add(Row("l", "JavaScript of a first visit, packed", loaded, unit="KB", target=_SIZE))
    say("(l) interactions while events arrive")
    for scene, found in _interactions(is_quick=report.options.is_quick).items():
        report.keep("l", scene, **found)
        name = f"interaction to next paint, worst, {_SCENES[scene]}"
        note = f"median {found['median']:.0f} ms of {found['count']}"
        report.add(Row("l", name, found["worst"], unit="ms", target=_PAINT, note=note))


def first_load(built: Path) -> dict[str, int]:
    """Bytes of each script that the page needs before it can show anything."""
    entries = _ENTRY.findall((built / "index.html").read_text(encoding="utf-8"))
    waiting, sizes = list(entries), dict[str, int]()
    while waiting:
        name = waiting.pop()
        if name in sizes:
            continue
        code = (built / "assets" / name).read_bytes()
        sizes[name] = len(gzip.compress(code, _PACKING_LEVEL))
        waiting += _IMPORT.findall(code.decode())
    if not sizes:
        raise RuntimeError(f"{built / 'index.html'} names no script. Build it: make web.")
    return sizes


def _interactions(*, is_quick: bool) -> dict[str, dict[str, Any]]:  # Any: numbers of a JSON file
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "speed.json"
        turns = "50" if is_quick else "250"
        _npm(
            *("exec", "--no", "--", "playwright", "test", "--project=speed", "--reporter=line"),
            DATAAGENT_SPEED_FILE=str(file),
            DATAAGENT_SPEED_TURNS=turns,
        )
        return orjson.loads(file.read_bytes())


def _npm(*args: str, **env: str) -> None:
    """Run one of the web app's programs, on both cores as a user's machine would."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is missing. Install Node.js 20 or newer.")
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {MEASURED, OTHERS})
    try:
        ended = subprocess.run(
            [npm, *args],
            check=False,
            cwd=_WEB,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        os.sched_setaffinity(0, own)
    if ended.returncode != 0:
        raise RuntimeError(f"npm {' '.join(args)} failed:\n{ended.stdout[-2000:]}")
