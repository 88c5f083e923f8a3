"""`dataagent-server doctor`: checks everything a server needs, one line each, with a hint.

The checks that all programs share are in `dataagent_core.app.doctor`.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import asdict
from typing import Any

import orjson

from dataagent_core.app import doctor as checkup
from dataagent_core.app.doctor import Check, Diagnostic
from dataagent_core.errors import DataAgentError
from dataagent_server.config import ServerSettings, load_settings

_SETTINGS_PAGE = "docs/reference/settings.md lists every setting."


def doctor(given: dict[str, Any], *, is_json: bool = False) -> int:
    """Run all checks and print them; 1 if the server could not work."""
    findings = asyncio.run(_run_checks(given))
    for each in findings:
        _say(orjson.dumps(asdict(each)).decode() if is_json else _as_text(each))
    return 1 if any(each.level == "fail" for each in findings) else 0


async def _run_checks(given: dict[str, Any]) -> list[Diagnostic]:
    try:
        settings = load_settings(**given)
    except DataAgentError as error:
        return [Diagnostic("fail", "configuration", error.message, _SETTINGS_PAGE)]
    valid = Diagnostic("ok", "configuration", "all settings are valid")
    return [valid, *await checkup.run_checks(settings, _CHECKS)]


# -- checks ---------------------------------------------------------------------------------


async def _redis(settings: ServerSettings) -> Diagnostic:
    if settings.redis_url is None:
        if settings.workers > 1 or settings.store_kind == "redis":
            hint = "set DATAAGENT_REDIS_URL, for example redis://127.0.0.1:6379/0."
            return Diagnostic("fail", "redis", "needed and not set", hint)
        return Diagnostic("ok", "redis", "not used: one process")
    from dataagent_core.storage.redis import open_redis

    space = open_redis(settings.redis_url.get_secret_value())
    try:
        await space.command("PING")
        return Diagnostic("ok", "redis", "answers")
    finally:
        await space.close()


def _model(settings: ServerSettings) -> Diagnostic:
    name = settings.default_model
    settings.create_model()
    if name in ("offline", "scripted"):
        hint = "for a real model set ANTHROPIC_API_KEY or OPENAI_API_KEY, and DATAAGENT_MODEL."
        return Diagnostic(
            "warn", "model", f"{name}: answers by rule, without a language model", hint
        )
    return Diagnostic("ok", "model", f"{name}; its key is set, but was not tried")


async def _sandbox(settings: ServerSettings) -> Diagnostic:
    found = await checkup.sandbox(settings)
    return found if found.hint else _shell(settings) or found


def _shell(settings: ServerSettings) -> Diagnostic | None:
    """A warning that the shell is off because nothing isolates it; None if it is not wanted."""
    if not settings.enable_shell or settings.has_shell:
        return None
    hint = "set DATAAGENT_SANDBOX=auto to run commands in it, or DATAAGENT_ENABLE_SHELL=false."
    return Diagnostic(
        "warn", "sandbox", "agents have no shell: on a server it needs a sandbox", hint
    )


def _port(settings: ServerSettings) -> Diagnostic:
    what, place = "port", f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((settings.host, settings.port))
        except OSError as error:
            hint = "a server may be running there already; else set DATAAGENT_PORT or stop it."
            return Diagnostic("fail", what, f"{place}: {error.strerror or error}", hint)
    return Diagnostic("ok", what, f"{place} is free")


def _authentication(settings: ServerSettings) -> Diagnostic:
    what = "authentication"
    if settings.auth_disabled:
        hint = "for more than a trial, set DATAAGENT_AUTH_DISABLED=false."
        return Diagnostic("warn", what, "off: everyone on this machine is an administrator", hint)
    count = len(settings.api_keys) + len(settings.admin_api_keys)
    return Diagnostic("ok", what, f"on, with {count} deployment keys")


_CHECKS: dict[str, Check[ServerSettings]] = {
    "data directory": checkup.data_directory,
    "database": checkup.database,
    "tables": checkup.tables,
    "redis": _redis,
    "model": _model,
    "sandbox": _sandbox,
    "authentication": _authentication,
    "port": _port,
}


def _as_text(finding: Diagnostic) -> str:
    line = f"{finding.level:<4}  {finding.what}: {finding.found}"
    return line if finding.hint is None else f"{line}\n      hint: {finding.hint}"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
