"""A conversation at the terminal on the real core: lines in, commands and answers out."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dataagent_cli.commands import LocalContext, builtin_commands
from dataagent_cli.conversation import Conversation
from dataagent_cli.data.context import DataCommandContext
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.input.keyboard import Keyboard
from dataagent_cli.input.mentions import Mentions, tables_of_sources
from dataagent_cli.mcp.servers import TerminalServers
from dataagent_cli.repl import ReplLoop
from dataagent_cli.streams import Streams
from dataagent_cli.turn import TurnRunner
from dataagent_cli.ui import PlainRenderer
from dataagent_core.app.assembly import open_core
from dataagent_core.config import SessionState, Settings
from dataagent_core.identity import Principal
from tests.waiting import WAIT_SECONDS

CTRL_C, CTRL_D = "\x03", "\x04"
DOWN = "\x1b[B"


class ReplRun:
    """What came of it."""

    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.state = SessionState()
        self.sessions = 0
        self.code = -1

    @property
    def said(self) -> str:
        return self.err.getvalue()

    @property
    def answers(self) -> str:
        return self.out.getvalue()


async def run_repl(
    lines: Sequence[str], end: str = CTRL_D, *, can_ask: bool = False, is_auto: bool = False
) -> ReplRun:
    """Type the lines, one after another, and then the keys that end it.

    With `can_ask` small questions are answered by the lines as well.
    """
    made = ReplRun()
    made.state.auto_approve = is_auto
    view = PlainRenderer(made.out, made.err)
    with create_pipe_input() as keys:
        keys.send_text("".join(f"{line}\r" for line in lines) + end)
        handler = TerminalHITLHandler(made.state, is_interactive=False)
        async with asyncio.timeout(WAIT_SECONDS), open_core(Settings()) as core:
            streams = Streams(made.out, made.err, None)
            data_context = DataCommandContext(core.data, "ann", streams)
            person = Principal("ann", "user", "terminal")
            servers = cast("TerminalServers", None)  # no line of these tests uses /mcp
            local = LocalContext(data_context, core.files.memories, person, servers)
            commands = builtin_commands()
            host = LocalHost(core, "ann")
            turns = TurnRunner(host, view=view, handler=handler, state=made.state)
            conversation = Conversation(host, turns, agent=None, state=made.state)
            mentions = Mentions(Path.cwd(), tables_of_sources(data_context))
            output = DummyOutput()
            keyboard = Keyboard(
                InMemoryHistory(),
                LineCompleter(commands, conversation, mentions),
                terminal_input=keys,
                terminal_output=output,
            )
            made.code = await ReplLoop(
                conversation,
                keyboard,
                view,
                commands,
                streams,
                dialogs=Dialogs(
                    is_interactive=can_ask, terminal_input=keys, terminal_output=output
                ),
                mentions=mentions,
                local=local,
            ).run()
            made.sessions = (await core.sessions.list(owner="ann", limit=9, offset=0))[1]
    return made
