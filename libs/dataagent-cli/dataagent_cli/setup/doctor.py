"""`dataagent doctor`: looks at everything the terminal needs, one line each, and how to mend it.

Above: `dispatch.py`. Below: `checks.py`, and core's `app/doctor.py`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import orjson

from dataagent_cli import exit_codes
from dataagent_cli.failures import explain
from dataagent_cli.setup import checks
from dataagent_cli.setup.settings import load_settings
from dataagent_core.app import doctor as checkup
from dataagent_core.app.doctor import Check, Diagnostic

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.streams import Streams
    from dataagent_core.config import Settings

_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


async def doctor(options: CliOptions, streams: Streams) -> int:
    """Look at everything and print it; 1 if something that must work does not."""
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
        "versions": checks.versions,
        "configuration file": checks.config_file,
        "data directory": checkup.data_directory,
        "database": checkup.database,
        "tables": checkup.tables,
        "model": checks.model,
        "sandbox": checkup.sandbox,
        "MCP servers": checks.mcp_servers,
        "terminal": lambda _: checks.terminal_of(streams),
        "git": checks.git,
        "clock": checks.clock,
    }
    return await checkup.run_checks(settings, these, seconds=checks.MCP_SECONDS + 5)


def _as_text(finding: Diagnostic, *, has_marks: bool) -> str:
    mark = _MARKS[finding.level] if has_marks else f"{finding.level:<4}"
    line = f"{mark} {finding.what}: {finding.found}"
    return line if finding.hint is None else f"{line}\n{' ' * len(mark)} hint: {finding.hint}"
