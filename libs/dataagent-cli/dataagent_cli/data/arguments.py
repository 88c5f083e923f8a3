"""The words of the commands over data. Only argparse is imported, so that `--help` stays quick.

Above: `arguments.py`. What the words lead to is in `data/dispatch.py`.
"""

from __future__ import annotations

import argparse

from dataagent_cli.help_text import HelpText

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    # its only name; Any: our parsers or plain ones
    Commands = argparse._SubParsersAction[Any]  # pyright: ignore[reportPrivateUsage]

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

The rows go to standard output, what they rest on to standard error. Ctrl-C stops the statement.
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

${NAME} is taken from the environment, or asked for. The address is kept encrypted.
"""


class DataOptions(argparse.Namespace):
    """What was asked for. Which of them exist depends on `command` and `action`."""

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
    """Whether a word is the name of a file with data, going by its ending."""
    word = word.lower()
    if "." not in word:
        return False
    from dataagent_core.data.dialects import DIALECTS

    databases = tuple(ending for each in DIALECTS for ending in each.file_endings)
    return word.endswith((*_DATA_ENDINGS, *databases))


def add_data_commands(commands: Commands) -> None:
    """Add the commands to the program's."""
    _add_sources(add_command(commands, "sources", "list data sources; add, test, remove, refresh"))
    _add_schema(add_command(commands, "schema", "tables and columns of a data source"))
    _add_sql(add_command(commands, "sql", "run one statement and show its rows", _SQL_EXAMPLES))
    _add_export(add_command(commands, "export", "write a kept result or chart to a file"))
    _add_chart(add_command(commands, "chart", "draw a kept result", _CHART_EXAMPLES))
    _add_explain(add_command(commands, "explain", "what a kept result rests on, and its plan"))


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
    add.add_argument("name", metavar="NAME", help="what to call it")
    add.add_argument("place", metavar="URL|FOLDER", help="where it is; see the examples")
    add.add_argument("--description", default="", metavar="TEXT", help="what it holds")
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
    test = add_command(actions, "test", "open a source and say what it answers")
    test.add_argument("name", metavar="NAME|URL|FILE", help="a source, or one that may become one")
    remove = add_command(actions, "remove", "forget a source; its data and kept results stay")
    remove.add_argument("name", metavar="NAME")
    refresh = add_command(actions, "refresh", "look at a source again and say what changed")
    refresh.add_argument("name", metavar="NAME")


def _add_schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="a name or a file; the usual one if left out"
    )
    parser.add_argument("tables", metavar="TABLE", nargs="*", help="show the columns of these")
    parser.add_argument(
        "--search",
        dest="words",
        metavar="WORDS",
        nargs="+",
        help="show the tables that fit some words",
    )
    parser.add_argument(
        "--diff",
        dest="is_diff",
        action="store_true",
        help="look at the source now, and show what changed since it was last looked at",
    )


def _add_sql(parser: ArgumentParser) -> None:
    parser.add_argument("statement", metavar="SQL", help="one query; - reads it from the input")
    add_source_option(parser)
    parser.add_argument("--format", choices=SQL_FORMATS, help="table, unless --output says more")
    _add_output(parser)
    parser.add_argument(
        "--limit", metavar="ROWS", type=_rows, help="read no more than so many rows, show them all"
    )


def add_source_option(parser: ArgumentParser, *, more: str = "") -> None:
    """Add `--source`, which may be given more than once."""
    parser.add_argument(
        "--source",
        dest="sources",
        metavar="NAME|FILE",
        action="append",
        default=argparse.SUPPRESS,
        help="a source's name, or a file for this time only; may be repeated; the usual one if "
        f"left out{more}",
    )


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument(
        "artifact_id", metavar="ARTEFACT", help="its id, or 'last' for the newest one"
    )
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, help="csv, or png for a chart, unless --output says so"
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
        help=f"{', '.join(CHART_KINDS)}, then columns; what is left out is chosen by their types",
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
        help="which result; the newest one if left out",
    )


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", help="write to a file; its ending can say how")


def _rows(text: str) -> int:
    try:
        count = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows above zero")
    return count
