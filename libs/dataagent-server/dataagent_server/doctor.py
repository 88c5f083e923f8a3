"""`dataagent-server doctor`: looks at everything a server needs, one line each, and how to mend it.

It starts nothing and changes nothing but for making the data directory, as a start would. Above:
`cli.py`. Each check is a function that gives a `Finding`; one that fails in a way nobody thought of
is a finding too.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import orjson

from dataagent_core.errors import DataAgentError
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import pending
from dataagent_core.telemetry import Scrubber, known_secrets
from dataagent_server.config import ServerSettings, load_settings

Level = Literal["ok", "warn", "fail"]
_SECONDS = 10.0
_LITTLE_ROOM = 1024**3
_SETTINGS_PAGE = "docs/reference/settings.md lists every setting."


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at and how it is."""

    level: Level
    what: str
    found: str
    hint: str | None = None


Check = Callable[[ServerSettings], Finding | Awaitable[Finding]]


def doctor(given: dict[str, Any], *, is_json: bool = False) -> int:
    """Look at everything and print it; 1 if the server could not work."""
    findings = asyncio.run(_examined(given))
    for each in findings:
        _say(orjson.dumps(asdict(each)).decode() if is_json else _as_text(each))
    return 1 if any(each.level == "fail" for each in findings) else 0


async def _examined(given: dict[str, Any]) -> list[Finding]:
    try:
        settings = load_settings(**given)
    except DataAgentError as error:
        return [Finding("fail", "configuration", error.message, _SETTINGS_PAGE)]
    findings = [Finding("ok", "configuration", "every setting fits")]
    scrubber = Scrubber(known_secrets(settings))
    for what, check in _CHECKS.items():
        found = await _looked_at(what, check, settings)
        findings.append(Finding(found.level, what, scrubber.text(found.found), found.hint))
    return findings


async def _looked_at(what: str, check: Check, settings: ServerSettings) -> Finding:
    try:
        async with asyncio.timeout(_SECONDS):
            found = check(settings)
            return await found if isinstance(found, Awaitable) else found
    except TimeoutError:
        return Finding("fail", what, f"no answer within {_SECONDS:g} seconds")
    except DataAgentError as error:
        return Finding("fail", what, error.message, _HINTS.get(what))
    except Exception as error:  # a check must not keep the others from being done
        return Finding("fail", what, f"{type(error).__name__}: {error}", _HINTS.get(what))


_HINTS = {
    "database": "start it, and see that DATAAGENT_DATABASE_URL points to it.",
    "redis": "start it, and see that DATAAGENT_REDIS_URL points to it.",
    "model": "set DATAAGENT_MODEL and the provider's key, or leave both for the offline model.",
}


# -- checks ---------------------------------------------------------------------------------


def _home(settings: ServerSettings) -> Finding:
    what, path = "data directory", settings.home_dir
    try:
        settings.ensure_home()
    except OSError as error:
        hint = "set DATAAGENT_HOME to a directory this user may write to."
        return Finding("fail", what, f"{path}: {error.strerror}", hint)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Finding("fail", what, f"{path} cannot be written to", f"chown it to {os.getuid()}.")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Finding("warn", what, f"{path} is open to other users", f"chmod 700 {path}")
    free = shutil.disk_usage(path).free
    if free < _LITTLE_ROOM:
        hint = "results, uploads and the database go there; make room."
        return Finding("warn", what, f"{path} has {free // 1024**2} MiB left", hint)
    return Finding("ok", what, str(path))


async def _database(settings: ServerSettings) -> Finding:
    database = open_database(settings.sql_url())
    try:
        await database.ping()
        return Finding("ok", "database", f"{database.dialect} answers")
    finally:
        await database.close()


async def _migrations(settings: ServerSettings) -> Finding:
    database = open_database(settings.sql_url())
    try:
        if await pending(database):
            hint = "they are made at the next start, or now by `dataagent-server migrate`."
            return Finding("warn", "tables", "not up to date", hint)
        return Finding("ok", "tables", "up to date")
    finally:
        await database.close()


async def _redis(settings: ServerSettings) -> Finding:
    if settings.redis_url is None:
        if settings.workers > 1 or settings.store_kind == "redis":
            hint = "set DATAAGENT_REDIS_URL, for example redis://127.0.0.1:6379/0."
            return Finding("fail", "redis", "needed and not set", hint)
        return Finding("ok", "redis", "not used: one process")
    from dataagent_core.storage.redis import open_redis

    space = open_redis(settings.redis_url.get_secret_value())
    try:
        await space.command("PING")
        return Finding("ok", "redis", "answers")
    finally:
        await space.close()


def _model(settings: ServerSettings) -> Finding:
    name = settings.default_model
    settings.create_model()
    if name in ("offline", "scripted"):
        hint = "for a real model set ANTHROPIC_API_KEY or OPENAI_API_KEY, and DATAAGENT_MODEL."
        return Finding("warn", "model", f"{name}: answers by rule, without a language model", hint)
    return Finding("ok", "model", f"{name}; its key is set, whether it is valid shows in use")


async def _sandbox(settings: ServerSettings) -> Finding:
    from dataagent_core.sandbox.factory import first_wall, wall_problem

    what = "sandbox"
    if settings.sandbox == "off":
        return _shell(settings) or Finding("ok", what, "off: agents run no code")
    problem = await wall_problem(settings)
    if problem is not None:
        level: Level = "warn" if settings.sandbox is None else "fail"
        hint = "docs/guides/sandbox.md; DATAAGENT_SANDBOX=off does without."
        return Finding(level, what, f"agents run no code. {problem}", hint)
    return _shell(settings) or Finding(
        "ok", what, f"agents' code runs behind {await first_wall(settings)}"
    )


def _shell(settings: ServerSettings) -> Finding | None:
    """What to say of a shell that is asked for and has no wall around it: then it is off."""
    if not settings.enable_shell or settings.has_shell:
        return None
    hint = "set DATAAGENT_SANDBOX=auto to run commands in it, or DATAAGENT_ENABLE_SHELL=false."
    return Finding("warn", "sandbox", "agents have no shell: on a server it needs a sandbox", hint)


def _port(settings: ServerSettings) -> Finding:
    what, place = "port", f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((settings.host, settings.port))
        except OSError as error:
            hint = "a server may be running there already; else set DATAAGENT_PORT or stop it."
            return Finding("fail", what, f"{place}: {error.strerror or error}", hint)
    return Finding("ok", what, f"{place} is free")


def _authentication(settings: ServerSettings) -> Finding:
    what = "authentication"
    if settings.auth_disabled:
        hint = "for more than a trial, set DATAAGENT_AUTH_DISABLED=false."
        return Finding("warn", what, "off: everyone on this machine is an administrator", hint)
    count = len(settings.api_keys) + len(settings.admin_api_keys)
    return Finding("ok", what, f"on, with {count} deployment keys")


_CHECKS: dict[str, Check] = {
    "data directory": _home,
    "database": _database,
    "tables": _migrations,
    "redis": _redis,
    "model": _model,
    "sandbox": _sandbox,
    "authentication": _authentication,
    "port": _port,
}


def _as_text(finding: Finding) -> str:
    line = f"{finding.level:<4}  {finding.what}: {finding.found}"
    return line if finding.hint is None else f"{line}\n      hint: {finding.hint}"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
