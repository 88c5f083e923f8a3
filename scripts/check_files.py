"""No committed file names a package index or a path of one machine, or is a database, key or log.

Which index answers is a setting of the machine, so lock files carry versions and checksums but no
download address. Databases, keys, process locks and logs are left by a running product.
No line of Python is longer than 100 characters: ruff lets pass what ends in a comment for a tool.
Run as `python -m scripts.check_files`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.tree import ROOT, project_files

_HOSTS = "|".join(  # written in two parts so that this file passes its own check
    prefix + r"\." + suffix
    for prefix, suffix in [
        ("pypi", "org"),
        ("files.pythonhosted", "org"),
        ("registry.npmjs", "org"),
        ("registry.yarnpkg", "com"),
        ("deb.debian", "org"),
    ]
)
_MACHINE_PATH = "a path of one machine"
_FORBIDDEN_TEXT = {
    "a package registry's address": re.compile(rf"https?://[^\s/\"']*(?:{_HOSTS})"),
    "an index setting": re.compile(
        r"(?:index-url|find-links|\bregistry|\[\[?tool\.uv\.index)\s*=?\s*[\"']?(?:https?|file)://"
    ),
    "a download address in a lock file": re.compile(r"\"resolved\"\s*:\s*\"https?://"),
    _MACHINE_PATH: re.compile(r"(?<![\w.~/:$}])/(?:home|Users|root|work|farm|mnt)/[A-Za-z0-9]"),
}
MOST_CHARACTERS = 100
"""Of a line of Python."""
_PROSE = {".md"}
"""Where such a path may be named."""
_LOCKS_WITH_ADDRESSES = {"uv.lock", "poetry.lock", "yarn.lock", "pnpm-lock.yaml", "Pipfile.lock"}
_LEFT_BY_A_RUN = {
    **dict.fromkeys((".db", ".duckdb", ".sqlite", ".sqlite3", ".db-wal", ".db-shm"), "a database"),
    **dict.fromkeys((".pem", ".key", ".p12"), "a key or certificate"),
    **dict.fromkeys((".lock", ".pid"), "a process's lock file"),
    ".log": "a log",
}
_FIRST_BYTES = {
    b"SQLite format 3\0": "a database",
    b"-----BEGIN ": "a key or certificate",
}


def problems(path: Path) -> Iterator[str]:
    """The problems of a file, a sentence each."""
    if path.name in _LOCKS_WITH_ADDRESSES:
        yield f"{path}: {path.name} records download addresses; the pins are in constraints.txt"
        return
    content = path.read_bytes()
    kind = _LEFT_BY_A_RUN.get(path.suffix) or _kind_of(content)
    if kind is not None:
        yield f"{path}: {kind} is not committed"
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if path.suffix == ".py" and len(line) > MOST_CHARACTERS:
            yield f"{path}:{number}: {len(line)} characters, where {MOST_CHARACTERS} are allowed"
        for name, pattern in _FORBIDDEN_TEXT.items():
            is_prose = name == _MACHINE_PATH and path.suffix in _PROSE
            if pattern.search(line) and not is_prose:
                yield f"{path}:{number}: {name}"


def _kind_of(content: bytes) -> str | None:
    return next((kind for start, kind in _FIRST_BYTES.items() if content.startswith(start)), None)


def main() -> int:
    """Print every such place; 1 if there is any."""
    found = [line for path in project_files() for line in problems(path)]
    print("\n".join(line.replace(f"{ROOT}/", "") for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
