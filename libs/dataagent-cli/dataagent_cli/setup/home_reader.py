"""Reads names from the data directory for Tab and `--version`, quickly.

The shell asks at every Tab, so neither the core nor SQLAlchemy is loaded: the embedded database is
read with Python's own sqlite3, read-only. What cannot be read has no names.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from importlib.util import find_spec

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from typing import Any

_MOST = 100
_SOURCES = "SELECT name, kind FROM data_sources ORDER BY name LIMIT ?"
_SESSIONS = (
    "SELECT session_id, title FROM sessions WHERE deleted_at IS NULL "
    "ORDER BY last_active DESC LIMIT ?"
)
_VERSION = "SELECT version_num, '' FROM alembic_version LIMIT ?"


def home_of(given: str | None) -> str:
    """The data directory: as given, else the environment's, else the usual one."""
    return os.path.expanduser(given or os.environ.get("DATAAGENT_HOME") or "~/.dataagent")


def sources(home: str) -> dict[str, str]:
    """The names of the data sources, with their kind."""
    return _rows(home, _SOURCES)


def sessions(home: str) -> dict[str, str]:
    """The newest conversations' ids, with their titles."""
    return _rows(home, _SESSIONS)


def newer_tables(home: str) -> str | None:
    """The version of the tables, if a newer DataAgent than this one wrote them."""
    written = next(iter(_rows(home, _VERSION)), None)
    if written is None:
        return None
    spec = find_spec("dataagent_core")
    folder = os.path.dirname((spec and spec.origin) or "")
    steps = os.listdir(f"{folder}/storage/migrations/versions")
    known = {name[:4] for name in steps}
    return None if written in known else written


def _rows(home: str, statement: str) -> dict[str, str]:
    from urllib.request import pathname2url

    url = f"file:{pathname2url(home)}/dataagent.db?mode=ro"
    try:
        with closing(sqlite3.connect(url, uri=True, timeout=0.2)) as database:
            rows: list[Any] = database.execute(statement, (_MOST,)).fetchall()
    except (sqlite3.Error, OSError):
        return {}
    return {str(name): str(about) for name, about in rows}
