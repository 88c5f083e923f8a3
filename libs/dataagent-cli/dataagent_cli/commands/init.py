"""`/init`: a file that tells agents about this project, AGENTS.md.

A model looks at the folder and the data and writes it; the offline model cannot, so there the
terminal writes down what it sees itself. A file that is there is not replaced.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from dataagent_cli.commands.conversation import write_new
from dataagent_cli.commands.registry import Command, CommandContext, CommandOutcome
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


def init_command(data_context: DataCommandContext | None) -> Command:
    """The command; without a desk the data is left to the agent."""

    async def run(context: CommandContext, wish: str) -> CommandOutcome:
        folder = working_folder()
        if not folder.is_dir():
            raise BadInput("This folder is gone.", details={"hint": "start dataagent in another."})
        file = folder / FILE
        if file.exists():
            context.view.note(f"{file} is there already\nhint: ask for what it should say as well.")
            return CommandOutcome()
        if await context.conversation.model() != _OFFLINE:
            return CommandOutcome(message=f"{_TASK}\n\n{wish}".strip())
        text = await asyncio.to_thread(_described, folder) + await _data(data_context)
        await asyncio.to_thread(write_new, str(file), text)
        context.view.note(f"wrote {file} from what is here; no model is set up to say more")
        return CommandOutcome()

    return Command("init", f"write {FILE} about this project", run, group="agent")


def _described(folder: Path) -> str:
    """The folder in words: its README's first lines, its entries, what git knows."""
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


async def _data(data_context: DataCommandContext | None) -> str:
    """The data sources with their tables."""
    if data_context is None:
        return ""
    tables: dict[str, list[str]] = {}
    for each in await tables_of_sources(data_context)():
        tables.setdefault(each.source, []).append(each.table.name)
    lines = [
        f"- `{name}`: {', '.join(names[:_MOST_TABLES])}"
        + (f" … {len(names) - _MOST_TABLES} more" if len(names) > _MOST_TABLES else "")
        for name, names in tables.items()
    ]
    return "\n".join(["", "## Data sources", "", *lines, ""]) if lines else ""
