"""The command line: what can be asked for, as one parsed object.

Only argparse is imported, so that `--help` answers at once. What the options lead to is built in
`main.py`; the commands are described in `data/arguments.py` and `setup/arguments.py`.
"""

from __future__ import annotations

import argparse
import os
import sys

from dataagent_cli import exit_codes
from dataagent_cli.data import DataOptions, add_data_commands
from dataagent_cli.data.arguments import add_command, add_source_option, has_data_ending
from dataagent_cli.help_text import HelpText
from dataagent_cli.setup import SETUP_COMMANDS, SetupOptions, add_setup_commands

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from dataagent_cli.data.arguments import Commands

DEFAULT_AGENT = "agent"
_PROGRAM = "dataagent"
_EXAMPLES = """\
examples:
  dataagent                                       a conversation in the terminal
  dataagent -p "Which genre sells best?"          one question, the answer on standard output
  cat notes.md | dataagent -p "Sum this up"       the input is added to the question
  dataagent -p "And by country?" --continue       the same conversation goes on
  dataagent -p "Plot it" --json | jq .event_type  one event a line
  dataagent sales.csv shop.sqlite                 a conversation about these files
  dataagent ask "total by region" --source sales.csv --output-format csv
  dataagent schema                                which tables there are
  dataagent sql "SELECT * FROM Genre"             one statement, its rows on standard output

exit status: 0 answered, 1 failed, 2 wrong usage, 3 cancelled or rejected, 130 interrupted
"""


_ASK_EXAMPLES = """\
examples:
  dataagent ask "total by region" --source sales.csv
  cat sales.csv | dataagent ask "total by region" --output-format csv
  dataagent ask "orders per month" --source shop --output-format json

CSV, TSV, JSON and the like on standard input is data; other text is added to the question.
"""


class UsageError(Exception):
    """A command line that makes no sense. Its text is what is wrong."""

    def __init__(self, message: str, parser: argparse.ArgumentParser) -> None:
        super().__init__(message)
        self.parser = parser

    @property
    def text(self) -> str:
        """What is wrong and what to try."""
        ask = ""
        if "invalid choice" in str(self) and self.parser.prog == _PROGRAM:
            ask = 'hint: to ask a question: dataagent -p "QUESTION"\n'
        return f"error: {self}\n{ask}hint: {self.parser.prog} --help shows every option.\n"


class CliOptions(DataOptions, SetupOptions):
    """The parsed command line. `question` is "" for a `-p` whose question comes from the input."""

    question: str | None
    is_json: bool
    output_format: str
    model: str | None
    agent: str | None
    resume: str | None
    """An id; "" to choose one; None to begin anew."""
    is_continued: bool
    is_plan: bool
    allow: list[str] | None
    deny: list[str] | None
    max_budget: str | None
    server: str | None
    api_key_from: str | None
    is_auto_approved: bool
    is_projectless: bool
    mcp_config: str | None
    home: str | None

    @property
    def is_question(self) -> bool:
        """Whether one question is asked, with `-p` or `ask`."""
        return self.question is not None

    @property
    def is_talk(self) -> bool:
        """Whether a conversation is asked for, which begins with an empty line."""
        return self.command is None and not self.is_question and self.resume != ""

    @property
    def is_setup(self) -> bool:
        """Whether a command is asked for that makes the program ready."""
        return self.command in SETUP_COMMANDS


class _Parser(argparse.ArgumentParser):
    """argparse, which raises its complaints."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong."""
        raise UsageError(message, self)

    def with_sources(self, words: Sequence[str]) -> list[str]:
        """The words, with `--source` put before each file of data that comes before a command."""
        found: list[str] = []
        is_value = False
        for at, word in enumerate(words):
            is_free = not is_value and not word.startswith("-")
            if is_free and not has_data_ending(word):  # a command, or what argparse will refuse
                return [*found, *words[at:]]
            found += ["--source", word] if is_free else [word]
            option = self._option_string_actions.get(word)
            is_value = option is not None and option.nargs != 0
        return found


class _Version(argparse.Action):
    """`--version`, read from the installed package only when asked for."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: object
    ) -> None:
        """Print the version, and whether the data directory is a newer one's, and leave."""
        from importlib.metadata import version

        from dataagent_cli.setup.peek import home_of, newer_tables

        sys.stdout.write(f"dataagent {version('dataagent-cli')}\n")
        home = home_of(getattr(namespace, "home", None))
        if newer := newer_tables(home):
            sys.stderr.write(f"warning: a newer DataAgent wrote {home} (tables {newer}).\n")
            sys.stderr.write("hint: upgrade this one: pip install -U dataagent-cli\n")
        parser.exit(exit_codes.OK)


def build_parser() -> _Parser:
    """The parser of `dataagent`."""
    parser = _Parser(
        prog=_PROGRAM,
        description="An assistant that works with your data, in the terminal.",
        epilog=_EXAMPLES,
        formatter_class=HelpText,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        dest=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
        help="show the version and leave",
    )
    ask = parser.add_argument_group("one question")
    ask.add_argument(
        "-p",
        "--print",
        dest="question",
        metavar="QUESTION",
        nargs="?",
        const="",
        help="answer on standard output and leave; text piped in is added to the question",
    )
    _add_output_options(ask)
    add_source_option(parser, more="; FILE alone does too")
    parser.set_defaults(sources=[])
    _add_conversation(parser)
    _add_rules(parser)
    parser.add_argument("--home", metavar="DIR", help="data directory (DATAAGENT_HOME)")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    _add_ask(commands)
    add_data_commands(commands)
    add_setup_commands(commands)
    return parser


# argparse gives it no other name
def _add_output_options(
    parser: argparse._ActionsContainer,  # pyright: ignore[reportPrivateUsage]
) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", dest="is_json", action="store_true", help="print one event a line")
    how.add_argument(
        "--output-format",
        choices=("text", "json", "csv"),
        default="text",
        help="the answer as text, all of it as one JSON object, or the rows of its last table",
    )


def _add_ask(commands: Commands) -> None:
    ask = add_command(commands, "ask", "one question over data, answered and left", _ASK_EXAMPLES)
    ask.argument_default = argparse.SUPPRESS  # what stands before `ask` holds as well
    ask.add_argument("question", metavar="QUESTION", nargs="?", default="")
    add_source_option(ask, more="; - is what is piped in")
    _add_output_options(ask)
    _add_conversation(ask)
    _add_rules(ask)


def _add_conversation(parser: argparse.ArgumentParser) -> None:
    talk = parser.add_argument_group("the conversation")
    talk.add_argument("--model", metavar="NAME", help="chat model, such as openai:gpt-5 or offline")
    talk.add_argument(
        "--agent", metavar="NAME", help=f"which agent answers (the session's, or {DEFAULT_AGENT})"
    )
    which = talk.add_mutually_exclusive_group()
    which.add_argument(
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="go on with this one, or with one that is chosen from a list",
    )
    which.add_argument(
        "--continue", dest="is_continued", action="store_true", help="go on with the latest one"
    )
    talk.add_argument(
        "--no-project",
        dest="is_projectless",
        action="store_true",
        help="work in a folder of DataAgent's own, not in this one",
    )
    talk.add_argument(
        "--server", metavar="URL", help="hold the conversation with a DataAgent server"
    )
    talk.add_argument(
        "--api-key-from",
        metavar="VARIABLE",
        help="where the server's key is (DATAAGENT_API_KEY)",
    )
    talk.add_argument(
        "--mcp-config",
        metavar="FILE",
        help="MCP servers of this file, in place of mcp.json and .mcp.json",
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    rules = parser.add_argument_group("what a question may do")
    rules.add_argument(
        "--plan",
        dest="is_plan",
        action="store_true",
        help="change nothing: the agent looks, and says what it would do",
    )
    rules.add_argument(
        "--auto-approve",
        dest="is_auto_approved",
        action="store_true",
        help="let calls that would ask for approval run unasked",
    )
    rules.add_argument(
        "--allow",
        metavar="PATTERN",
        action="append",
        help="tools that run unasked, such as write_file or 'sql_*'; may be repeated",
    )
    rules.add_argument(
        "--deny",
        metavar="PATTERN",
        action="append",
        help="tools that may not be called, whoever allows them; may be repeated",
    )
    rules.add_argument(
        "--max-budget",
        metavar="AMOUNT",
        help="what a question may use: 20000t tokens, or money when prices are set",
    )


def parse(argv: Sequence[str] | None = None) -> CliOptions:
    """Parse a command line; leaves the program for `--help`, `--version` and wrong usage."""
    try:
        return parse_words(argv)
    except UsageError as wrong:
        wrong.parser.print_usage(sys.stderr)
        wrong.parser.exit(exit_codes.USAGE, wrong.text)


def parse_words(words: Sequence[str] | None) -> CliOptions:
    """Parse words without leaving the program, except for `--help` and `--version`.

    Raises:
        WrongUsage: they make no sense.
    """
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could be typed next
        from dataagent_cli.setup.completion import complete

        complete(parser)
    typed = sys.argv[1:] if words is None else words
    options = parser.parse_args(parser.with_sources(typed), namespace=CliOptions())
    is_command = options.command not in (None, "ask")
    if is_command and (options.is_question or options.is_json):
        parser.error(f"-p and --json ask the agent; they do not go with {options.command!r}")
    if options.resume == "" and options.is_question:
        parser.error("--resume needs the conversation's ID when a question comes with it")
    if (options.is_json or options.output_format != "text") and not options.is_question:
        parser.error("--json and --output-format need a question: dataagent -p QUESTION --json")
    return options
