"""The command line as one parsed object.

Only argparse is imported, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys

from dataagent_cli import exit_codes

TYPE_CHECKING = False  # typing's, without the time it takes to load typing

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence
    from typing import Any, NoReturn

    Commands = argparse._SubParsersAction[Any]  # pyright: ignore[reportPrivateUsage]


_NARROWEST = 40
_USUAL = 80


class HelpText(argparse.RawDescriptionHelpFormatter):
    """argparse's layout, at the width of the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(_columns() - 2, _NARROWEST))


def _columns() -> int:
    """`COLUMNS`, as argparse and most programs take it; else the terminal's own width."""
    written = os.environ.get("COLUMNS", "")
    if written.isdecimal() and int(written) > 0:
        return int(written)
    try:
        return os.get_terminal_size(1).columns or _USUAL
    except OSError:  # a file or a pipe
        return _USUAL


_DATA_ENDINGS = (
    *(".csv", ".tsv", ".tab", ".psv", ".json", ".jsonl", ".ndjson", ".parquet"),
    *(".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
)
SQL_FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet", "xlsx")
CHART_KINDS = ("bar", "line", "pie", "scatter")
EXPORT_FORMATS = (*SQL_FORMATS[1:], "png", "svg")
_SQL_EXAMPLES = """\
examples:
  dataagent sql "SELECT Country, count(*) FROM Customer GROUP BY 1"
  dataagent sql - --source shop < report.sql
  dataagent sql "SELECT region, sum(amount) FROM sales GROUP BY 1" --source sales.csv
  dataagent sql "SELECT * FROM Invoice" --output invoices.xlsx
  dataagent sql "SELECT * FROM Track" --format jsonl | jq .Name

Rows go to standard output, messages to standard error. Ctrl-C stops the statement.
exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted
"""
_CHART_EXAMPLES = """\
examples:
  dataagent chart                                 the newest result, as its columns suggest
  dataagent chart bar country total               one bar for each country
  dataagent chart line --of ID --output trend.png
"""
_ADD_EXAMPLES = """\
examples:
  dataagent sources add shop 'postgresql://reader:${SHOP_PASSWORD}@db.example.com/shop'
  dataagent sources add shop postgresql://reader@db.example.com/shop --ask-password
  dataagent sources add reports ./reports --description "Monthly figures" --grant everyone
  dataagent sources add orders orders.xlsx

${NAME} is read from the environment, or asked for. The address is stored encrypted.
"""


class DataOptions(argparse.Namespace):
    """Options of the commands over data; which of them are set depends on the command."""

    command: str | None
    home: str | None
    action: str | None  # of sources: add, test, remove, refresh; None lists them
    name: str
    place: str
    description: str
    time_zone: str
    grants: list[str]
    asks_password: bool
    source: str | None  # of schema: a name or a file
    sources: list[str]  # names or files, of a statement or a question
    tables: list[str]
    is_diff: bool
    kind_and_columns: list[str]
    words: list[str] | None
    statement: str
    artifact_id: str
    format: str | None
    output: str | None
    limit: int | None


def has_data_ending(word: str) -> bool:
    """Whether a word is the name of a data file, by its ending."""
    word = word.lower()
    if "." not in word:
        return False
    from dataagent_core.data.dialects import DIALECTS

    databases = tuple(ending for each in DIALECTS for ending in each.file_endings)
    return word.endswith((*_DATA_ENDINGS, *databases))


DATA_COMMANDS = {
    "sources": "list data sources; add, test, remove or refresh one",
    "schema": "show tables and columns of a data source",
    "sql": "run one statement and show its rows",
    "chart": "draw a stored result as a chart",
    "explain": "show the SQL, plan, tables and figures behind a result",
    "export": "write a stored result or chart to a file",
}
"""The commands over data with their summaries, here and after a slash."""


def add_data_commands(commands: Commands) -> None:
    """Add the commands over data to the program's."""
    examples = {"sql": _SQL_EXAMPLES, "chart": _CHART_EXAMPLES}
    options = {
        "sources": _add_sources,
        "schema": _add_schema,
        "sql": _add_sql,
        "chart": _add_chart,
        "explain": _add_explain,
        "export": _add_export,
    }
    for name, summary in DATA_COMMANDS.items():
        options[name](add_command(commands, name, summary, examples.get(name)))


def add_command(
    commands: Commands, name: str, summary: str, epilog: str | None = None
) -> ArgumentParser:
    """Add one command, with what every command has: a summary, examples, `--home`."""
    made = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        formatter_class=HelpText,
    )
    made.add_argument(
        "--home",
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="data directory (DATAAGENT_HOME)",
    )
    return made


def _add_sources(parser: ArgumentParser) -> None:
    actions: Commands = parser.add_subparsers(title="actions", dest="action", metavar="ACTION")
    add_command(actions, "list", "list the sources (as without an action)")
    add = add_command(actions, "add", "register a database, a folder or a file", _ADD_EXAMPLES)
    add.add_argument("name", metavar="NAME", help="name of the source")
    add.add_argument("place", metavar="URL|FOLDER", help="its location; see the examples")
    add.add_argument("--description", default="", metavar="TEXT", help="what data it has")
    add.add_argument("--time-zone", default="UTC", metavar="ZONE", help="such as Asia/Shanghai")
    add.add_argument(
        "--grant",
        dest="grants",
        action="append",
        default=[],
        metavar="WHO",
        help="who else may read it: everyone, user:NAME, tenant:NAME or agent:NAME",
    )
    add.add_argument(
        "--ask-password",
        dest="asks_password",
        action="store_true",
        help="ask for the password instead of reading it from the URL",
    )
    test = add_command(actions, "test", "open a source and run a query")
    test.add_argument("name", metavar="NAME|URL|FILE", help="a registered source, a URL or a file")
    remove = add_command(actions, "remove", "unregister a source; its data and results stay")
    remove.add_argument("name", metavar="NAME")
    refresh = add_command(actions, "refresh", "read a source again and show what changed")
    refresh.add_argument("name", metavar="NAME")


def _add_schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="a name or a file; by default the default source",
    )
    parser.add_argument("tables", metavar="TABLE", nargs="*", help="show the columns of these")
    parser.add_argument(
        "--search",
        dest="words",
        metavar="WORDS",
        nargs="+",
        help="show the tables that match these words",
    )
    parser.add_argument(
        "--diff",
        dest="is_diff",
        action="store_true",
        help="read the source again, and show what changed since it was last read",
    )


def _add_sql(parser: ArgumentParser) -> None:
    parser.add_argument(
        "statement", metavar="SQL", help="one query; - reads it from standard input"
    )
    add_source_option(parser)
    parser.add_argument("--format", choices=SQL_FORMATS, help="table, or by the ending of --output")
    _add_output(parser)
    parser.add_argument(
        "--limit",
        metavar="ROWS",
        type=_rows,
        help="read at most so many rows, and show all of them",
    )


def add_source_option(parser: ArgumentParser, *, more: str = "") -> None:
    """Add `--source`, which may be given more than once."""
    parser.add_argument(
        "--source",
        dest="sources",
        metavar="NAME|FILE",
        action="append",
        default=argparse.SUPPRESS,
        help="a source's name, or a file for this run only; may be repeated; by default the "
        f"default source{more}",
    )


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument(
        "artifact_id", metavar="ARTEFACT", help="its id, or 'last' for the newest one"
    )
    parser.add_argument(
        "--format",
        choices=EXPORT_FORMATS,
        help="by the ending of --output, else csv, or png for a chart",
    )
    parser.add_argument(
        "output", metavar="FILE", nargs="?", default=argparse.SUPPRESS, help="as --output"
    )
    _add_output(parser)


def _add_chart(parser: ArgumentParser) -> None:
    parser.add_argument(
        "kind_and_columns",
        metavar="KIND|COLUMN",
        nargs="*",
        help=f"{', '.join(CHART_KINDS)}, then columns; by default chosen by their types",
    )
    _add_of(parser)
    _add_output(parser)


def _add_explain(parser: ArgumentParser) -> None:
    _add_of(parser)


def _add_of(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--of",
        dest="artifact_id",
        metavar="ARTEFACT",
        default="last",
        help="which result; by default the newest one",
    )


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="FILE", help="write to a file; its ending gives the format"
    )


def _rows(text: str) -> int:
    try:
        count = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows above zero")
    return count


SETUP_COMMANDS = ("init", "doctor", "completion")
SHELLS = ("bash", "zsh", "fish")
_INIT_EXAMPLES = """\
examples:
  dataagent init                                            asks for everything
  dataagent init --model offline                            no network, no key
  dataagent init --model anthropic:claude-sonnet-4-5 --key-from MY_KEY
  pass show openai | dataagent init --model openai:gpt-5-mini --key-from -
  dataagent init --model openai:qwen3 --url http://localhost:11434/v1

The settings go to config.toml in the data directory, the key to the system's keyring if there is
one, else to the same file, which only you can read. The environment takes precedence.
"""
_COMPLETION_EXAMPLES = """\
to use it:
  bash  echo 'eval "$(dataagent completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(dataagent completion zsh)"' >> ~/.zshrc   (after compinit)
  fish  dataagent completion fish > ~/.config/fish/completions/dataagent.fish
"""


class SetupOptions(argparse.Namespace):
    """Options of the set-up commands; which of them are set depends on the command."""

    url: str | None
    key_from: str | None
    is_unchecked: bool
    as_json: bool
    shell: str


def add_setup_commands(commands: Commands) -> None:
    """Add the set-up commands to the program's."""
    init = add_command(commands, "init", "choose the model and store its key", _INIT_EXAMPLES)
    init.add_argument(
        "--model", metavar="NAME", default=argparse.SUPPRESS, help="such as openai:gpt-5-mini"
    )
    init.add_argument(
        "--url", metavar="URL", help="address of a server that speaks OpenAI's protocol"
    )
    init.add_argument(
        "--key-from", metavar="NAME", help="variable with the key; - reads standard input"
    )
    init.add_argument(
        "--no-check",
        dest="is_unchecked",
        action="store_true",
        help="store it without a request to the model",
    )
    doctor = add_command(commands, "doctor", "check everything the program needs")
    doctor.add_argument(
        "--json", dest="as_json", action="store_true", help="one JSON object a line"
    )
    completion = add_command(
        commands, "completion", "print the script for completion by Tab", _COMPLETION_EXAMPLES
    )
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


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
    """A command line is not valid; the text says why."""

    def __init__(self, message: str, parser: argparse.ArgumentParser) -> None:
        super().__init__(message)
        self.parser = parser

    @property
    def text(self) -> str:
        """The error, and what to try."""
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
        """Whether it is one question, with `-p` or `ask`."""
        return self.question is not None

    @property
    def is_talk(self) -> bool:
        """Whether it is a conversation that starts with an empty prompt."""
        return self.command is None and not self.is_question and self.resume != ""

    @property
    def is_setup(self) -> bool:
        """Whether it is a set-up command."""
        return self.command in SETUP_COMMANDS


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError`."""

    def error(self, message: str) -> NoReturn:
        """Raise the error."""
        raise UsageError(message, self)

    def with_sources(self, words: Sequence[str]) -> list[str]:
        """The words, with `--source` before each data file that precedes a command."""
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
        """Print the version, warn of a newer data directory, and exit."""
        from importlib.metadata import version

        from dataagent_cli.setup.home_reader import home_of, newer_tables

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
        help="show the version and exit",
    )
    ask = parser.add_argument_group("one question")
    ask.add_argument(
        "-p",
        "--print",
        dest="question",
        metavar="QUESTION",
        nargs="?",
        const="",
        help="answer on standard output and exit; piped text is added to the question",
    )
    _add_output_options(ask)
    add_source_option(parser, more="; FILE alone works too")
    parser.set_defaults(sources=[])
    _add_conversation(parser)
    _add_rules(parser)
    parser.add_argument("--home", metavar="DIR", help="data directory (DATAAGENT_HOME)")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    _add_ask(commands)
    add_data_commands(commands)
    add_setup_commands(commands)
    return parser


# argparse has no public name for it
def _add_output_options(
    parser: argparse._ActionsContainer,  # pyright: ignore[reportPrivateUsage]
) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", dest="is_json", action="store_true", help="print one event a line")
    how.add_argument(
        "--output-format",
        choices=("text", "json", "csv"),
        default="text",
        help="the answer as text, as one JSON object, or as the rows of its last table",
    )


def _add_ask(commands: Commands) -> None:
    ask = add_command(commands, "ask", "answer one question over data and exit", _ASK_EXAMPLES)
    ask.argument_default = argparse.SUPPRESS  # options before `ask` count as well
    ask.add_argument("question", metavar="QUESTION", nargs="?", default="")
    add_source_option(ask, more="; - is standard input")
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
        help="continue the conversation with this ID, or choose one from a list",
    )
    which.add_argument(
        "--continue",
        dest="is_continued",
        action="store_true",
        help="continue the latest conversation",
    )
    talk.add_argument(
        "--no-project",
        dest="is_projectless",
        action="store_true",
        help="let the agent work in a folder of its own, not in this one",
    )
    talk.add_argument(
        "--server", metavar="URL", help="hold the conversation with a DataAgent server"
    )
    talk.add_argument(
        "--api-key-from",
        metavar="VARIABLE",
        help="variable with the server's key (DATAAGENT_API_KEY)",
    )
    talk.add_argument(
        "--mcp-config",
        metavar="FILE",
        help="use the MCP servers of this file instead of mcp.json and .mcp.json",
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    rules = parser.add_argument_group("permissions")
    rules.add_argument(
        "--plan",
        dest="is_plan",
        action="store_true",
        help="change nothing: the agent reads, and says what it would do",
    )
    rules.add_argument(
        "--auto-approve",
        dest="is_auto_approved",
        action="store_true",
        help="run calls that need approval without asking",
    )
    rules.add_argument(
        "--allow",
        metavar="PATTERN",
        action="append",
        help="tools that run without asking, such as write_file or 'sql_*'; may be repeated",
    )
    rules.add_argument(
        "--deny",
        metavar="PATTERN",
        action="append",
        help="tools that may never be called, even if allowed elsewhere; may be repeated",
    )
    rules.add_argument(
        "--max-budget",
        metavar="AMOUNT",
        help="limit of a question: tokens as 20000t, or money when prices are set",
    )


def parse(argv: Sequence[str] | None = None) -> CliOptions:
    """Parse a command line; exit the program for `--help`, `--version` and wrong usage."""
    try:
        return parse_words(argv)
    except UsageError as wrong:
        wrong.parser.print_usage(sys.stderr)
        wrong.parser.exit(exit_codes.USAGE, wrong.text)


def parse_words(words: Sequence[str] | None) -> CliOptions:
    """Parse words; exit the program only for `--help` and `--version`.

    Raises:
        UsageError: they are not a valid command line.
    """
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions
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
