"""Which files belong to the project: what git tracks or would track, or the folder without git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NOT_OURS = {".git", ".venv", "node_modules", "__pycache__", "dist", "build", ".hypothesis"}


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
        if path.is_dir() and path.name not in _NOT_OURS and not path.name.endswith("_cache"):
            yield from _walk(path)
        elif path.is_file():
            yield path
