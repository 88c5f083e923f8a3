"""`dataagent doctor`: checks everything the terminal needs, a line each with a hint."""

from __future__ import annotations

import asyncio
import difflib
import platform
import shutil
import stat
import time
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from dataagent_cli import exit_codes
from dataagent_cli.failures import explain
from dataagent_cli.mcp.config_files import ConfigLocation, config_locations
from dataagent_cli.mcp.servers import TRUST_FILE
from dataagent_cli.mcp.trust import Trust
from dataagent_cli.project import working_folder
from dataagent_cli.setup.model_check import NO_NETWORK, try_model
from dataagent_cli.setup.settings import load_settings
from dataagent_cli.ui.clean import one_line
from dataagent_core.app import doctor as checkup
from dataagent_core.app.doctor import Check, Diagnostic
from dataagent_core.config.settings import read_config
from dataagent_core.mcp.servers.config_files import read_config_file
from dataagent_core.mcp.wire import OpenFailed, SessionSignals, Stderr, WireLimits, open_session
from dataagent_core.network import HostPolicy

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.streams import Streams
    from dataagent_core.config import Settings
    from dataagent_core.mcp.types import ServerSpec


_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


async def doctor(options: CliOptions, streams: Streams) -> int:
    """Run and print all checks; return 1 if one fails."""
    findings = await _run_checks(options, streams)
    has_marks = (streams.out.encoding or "").lower().startswith("utf")
    for each in findings:
        line = orjson.dumps(asdict(each)).decode()
        streams.print(line if options.as_json else _as_text(each, has_marks=has_marks))
    return exit_codes.FAILED if any(each.level == "fail" for each in findings) else exit_codes.OK


async def _run_checks(options: CliOptions, streams: Streams) -> list[Diagnostic]:
    try:
        settings = load_settings(options)
    except Exception as error:
        failure = explain(error)
        return [Diagnostic("fail", "configuration", failure.message, failure.hint)]
    these: dict[str, Check[Settings]] = {
        "versions": check_versions,
        "configuration file": check_config_file,
        "data directory": checkup.data_directory,
        "database": checkup.database,
        "tables": checkup.tables,
        "model": check_model,
        "sandbox": checkup.sandbox,
        "MCP servers": check_mcp_servers,
        "terminal": lambda _: check_terminal(streams),
        "git": check_git,
        "clock": check_clock,
    }
    return await checkup.run_checks(settings, these, seconds=MCP_SECONDS + 5)


def _as_text(finding: Diagnostic, *, has_marks: bool) -> str:
    mark = _MARKS[finding.level] if has_marks else f"{finding.level:<4}"
    line = f"{mark} {finding.what}: {finding.found}"
    return line if finding.hint is None else f"{line}\n{' ' * len(mark)} hint: {finding.hint}"


_PACKAGES = ("dataagent-cli", "dataagent-core", "deepagents", "langchain-core", "langgraph")
_MODEL_SECONDS = 8.0
MCP_SECONDS = 30.0
_INIT = "dataagent init chooses another model and key."


def check_versions(settings: Settings) -> Diagnostic:
    """Check that the packages have the same version."""
    del settings
    found = {name: version(name) for name in _PACKAGES}
    text = f"Python {platform.python_version()}, "
    text += ", ".join(f"{name} {number}" for name, number in found.items())
    if found["dataagent-cli"] != found["dataagent-core"]:
        hint = "install the same version of both: pip install -U dataagent-cli dataagent-core"
        return Diagnostic("warn", "versions", text, hint)
    return Diagnostic("ok", "versions", text)


def check_config_file(settings: Settings) -> Diagnostic:
    """Check that the file is TOML with known names, and private."""
    what, path = "configuration file", settings.config_path
    if not path.exists():
        return Diagnostic("ok", what, f"{path} does not exist; dataagent init writes it")
    names = type(settings).model_fields
    for name in read_config(path):
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "docs/reference/settings.md lists all."
            return Diagnostic("warn", what, f"{path}: the terminal has no setting {name!r}", hint)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Diagnostic("warn", what, f"{path} can be read by other users", f"chmod 600 {path}")
    return Diagnostic("ok", what, str(path))


async def check_model(settings: Settings) -> Diagnostic:
    """Check that the model answers with the configured key."""
    name = settings.default_model
    await try_model(settings, seconds=_MODEL_SECONDS)
    if name in NO_NETWORK:
        found = f"{name}: answers by rule, without a language model"
        return Diagnostic("warn", "model", found, _INIT)
    return Diagnostic("ok", "model", f"{name} answers")


# -- MCP servers ----------------------------------------------------------------------------------


async def check_mcp_servers(settings: Settings) -> Diagnostic:
    """Check that the files of servers can be read, and that each server connects."""
    files = config_locations(
        agents_home=settings.agents_home.expanduser(),
        assistant_id="agent",
        folder=working_folder(),
        named=None,
    )
    problems: list[str] = []
    servers: list[ServerSpec] = []
    for place in files:
        if _is_untrusted(place, settings):
            problems.append(f"{place.path.name} of this folder is not trusted yet and not tried")
            continue
        file = read_config_file(place.path, expand=True, timeout_seconds=settings.mcp_timeout)
        problems += file.problems
        servers += [each for each in file.servers if not each.disabled]
    failures = [each for each in await asyncio.gather(*map(_connect_problem, servers)) if each]
    problems += failures
    count = f"{len(servers) - len(failures)} of {len(servers)} connect"
    if problems:
        hint = "correct the file; /mcp shows the servers in a conversation."
        return Diagnostic("warn", "MCP servers", f"{count}. {'. '.join(problems)}", hint)
    return Diagnostic("ok", "MCP servers", count if servers else "none")


def _is_untrusted(place: ConfigLocation, settings: Settings) -> bool:
    if place.is_trusted or not place.path.is_file():
        return False
    trust = Trust(settings.home_dir / TRUST_FILE)
    return not trust.is_trusted(place.path, place.path.read_bytes())


async def _connect_problem(spec: ServerSpec) -> str | None:
    """Why a server does not connect; None if it does."""
    seconds = min(spec.connect_timeout_seconds, MCP_SECONDS)
    stderr = Stderr()
    try:
        with closing(HostPolicy(allow_all=True)) as hosts:
            async with (
                asyncio.timeout(seconds),
                open_session(
                    spec, hosts=hosts, signals=SessionSignals(), stderr=stderr, limits=WireLimits()
                ) as port,
            ):
                await port.list_tools()
        return None
    except TimeoutError:
        return f"{one_line(spec.name)!r} does not answer within {seconds:g} seconds"
    except OpenFailed as error:
        return f"{one_line(spec.name)!r}: {one_line(error.reason)}"


# -- this machine ---------------------------------------------------------------------------------


def check_terminal(streams: Streams) -> Diagnostic:
    """Check what the terminal can show."""
    from rich.console import Console

    what, out = "terminal", streams.out
    if not out.isatty():
        return Diagnostic("ok", what, "output goes to a file or pipe: plain text")
    console = Console(file=out)
    if console.is_dumb_terminal:
        hint = "set TERM, for example to xterm-256color; until then output is plain text."
        return Diagnostic("warn", what, "dumb: no colour, no keys but Enter", hint)
    encoding = (out.encoding or "").lower()
    if not encoding.startswith("utf"):
        hint = "set LANG, for example to C.UTF-8."
        return Diagnostic("warn", what, f"{encoding} cannot show every character", hint)
    colours = console.color_system or "no"
    return Diagnostic("ok", what, f"{console.width} columns, {colours} colours, {encoding}")


def check_git(settings: Settings) -> Diagnostic:
    """Check that Git is installed, for agents that work in repositories."""
    del settings
    path = shutil.which("git")
    if path is None:
        return Diagnostic("warn", "git", "not found", "install git if agents work in repositories.")
    return Diagnostic("ok", "git", path)


def check_clock(settings: Settings) -> Diagnostic:
    """Check that the clock is not behind the program's own files."""
    youngest = Path(__file__).stat().st_mtime
    database = settings.home_dir / "dataagent.db"
    if database.exists():
        youngest = max(youngest, database.stat().st_mtime)
    now = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    if time.time() < youngest - 60:
        return Diagnostic("warn", "clock", f"{now} is in the past", "set the machine's clock.")
    return Diagnostic("ok", "clock", now)
