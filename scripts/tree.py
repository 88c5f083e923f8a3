"""Which files belong to the project: what git tracks or would track, or the folder without git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB_SCHEMA = ROOT / "web/src/api/schema.d.ts"
WEB_EVENTS = ROOT / "web/src/events/schema.d.ts"
"""Both are written by `web_schema.py`."""
_BUILT = {"node_modules", "__pycache__", "dist", "build"}
_NOT_OURS = {".git", ".venv", ".mcp-servers", ".hypothesis"} | _BUILT
_WEB_APP = ("dataagent_server", "web")
"""The folder that the web app is built into."""


def project_files(root: Path = ROOT) -> list[Path]:
    """All files of the project that exist, sorted."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        paths = (root / name for name in listing.stdout.split("\0") if name)
    else:
        paths = _walk(root)
    return sorted(path for path in paths if path.is_file())


def python_files(root: Path = ROOT) -> list[Path]:
    """The project's Python files."""
    return [path for path in project_files(root) if path.suffix == ".py"]


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not _is_built(path):
            yield from _walk(path)
        elif path.is_file():
            yield path


def _is_built(folder: Path) -> bool:
    is_not_ours = folder.name in _NOT_OURS or folder.name.endswith("_cache")
    return is_not_ours or folder.parts[-2:] == _WEB_APP
