"""The words of the commands over data. Only argparse is imported, so that `--help` stays quick.

Above: `arguments.py`. What the words lead to is in `data/obey.py`.
"""

from __future__ import annotations

import argparse

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from argparse import ArgumentParser

    Commands = argparse._SubParsersAction[ArgumentParser]  # pyright: ignore[reportPrivateUsage] argparse gives it no other name

SQL_FORMATS = ("table", "csv", "json", "jsonl", "markdown", "parquet", "xlsx")
EXPORT_FORMATS = (*SQL_FORMATS[1:], "png", "svg")
_SQL_EXAMPLES = """\
examples:
  dataagent sql "SELECT Country, count(*) FROM Customer GROUP BY 1"
  dataagent sql - --source shop < report.sql
  dataagent sql "SELECT * FROM Invoice" --output invoices.xlsx
  dataagent sql "SELECT * FROM Track" --format jsonl | jq .Name

The rows go to standard output, what they rest on to standard error. Ctrl-C stops the statement.
exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted
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
    action: str | None  # of sources: add, remove, refresh; None lists them
    name: str
    place: str
    description: str
    time_zone: str
    grants: list[str]
    asks_password: bool
    source: str | None
    tables: list[str]
    words: list[str] | None
    statement: str
    artifact_id: str
    format: str | None
    output: str | None
    limit: int | None


def add_data_commands(parser: ArgumentParser) -> None:
    """Add the commands to the program's parser."""
    commands: Commands = parser.add_subparsers(title="data", dest="command", metavar="COMMAND")
    _add_sources(_command(commands, "sources", "list data sources; add, remove or refresh one"))
    _add_schema(_command(commands, "schema", "tables and columns of a data source"))
    _add_sql(_command(commands, "sql", "run one statement and show its rows", _SQL_EXAMPLES))
    _add_export(_command(commands, "export", "write a kept result or chart to a file"))


def _command(
    commands: Commands, name: str, summary: str, epilog: str | None = None
) -> ArgumentParser:
    made = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    _command(actions, "list", "list the sources (as without an action)")
    add = _command(actions, "add", "register a database, a folder or a file", _ADD_EXAMPLES)
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
    remove = _command(actions, "remove", "forget a source; its data and kept results stay")
    remove.add_argument("name", metavar="NAME")
    refresh = _command(actions, "refresh", "look at a source again and say what changed")
    refresh.add_argument("name", metavar="NAME")


def _add_schema(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="the usual one if left out")
    parser.add_argument("tables", metavar="TABLE", nargs="*", help="show the columns of these")
    parser.add_argument(
        "--search",
        dest="words",
        metavar="WORDS",
        nargs="+",
        help="show the tables that fit some words",
    )


def _add_sql(parser: ArgumentParser) -> None:
    parser.add_argument("statement", metavar="SQL", help="one query; - reads it from the input")
    parser.add_argument("--source", metavar="NAME", help="the usual one if left out")
    parser.add_argument("--format", choices=SQL_FORMATS, help="table, unless --output says more")
    _add_output(parser)
    parser.add_argument(
        "--limit", metavar="ROWS", type=_rows, help="read no more than so many rows, show them all"
    )


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument(
        "artifact_id", metavar="ARTEFACT", help="its id, or 'last' for the newest one"
    )
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, help="csv, or png for a chart, unless --output says so"
    )
    _add_output(parser)


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
