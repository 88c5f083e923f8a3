"""`/init`: writes AGENTS.md, a file about this project that agents read.

A model writes it after reading the folder and the data. The offline model cannot, so then the
terminal lists what it finds. An existing file is not replaced.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands.conversation import write_new
from dataagent_cli.commands.registry import CommandContext, CommandOutcome, command
from dataagent_cli.input.mentions import tables_of_sources
from dataagent_cli.project import git_output, working_folder
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    from dataagent_cli.data.context import DataCommandContext

FILE = "AGENTS.md"
_MOST_ENTRIES = 40
_MOST_TABLES = 40
_OFFLINE = "offline"
_TASK = f"""Write {FILE} for this project. Look at the folder first: list it, read the README and
the files that say how it is built and tested. Look at the data sources and their tables. Then write
{FILE} with: what the project is, how it is organised, the commands to build, test and run it, the
data sources with what their main tables hold, and the conventions to keep to. Be short and exact,
at most 80 lines; leave out what you have not seen."""


@command("init", f"write {FILE} about this project", group="agent", is_local=True)
async def write_agents_file(context: CommandContext, wish: str) -> CommandOutcome:
    """Write the file, or let the agent do it."""
    data_context = context.require_local("init").data
    folder = working_folder()
    if not folder.is_dir():
        raise BadInput(
            "This folder no longer exists.", details={"hint": "start dataagent in another."}
        )
    file = folder / FILE
    if file.exists():
        context.view.note(f"{file} exists already\nhint: ask the agent to change it.")
        return CommandOutcome()
    if await context.conversation.model() != _OFFLINE:
        return CommandOutcome(message=f"{_TASK}\n\n{wish}".strip())
    text = await asyncio.to_thread(_describe_folder, folder) + await _describe_data(data_context)
    await asyncio.to_thread(write_new, str(file), text)
    context.view.note(f"wrote {file}: the folder and the data; a model would write more")
    return CommandOutcome()


def _describe_folder(folder: Path) -> str:
    """The README's first lines, the folder's entries, the Git branch."""
    entries = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    lines = [f"# {folder.name}", ""]
    readme = next((each for each in entries if each.name.lower().startswith("readme")), None)
    if readme is not None and readme.is_file():
        lines += [_first_lines(readme), ""]
    lines += ["## Folder", ""]
    lines += [f"- `{each.name}{'/' if each.is_dir() else ''}`" for each in entries[:_MOST_ENTRIES]]
    if len(entries) > _MOST_ENTRIES:
        lines.append(f"- … {len(entries) - _MOST_ENTRIES} more")
    branch = (git_output(folder, "branch", "--show-current") or "").strip()
    remote = (git_output(folder, "remote", "get-url", "origin") or "").strip()
    if branch:
        origin = f" of {remote}" if remote and "@" not in remote.split("//")[-1] else ""
        lines += ["", "## Git", "", f"- branch `{branch}`{origin}"]
    return "\n".join(lines) + "\n"


def _first_lines(readme: Path) -> str:
    text = readme.read_text(encoding="utf-8", errors="replace")[:4000]
    parts = [part.strip() for part in text.split("\n\n") if part.strip()]
    return next((part for part in parts if not part.startswith(("#", "!", "<", "["))), "")


async def _describe_data(data_context: DataCommandContext) -> str:
    """The data sources with their tables."""
    tables: dict[str, list[str]] = {}
    for each in await tables_of_sources(data_context)():
        tables.setdefault(each.source, []).append(each.table.name)
    lines = [
        f"- `{name}`: {', '.join(names[:_MOST_TABLES])}"
        + (f" … {len(names) - _MOST_TABLES} more" if len(names) > _MOST_TABLES else "")
        for name, names in tables.items()
    ]
    return "\n".join(["", "## Data sources", "", *lines, ""]) if lines else ""
