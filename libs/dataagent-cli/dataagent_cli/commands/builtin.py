"""The table of commands, in the order of `/help`."""

from __future__ import annotations

from dataagent_cli.commands.agents import AGENTS
from dataagent_cli.commands.compact import COMPACT
from dataagent_cli.commands.context import CONTEXT
from dataagent_cli.commands.copy import COPY
from dataagent_cli.commands.cost import COST
from dataagent_cli.commands.editor import EDITOR
from dataagent_cli.commands.help import HELP
from dataagent_cli.commands.mode import MODE
from dataagent_cli.commands.model import MODEL
from dataagent_cli.commands.new import NEW
from dataagent_cli.commands.quit import QUIT
from dataagent_cli.commands.registry import Command, Commands
from dataagent_cli.commands.rename import RENAME
from dataagent_cli.commands.retry import RETRY
from dataagent_cli.commands.sessions import RESUME, SESSIONS
from dataagent_cli.commands.skills import SKILLS
from dataagent_cli.commands.tools import TOOLS
from dataagent_cli.commands.undo import UNDO

_TALK = (NEW, SESSIONS, RESUME, RENAME, RETRY, UNDO, COMPACT, CONTEXT, COST)
_AGENT = (MODE, MODEL, AGENTS, SKILLS, TOOLS)
_TERMINAL = (HELP, EDITOR, COPY, QUIT)


def builtin_commands(*more: Command) -> Commands:
    """The commands of a conversation, and more that need something at hand, such as data."""
    return Commands((*_TALK, *_AGENT, *more, *_TERMINAL))
