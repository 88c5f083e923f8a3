"""`dataagent`: from the command line to what it asks for. Objects are put together here.

Nothing is imported before the command line is understood, so that `--help` answers at once and a
typing error costs nothing. The work is done by `headless.py`, `interactive.py` and `data/`.
"""

from __future__ import annotations

import sys

from dataagent_cli import exits
from dataagent_cli.arguments import Options, parse

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataagent_cli.conversation import Conversation
    from dataagent_cli.data.desk import Desk
    from dataagent_cli.streams import Streams
    from dataagent_cli.ui import View
    from dataagent_core.config import SessionState, Settings
    from dataagent_core.data.room import Data
    from dataagent_core.runs.assembly import Core

_NOT_A_TERMINAL = """\
error: Standard input and output are not a terminal, so there is nobody to talk to.
hint: ask one question with: dataagent -p "QUESTION"
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    options = parse(argv)
    has_person = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if options.command is None and options.question is None and not has_person:
        sys.stderr.write(_NOT_A_TERMINAL)
        return exits.USAGE
    return run(options)


def run(options: Options, streams: Streams | None = None) -> int:
    """Do what the options ask for; errors become a sentence and an exit status."""
    import asyncio

    from dataagent_cli.failures import explain
    from dataagent_cli.streams import Streams

    streams = streams or Streams.standard()
    try:
        return asyncio.run(_start(options, streams))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return exits.INTERRUPTED
    except BrokenPipeError:
        streams.abandon_out()
        return exits.CANCELLED
    except Exception as error:
        failure = explain(error)
        streams.say(failure.text)
        return failure.exit_code


async def _start(options: Options, streams: Streams) -> int:
    from dataagent_cli.headless import answer_one, full_question
    from dataagent_cli.logs import log_to_file

    question = None if options.question is None else full_question(options.question, streams)
    settings = _settings(options)
    with log_to_file(settings):
        if options.command is not None:
            return await _obey(settings, options, streams)
        from dataagent_core.runs.assembly import open_core

        async with open_core(settings) as core:
            state = _state(settings)
            view = streams.view(is_json=options.is_json)
            conversation = _conversation(core, options, streams, view, state)
            await _resume(conversation, options, view)
            if question is not None:
                return await answer_one(conversation, question)
            return await _interact(conversation, core, streams, view)


async def _obey(settings: Settings, options: Options, streams: Streams) -> int:
    """Do a command over data: no agent is needed for it, so none is loaded."""
    from dataagent_cli.data.obey import obey
    from dataagent_core.data.room import open_room

    async with open_room(settings) as data:
        return await obey(_desk(data, streams), options)


def _desk(data: Data, streams: Streams) -> Desk:
    from dataagent_cli.data.desk import Desk

    return Desk(data, _user_id(), streams)


def _settings(options: Options) -> Settings:
    """The environment's settings, with what the command line says on top."""
    from dataagent_core.config import Settings

    given = {"home": options.home, "model": options.model}
    overrides = {name: value for name, value in given.items() if value is not None}
    if options.is_auto_approved:
        return Settings(**overrides, auto_approve=True)  # pyright: ignore[reportArgumentType] validated by Settings
    return Settings(**overrides)  # pyright: ignore[reportArgumentType] validated by Settings


def _state(settings: Settings) -> SessionState:
    from dataagent_core.config import SessionState

    return SessionState(auto_approve=settings.auto_approve)


def _user_id() -> str:
    """The name of the person at this machine."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user: a container with a bare number
        return "local"


def _conversation(
    core: Core, options: Options, streams: Streams, view: View, state: SessionState
) -> Conversation:
    from prompt_toolkit.output import create_output

    from dataagent_cli.conversation import Conversation
    from dataagent_cli.hitl import TerminalHITLHandler
    from dataagent_cli.turn import Turns

    user_id = _user_id()
    can_ask = streams.is_interactive
    handler = TerminalHITLHandler(
        state,
        is_interactive=can_ask,
        terminal_output=create_output(stdout=streams.err) if can_ask else None,
    )
    turns = Turns(core.runs, owner=user_id, view=view, handler=handler, state=state)
    return Conversation(
        core.sessions,
        turns,
        user_id=user_id,
        assistant_id=options.agent,
        state=state,
        skills=core.skills,
    )


async def _resume(conversation: Conversation, options: Options, view: View) -> None:
    if options.session_id is not None:
        await conversation.resume(options.session_id)
    elif options.is_continued and not await conversation.resume_latest():
        view.note("there is no earlier conversation: this is a new one")


async def _interact(conversation: Conversation, core: Core, streams: Streams, view: View) -> int:
    from dataagent_cli.commands import builtin_commands, data_commands, memory_command
    from dataagent_cli.input import CommandCompleter, Keyboard, open_history
    from dataagent_cli.interactive import Interactive
    from dataagent_core.identity import Principal

    settings = core.settings
    person = Principal(_user_id(), "user", "terminal")
    memory = memory_command(core.files.memories, person)
    commands = builtin_commands(memory, *data_commands(_desk(core.data, streams)))
    history = open_history(settings.home_dir / "history")
    keyboard = Keyboard(history, CommandCompleter(commands, await conversation.skills() or ()))
    view.note(f"DataAgent · {settings.default_model} · /help shows the commands")
    return await Interactive(conversation, keyboard, view, commands).run()
