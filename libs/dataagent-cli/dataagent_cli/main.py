"""`dataagent`: runs what the command line asks for, and builds the objects for it.

Modules are imported when they are needed, so that `--help` and a typing error answer at once. Until
the event loop starts, Ctrl-C ends the process; afterwards `interrupts.py` handles it.
"""

from __future__ import annotations

import gc
import os
import sys

from dataagent_cli import exit_codes
from dataagent_cli.arguments import CliOptions, parse

TYPE_CHECKING = False  # typing's, without the time it takes to load typing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from dataagent_cli.conversation import Conversation
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.early_prompt import EarlyPrompt
    from dataagent_cli.headless import HeadlessInput
    from dataagent_cli.hosts import Host
    from dataagent_cli.mcp import TerminalServers
    from dataagent_cli.streams import Streams
    from dataagent_cli.turn import TurnRules
    from dataagent_cli.ui import View
    from dataagent_core.app.assembly import Core
    from dataagent_core.config import SessionState, Settings
    from dataagent_core.data.runtime import DataRuntime


_NOT_A_TERMINAL = """\
error: Standard input and output are not a terminal.
hint: ask one question with: dataagent -p "QUESTION"
"""
_NO_OUTPUT = """\
error: Standard output is closed.
hint: leave it open, or write to a file: dataagent -p "QUESTION" > answer.txt
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status; without `argv`, end the process with it."""
    if argv is not None:
        return _main(argv)
    os.umask(0o077)  # files of this process and its children are private
    gc.disable()  # what is imported stays; `tune_process` enables it again
    return exit_process(_main(None))


def _main(argv: Sequence[str] | None) -> int:
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 open until the program ends
    if sys.stdout is None:
        sys.stderr.write(_NO_OUTPUT)
        return exit_codes.FAILED
    options = parse(argv)
    if argv is None:
        exit_on_interrupt()
    has_person = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if options.command is None and options.question is None and not has_person:
        sys.stderr.write(_NOT_A_TERMINAL)
        return exit_codes.USAGE
    try:
        if options.is_talk:
            return _talk(options)
        return run(options)
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED


def _talk(options: CliOptions) -> int:
    """Hold a conversation; the prompt is shown before its libraries are loaded."""
    from dataagent_cli.early_prompt import EarlyPrompt

    early = EarlyPrompt()
    if exits_on_interrupt():
        exit_on_interrupt(early)
    with early:
        return run(options, early=early)


def run(
    options: CliOptions, streams: Streams | None = None, *, early: EarlyPrompt | None = None
) -> int:
    """Run what the options ask for; an error becomes a message and an exit status."""
    import asyncio

    from dataagent_cli.failures import explain
    from dataagent_cli.streams import Streams

    streams = streams or Streams.standard(early)
    try:
        leave_interrupts_to_loop()
        return asyncio.run(_start(options, streams))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        streams.abandon_out()
        return exit_codes.CANCELLED
    except Exception as error:
        if early is not None:
            early.end()
        failure = explain(error)
        streams.say(failure.text)
        return failure.exit_code


async def _start(options: CliOptions, streams: Streams) -> int:
    if options.is_setup:
        from dataagent_cli.setup.dispatch import dispatch_setup

        return await dispatch_setup(options, streams)
    from dataagent_cli.headless import read_headless_input
    from dataagent_cli.logs import log_to_file
    from dataagent_cli.setup.settings import load_settings

    with read_headless_input(options, streams) as asked:
        settings = load_settings(options)
        with log_to_file(settings):
            if options.command in (None, "ask"):
                return await _converse(settings, options, streams, asked)
            return await _run_data_command(settings, options, streams)


async def _converse(
    settings: Settings, options: CliOptions, streams: Streams, asked: HeadlessInput
) -> int:
    """Answer one question, or hold a conversation."""
    if options.server is not None:
        return await _converse_with_server(settings, options, streams, asked)
    from dataagent_core.config.lazy_modules import install_lazy_modules

    install_lazy_modules()
    from dataagent_cli.headless import answer_question, open_sources_for
    from dataagent_cli.hosts.local import LocalHost
    from dataagent_cli.mcp import open_servers
    from dataagent_cli.project import in_project
    from dataagent_core.app.assembly import open_core

    settings, why_none = in_project(settings, is_off=options.is_projectless)
    async with open_core(settings) as core:
        state = _state(settings, options)
        view = _view(settings, options, streams)
        if why_none is not None and not options.is_question:
            view.note(why_none)
        data_context = _data_context(core.data, settings, streams)
        host = LocalHost(core, _user_id())
        conversation = _conversation(
            host, settings, options, streams, view, state=state, data_context=data_context
        )
        question = await open_sources_for(data_context, asked)
        await _resume(conversation, options, view)
        async with open_servers(
            core,
            user_id=_user_id(),
            assistant_id=conversation.agent,
            config_file=options.mcp_config,
            streams=streams,
            view=view,
        ) as servers:
            if question is not None:
                await servers.wait_connected()
                form = options.output_format
                return await answer_question(
                    conversation, question, data_context=data_context, view=view, output_format=form
                )
            picks_session = options.resume == ""
            return await _interact(
                conversation, core, data_context, view, servers, picks_session=picks_session
            )


async def _converse_with_server(
    settings: Settings, options: CliOptions, streams: Streams, asked: HeadlessInput
) -> int:
    """As `_converse`, with a server; what needs this process is left out."""
    from dataagent_cli.hosts import UnsupportedOnServer
    from dataagent_cli.hosts.server import open_server

    if asked.sources or options.output_format != "text":
        raise UnsupportedOnServer("--source and --output-format")
    async with open_server(options.server or "", key_from=options.api_key_from) as host:
        gc.enable()
        state, view = _state(settings, options), _view(settings, options, streams)
        conversation = _conversation(host, settings, options, streams, view, state=state)
        await _resume(conversation, options, view)
        if asked.question is not None:
            return (await conversation.ask(asked.question)).exit_code
        picks_session = options.resume == ""
        return await _interact_with_server(
            conversation, settings, streams, view, picks_session=picks_session
        )


def _view(settings: Settings, options: CliOptions, streams: Streams) -> View:
    here = "dataagent export" if options.is_question else "/export"
    return streams.view(
        is_json=options.is_json,
        is_buffered=options.output_format != "text",
        prices=settings.prices,
        export=here if options.server is None else None,
    )


async def _run_data_command(settings: Settings, options: CliOptions, streams: Streams) -> int:
    """Run a command over data; the agents are not loaded."""
    from dataagent_cli.data.dispatch import dispatch_data
    from dataagent_core.data.runtime import open_standalone_runtime

    async with open_standalone_runtime(settings) as data:
        gc.enable()
        return await dispatch_data(_data_context(data, settings, streams), options)


def _data_context(data: DataRuntime, settings: Settings, streams: Streams) -> DataCommandContext:
    from dataagent_cli.data.context import DataCommandContext
    from dataagent_cli.ui.graphics import graphics

    outputs, shown = settings.home_dir / "outputs", graphics(settings.graphics)
    return DataCommandContext(data, _user_id(), streams, settings.prices, outputs, shown)


def _state(settings: Settings, options: CliOptions) -> SessionState:
    from dataagent_core.config import SessionState

    return SessionState(auto_approve=settings.auto_approve, is_planning=options.is_plan)


def _user_id() -> str:
    """The name of the user of this machine."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user: a container with a bare number
        return "local"


def _conversation(
    host: Host,
    settings: Settings,
    options: CliOptions,
    streams: Streams,
    view: View,
    *,
    state: SessionState,
    data_context: DataCommandContext | None = None,
) -> Conversation:
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.data.chart_display import chart_display
    from dataagent_cli.hitl import TerminalHITLHandler
    from dataagent_cli.turn import TurnRunner

    can_ask, rules = streams.is_interactive, _rules(settings, options)
    handler = TerminalHITLHandler(
        state,
        is_interactive=can_ask,
        allow=rules.allow,
        note=view.note,
        terminal_output=streams.questions() if can_ask else None,
    )
    shown = None if data_context is None or options.is_json else chart_display(data_context)
    turns = TurnRunner(
        host,
        view=view,
        handler=handler,
        state=state,
        rules=rules,
        show_chart=shown,
        is_interactive=not options.is_question,
    )
    return Conversation(host, turns, agent=options.agent, state=state)


def _rules(settings: Settings, options: CliOptions) -> TurnRules:
    from dataagent_cli.turn import TurnRules, max_tokens

    amount = options.max_budget
    return TurnRules(
        allow=tuple(options.allow or ()),
        deny=tuple(options.deny or ()),
        max_tokens=None if amount is None else max_tokens(amount, settings.prices),
    )


async def _resume(conversation: Conversation, options: CliOptions, view: View) -> None:
    """Continue the conversation that the options name; at a terminal its end is shown later."""
    if options.resume is None and not options.is_continued:
        return
    from dataagent_cli.conversation import wait_for_recovery

    if options.resume:
        await conversation.resume(options.resume)
    elif options.is_continued and not await conversation.resume_latest():
        view.note("no earlier conversation: this is a new one")
    if options.is_question:
        await wait_for_recovery(conversation)


async def _interact(
    conversation: Conversation,
    core: Core,
    data_context: DataCommandContext,
    view: View,
    servers: TerminalServers,
    *,
    picks_session: bool,
) -> int:
    from dataagent_cli.commands import LocalContext
    from dataagent_cli.input.mentions import Mentions, tables_of_sources
    from dataagent_cli.project import working_folder
    from dataagent_cli.repl import run_repl
    from dataagent_core.identity import Principal

    person = Principal(_user_id(), "user", "terminal")
    return await run_repl(
        conversation,
        data_context.streams,
        view,
        Mentions(working_folder(), tables_of_sources(data_context)),
        local=LocalContext(data_context, core.files.memories, person, servers),
        home=core.settings.home_dir,
        prices=core.settings.prices,
        picks_session=picks_session,
        on_keyboard=lambda keyboard: servers.report_above(keyboard, view),
    )


async def _interact_with_server(
    conversation: Conversation,
    settings: Settings,
    streams: Streams,
    view: View,
    *,
    picks_session: bool,
) -> int:
    from dataagent_cli.input.mentions import Mentions
    from dataagent_cli.project import working_folder
    from dataagent_cli.repl import run_repl

    settings.ensure_home()
    return await run_repl(
        conversation,
        streams,
        view,
        Mentions(working_folder()),
        home=settings.home_dir,
        prices=settings.prices,
        picks_session=picks_session,
    )


def exit_process(code: int) -> NoReturn:
    """End the process at once: everything is closed, so objects need not be freed."""
    import atexit

    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] what os._exit would leave out
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, full, or without a reader
            code = code or exit_codes.FAILED
    os._exit(code)


def exit_on_interrupt(early: EarlyPrompt | None = None) -> None:
    """Let Ctrl-C end the process while it loads, when nothing can be lost.

    An interrupted import may leave its lock behind, or fail with an error of its own.
    """
    import signal

    def interrupted(*_: object) -> None:
        if early is not None:
            early.abandon()
        os._exit(exit_codes.INTERRUPTED)

    signal.signal(signal.SIGINT, interrupted)


def exits_on_interrupt() -> bool:
    """Whether Ctrl-C ends the process at once."""
    import signal

    return getattr(signal.getsignal(signal.SIGINT), "__module__", None) == __name__


def leave_interrupts_to_loop() -> None:
    """Let the event loop, which is about to start, handle Ctrl-C."""
    if exits_on_interrupt():
        import signal

        signal.signal(signal.SIGINT, signal.default_int_handler)
