"""Checks that every program needs: the data directory, the database, the sandbox.

A check returns a `Diagnostic`; an unexpected failure of one is a finding too. Nothing is started or
changed, except that the data directory is created and closed to other users, as at a start.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from dataagent_core.config import Settings
from dataagent_core.errors import DataAgentError
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import check_known, revision_of, steps_after
from dataagent_core.telemetry import Scrubber, known_secrets

Level = Literal["ok", "warn", "fail"]
S = TypeVar("S", bound=Settings)
_SECONDS = 10.0
_MIN_FREE_BYTES = 1024**3
_HINTS = {
    "database": "start it, and see that DATAAGENT_DATABASE_URL points to it.",
    "tables": "see the finding about the database.",
    "redis": "start it, and see that DATAAGENT_REDIS_URL points to it.",
    "model": "set DATAAGENT_MODEL and the provider's key, or leave both for the offline model.",
}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """The result of a check."""

    level: Level
    what: str
    found: str
    hint: str | None = None


Check = Callable[[S], Diagnostic | Awaitable[Diagnostic]]


async def run_checks(
    settings: S, checks: Mapping[str, Check[S]], *, seconds: float = _SECONDS
) -> list[Diagnostic]:
    """Run all checks, one after another; the findings contain no secret of the settings.

    A check that takes longer than so many seconds has failed.
    """
    scrubber = Scrubber(known_secrets(settings))
    findings: list[Diagnostic] = []
    for what, check in checks.items():
        found = await _run_check(what, check, settings, seconds)
        findings.append(Diagnostic(found.level, what, scrubber.text(found.found), found.hint))
    return findings


async def _run_check(what: str, check: Check[S], settings: S, seconds: float) -> Diagnostic:
    try:
        async with asyncio.timeout(seconds):
            found = check(settings)
            return await found if isinstance(found, Awaitable) else found
    except TimeoutError:
        return Diagnostic("fail", what, f"no answer within {seconds:g} seconds", _HINTS.get(what))
    except DataAgentError as error:
        own = (error.details or {}).get("hint")
        return Diagnostic("fail", what, error.message, str(own) if own else _HINTS.get(what))
    except OSError as error:
        found = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return Diagnostic("fail", what, found, _HINTS.get(what))
    except Exception as error:  # a check must not keep the others from being done
        return Diagnostic("fail", what, f"{type(error).__name__}: {error}", _HINTS.get(what))


def data_directory(settings: Settings) -> Diagnostic:
    """It exists, only its owner can read it, and it has free space."""
    what, path = "data directory", settings.home_dir
    was_open = path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    try:
        settings.ensure_home()
    except OSError as error:
        hint = "set DATAAGENT_HOME to a directory this user may write to."
        return Diagnostic("fail", what, f"{path}: {error.strerror}", hint)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Diagnostic(
            "fail", what, f"{path} cannot be written to", f"chown it to {os.getuid()}."
        )
    if was_open:
        hint = "change the keys and passwords in it if someone else may have read them."
        return Diagnostic("warn", what, f"{path} was open to other users; now it is not", hint)
    free = shutil.disk_usage(path).free
    if free < _MIN_FREE_BYTES:
        hint = "results, uploads and the database are stored there; free some space."
        return Diagnostic("warn", what, f"{path} has {free // 1024**2} MiB left", hint)
    return Diagnostic("ok", what, str(path))


async def database(settings: Settings) -> Diagnostic:
    """It answers."""
    opened = open_database(settings.sql_url())
    try:
        await opened.ping()
        return Diagnostic("ok", "database", f"{opened.dialect} answers")
    finally:
        await opened.close()


async def tables(settings: Settings) -> Diagnostic:
    """They are those of this version; if not, what the next start does to them."""
    opened = open_database(settings.sql_url())
    try:
        revision = await revision_of(opened)
    finally:
        await opened.close()
    check_known(revision)
    if revision is None:
        return Diagnostic("ok", "tables", "none yet; the first start makes them")
    if steps := steps_after(revision):
        hint = "the next start does it, or now `dataagent-server migrate`; nothing is lost."
        found = f"not up to date; to be done: {'; '.join(steps)}"
        return Diagnostic("warn", "tables", found, hint)
    return Diagnostic("ok", "tables", "up to date")


async def sandbox(settings: Settings) -> Diagnostic:
    """Whether agents' code can run, and behind which wall."""
    from dataagent_core.sandbox.factory import first_wall, wall_problem

    what = "sandbox"
    if settings.sandbox == "off":
        return Diagnostic("ok", what, "off: agents run no code")
    problem = await wall_problem(settings)
    if problem is not None:
        level: Level = "warn" if settings.sandbox is None else "fail"
        hint = "docs/guides/sandbox.md; DATAAGENT_SANDBOX=off does without."
        return Diagnostic(level, what, f"agents run no code. {problem}", hint)
    return Diagnostic("ok", what, f"agents' code runs behind {await first_wall(settings)}")
