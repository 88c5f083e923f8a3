"""The command line: what can be asked for, as one parsed object.

Only argparse is imported, so that `--help` answers at once. What the options lead to is built in
`main.py`; the commands over data are described in `data/arguments.py`.
"""

from __future__ import annotations

import argparse
import sys

from dataagent_cli import exits
from dataagent_cli.data import DataOptions, add_data_commands

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

DEFAULT_AGENT = "agent"
_PROGRAM = "dataagent"
_EXAMPLES = """\
examples:
  dataagent                                       a conversation in the terminal
  dataagent -p "Which genre sells best?"          one question, the answer on standard output
  cat notes.md | dataagent -p "Sum this up"       the input is added to the question
  dataagent -p "And by country?" --continue       the same conversation goes on
  dataagent -p "Plot it" --json | jq .event_type  one event a line
  dataagent schema                                which tables there are
  dataagent sql "SELECT * FROM Genre"             one statement, its rows on standard output

exit status: 0 answered, 1 failed, 2 wrong usage, 3 cancelled or rejected, 130 interrupted
"""


class WrongUsage(Exception):
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


class Options(DataOptions):
    """The parsed command line. `question` is "" for a `-p` whose question comes from the input."""

    question: str | None
    is_json: bool
    model: str | None
    agent: str | None
    session_id: str | None
    is_continued: bool
    is_auto_approved: bool
    home: str | None


class _Parser(argparse.ArgumentParser):
    """argparse, which raises its complaints."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong."""
        raise WrongUsage(message, self)


class _Version(argparse.Action):
    """`--version`, read from the installed package only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and leave."""
        from importlib.metadata import version

        sys.stdout.write(f"dataagent {version('dataagent-cli')}\n")
        parser.exit(exits.OK)


def build_parser() -> argparse.ArgumentParser:
    """The parser of `dataagent`."""
    parser = _Parser(
        prog=_PROGRAM,
        description="An assistant that works with your data, in the terminal.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    ask.add_argument("--json", dest="is_json", action="store_true", help="print one event a line")
    _add_conversation(parser)
    add_data_commands(parser)
    return parser


def _add_conversation(parser: argparse.ArgumentParser) -> None:
    talk = parser.add_argument_group("the conversation")
    talk.add_argument("--model", metavar="NAME", help="chat model, such as openai:gpt-5 or offline")
    talk.add_argument(
        "--agent", metavar="NAME", help=f"which agent answers (the session's, or {DEFAULT_AGENT})"
    )
    which = talk.add_mutually_exclusive_group()
    which.add_argument("--session", dest="session_id", metavar="ID", help="go on with this one")
    which.add_argument(
        "--continue", dest="is_continued", action="store_true", help="go on with the latest one"
    )
    talk.add_argument(
        "--auto-approve",
        dest="is_auto_approved",
        action="store_true",
        help="let calls that would ask for approval run unasked",
    )
    talk.add_argument("--home", metavar="DIR", help="data directory (DATAAGENT_HOME)")


def parse(argv: Sequence[str] | None = None) -> Options:
    """Parse a command line; leaves the program for `--help`, `--version` and wrong usage."""
    try:
        return parse_words(argv)
    except WrongUsage as wrong:
        wrong.parser.print_usage(sys.stderr)
        wrong.parser.exit(exits.USAGE, wrong.text)


def parse_words(words: Sequence[str] | None) -> Options:
    """Parse words without leaving the program, except for `--help` and `--version`.

    Raises:
        WrongUsage: they make no sense.
    """
    parser = build_parser()
    options = parser.parse_args(words, namespace=Options())
    if options.command is not None and (options.question is not None or options.is_json):
        parser.error(f"-p and --json ask the agent; they do not go with {options.command!r}")
    if options.is_json and options.question is None:
        parser.error("--json needs a question: dataagent -p QUESTION --json")
    return options
