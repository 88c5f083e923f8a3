"""What reads text from users, models, files and servers, with the tokens of what each reads.

A new reader is added here: its call, tokens of its own grammar, and how a text has to begin to be
read at all. `known` are families that were slow once.
"""

from __future__ import annotations

import atexit
import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from dataagent_cli.ui.clean import Cleaner, printable
from dataagent_cli.ui.markdown import BlockSplitter
from dataagent_core.agents.packages import BadPackage, read_package
from dataagent_core.agents.routing import choose
from dataagent_core.data.catalogue.search import words
from dataagent_core.data.charts import check_spec, default_spec
from dataagent_core.data.column_names import unique_names
from dataagent_core.data.figures import ResultTable, check_figures, find_figures
from dataagent_core.data.files.columns import column_names, table_name
from dataagent_core.data.files.delimited import detect_dialect
from dataagent_core.data.files.headers import find_header
from dataagent_core.data.policy.filters import parse_filter
from dataagent_core.data.sources.config_file import read_sources
from dataagent_core.data.sql import parse, render, resolve
from dataagent_core.data.types import Catalogue, Column, ResultColumn, Table
from dataagent_core.documents.output import as_table
from dataagent_core.documents.workbook import Formulas
from dataagent_core.errors import DataAgentError
from dataagent_core.mcp.catalogue.definitions import exposed_name, strip_invisible
from dataagent_core.mcp.servers.config_files import parse_config_file
from dataagent_core.mcp.servers.registration import alias_for
from dataagent_core.mcp.wire.frames import LineBuffer
from dataagent_core.models.directives import read_turns
from dataagent_core.models.failures import presentable
from dataagent_core.models.openai_stream import EventParser
from dataagent_core.models.rule_based import Conversation, summary_of
from dataagent_core.session.types import clean_title, title_of
from dataagent_core.skills.skill import BadSkill, parse_skill, split_command
from dataagent_core.telemetry.logs import Scrubber
from dataagent_core.workspace.file_kinds import plain_stem, shown_name
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.search import Budget, InvalidGlobPatternError, SearchScope, glob
from dataagent_harbor.scoring import has_order, numbers_in
from dataagent_offline.model import next_turn
from dataagent_server.api.streaming import content_disposition
from dataagent_server_demo.page_text import escape_markdown, sanitize_markdown
from tests.superlinear.families import Family
from tests.waiting import WAIT_SECONDS

_SMALL = (256, 2_048, 16_384)
_LARGE = (1_024, 8_192, 65_536)


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and what texts for it are made of."""

    name: str
    read: Callable[[str], object]
    tokens: Sequence[str]
    frames: Sequence[tuple[str, str]] = (("", ""),)
    sizes: tuple[int, ...] = _SMALL
    known: Sequence[Family] = ()


_fresh = count()  # makes each text a new one for readers that remember what they have read


def _refusing(read: Callable[[str], object], *errors: type[Exception]) -> Callable[[str], object]:
    """A reader that may refuse a text in the ways it is meant to."""

    def call(text: str) -> object:
        with suppress(DataAgentError, *errors):
            return read(text)
        return None

    return call


# -- figures ---------------------------------------------------------------------------------------

_COUNTRIES = ("Germany", "Norway", "Brazil", "德国", "挪威")
_RESULT = (
    [ResultColumn(name, name, kind) for name, kind in (("Country", "string"), ("n", "int64"))],
    [(country, at * 7) for at, country in enumerate(_COUNTRIES)],
)
_FIGURE_WORDS = (
    "1 23 456 7,890 1.5 2024 2% 3.4% 5万 6亿 $ - | , . ; : \" “ ” ' ` ``` / ~ # * @ _ ( ) id phone "
    "code top table from to grew fell share of total average more than about over times x Q1 March "
    "月 年 日 点 第 前 近 编号 三百 五个 百分之 从 到 占 增长 Germany Norway 德国 v1.2 1st 12:30 "
    "http://a a@b.c ‰ 倍 million k e5"
)
_FIGURE_GAPS = (" ", "\n", "  ", ". ", ", ", " | ", "\t", "from ", " Germany ")
_FIGURE_TOKENS = [*_FIGURE_WORDS.split(), *_FIGURE_GAPS]


def _check(text: str) -> object:
    columns, rows = _RESULT
    return check_figures(text, text, [ResultTable("a1", columns, rows, len(rows))])


_FIGURES = (
    Target(
        "figures: find",
        find_figures,
        _FIGURE_TOKENS,
        sizes=_LARGE,
        known=(
            Family("1", " "),
            Family("id", " "),
            Family("编号", " "),
            Family("近", "1", ".1"),
            Family("", "1 五个 "),
        ),
    ),
    Target(
        "figures: check",
        _check,
        _FIGURE_TOKENS,
        sizes=_SMALL,
        known=(
            Family("1", " "),
            Family("", "| 1 | 1"),
            Family("", "| 1.5% | 2"),
            Family("", "from 3% "),
            Family("", "Germany 3, "),
            Family("", "7 "),
        ),
    ),
    Target("harbor: numbers", numbers_in, _FIGURE_TOKENS),
)

# -- statements ------------------------------------------------------------------------------------

_CATALOGUE = Catalogue(
    "s1",
    "sqlite",
    (Table("t", (Column("a", "INTEGER"), Column("b", "TEXT"))), Table("u", (Column("c", "REAL"),))),
    "1",
    datetime(2026, 1, 1, tzinfo=UTC),
)
_SQL_WORDS = (
    "SELECT FROM WHERE JOIN ON AND OR NOT IN AS CASE WHEN THEN END UNION WITH EXISTS BETWEEN LIKE "
    "IS NULL OVER GROUP BY ORDER"
)
_SQL_TOKENS = [
    *(f" {word} " for word in _SQL_WORDS.split()),
    *("a", "b", " t", " u", "1", "'x'", '"b"', "(", ")", "[", "]", "{", "}", ",", ".", ";", "*"),
    *("+", "-", "->", "::", "=", "<", "||", "%", "--", "/*", "*/", "\n", " ", "`", "'", "\\", "$$"),
    *("format('{", "printf('%", "abs(", "coalesce(", "a = 1 AND ", "a IN (1", "JOIN u ", ", t"),
]
_STATEMENT_FRAMES = (
    *(("", ""), ("SELECT ", " FROM t"), ("SELECT ", "a FROM t"), ("SELECT ", "1 FROM t")),
    *(
        ("SELECT * FROM t WHERE ", "a = 1"),
        ("SELECT a FROM t ", ""),
        ("SELECT a IN (", "1) FROM t"),
    ),
    *(("SELECT a FROM t ORDER BY ", "a"), ("SELECT '", "' FROM t"), ("SELECT abs(", "a) FROM t")),
    *(("```\n", "\n```"), ("WITH x AS (SELECT ", "1) SELECT * FROM x"), ("SELECT * FROM t, ", "u")),
    *(
        ("SELECT CASE ", " END FROM t"),
        ('SELECT "', '" FROM t'),
        ("SELECT printf('", "', a) FROM t"),
    ),
)
_STATEMENT_UNITS = [
    *(
        "a = 1 AND ",
        "a, ",
        "1, ",
        "JOIN u ",
        "JOIN u ON a = c ",
        ", u",
        "(SELECT 1), ",
        "NOT ",
        "- ",
    ),
    *(
        "a + ",
        "'x' || ",
        "WHEN a = 1 THEN 2 ",
        "UNION SELECT a FROM t ",
        "a.",
        "[1]",
        "::text",
        "/**/ ",
    ),
    *(
        "CROSS JOIN u ",
        "a IS NULL OR ",
        "a BETWEEN 1 AND ",
        "CASE WHEN a THEN ",
        "x AS (SELECT 1), ",
    ),
    *(
        "EXISTS (SELECT 1) AND ",
        "{",
        "%1",
        "%*",
        "a -> ",
        "DISTINCT ",
        "ALL ",
        "INTERVAL ",
        "CAST(",
        ";",
    ),
]


_STATEMENT_KNOWN = (
    Family("SELECT format('", "{", "', a) FROM t"),
    Family("SELECT * FROM t ", "JOIN u "),
    Family("```\n", " ", "x"),
    Family("SELECT 1", ";"),
)


def _statement(dialect: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        statement = parse(text, dialect)
        return render(resolve(statement, _CATALOGUE))

    return _refusing(read)


def _filter(dialect: str) -> Callable[[str], object]:
    return _refusing(lambda text: parse_filter(f"a{next(_fresh)} = 1 AND {text}", dialect))


_STATEMENTS = (
    *(
        Target(
            f"guard: {dialect}",
            _statement(dialect),
            [*_STATEMENT_UNITS, *_SQL_TOKENS],
            frames=_STATEMENT_FRAMES,
            known=_STATEMENT_KNOWN,
        )
        for dialect in ("sqlite", "postgres", "mysql", "duckdb")
    ),
    *(
        Target(
            f"row filter: {dialect}",
            _filter(dialect),
            [*_STATEMENT_UNITS, *_SQL_TOKENS],
            frames=(("", ""), ("", "a = 1"), ("abs(", "a) = 1")),
        )
        for dialect in ("sqlite", "postgres")
    ),
    Target("harbor: has_order", has_order, [" order ", "by ", ")", "(", "a", " "]),
)

# -- charts ----------------------------------------------------------------------------------------

_CHART_COLUMNS = [
    ResultColumn("Sales.[x]", "Sales.[x]", "int64"),
    ResultColumn("日期", "日期", "date32"),
]


def _chart(text: str) -> None:
    channel = {"field": text}
    specs: tuple[dict[str, Any], ...] = (  # Any: JSON
        {"mark": "bar", "encoding": {"x": channel}},
        {"mark": "bar", "title": text},
        {"mark": "bar", "encoding": {"x": {"field": "日期", "timeUnit": text}}},
        {"mark": "bar", "encoding": {"x": {"field": "日期", "axis": {"format": text}}}},
        {
            "mark": "bar",
            "transform": [{"filter": text}, {"filter": {"field": text, "equal": text}}],
        },
        {"mark": text, "encoding": {}},
    )
    for spec in specs:
        with suppress(DataAgentError):
            check_spec(spec, _CHART_COLUMNS)
    with suppress(DataAgentError):
        default_spec([ResultColumn(text, text, "string"), *_CHART_COLUMNS], row_count=5)


_CHARTS = (
    Target(
        "charts: names and texts",
        _chart,
        [*"a.[]\\'\"%{}():,= \n", "year", "month", "Sales", "utc", "url(", "Aa", "日期"],
    ),
)

# -- files and documents ---------------------------------------------------------------------------


def _csv(text: str) -> object:
    dialect = detect_dialect(text, name="a.csv")
    return find_header(list(dialect.reader(io.StringIO(text, newline="")))[:100])


def _result_names(text: str) -> object:
    return unique_names(text.split(",")), table_name(text, text, (), set())


def _formulas(text: str) -> object:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("xl/workbook.xml", f'<sheet name="A" r:id="1"/>{text}')
        archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationship Id="1" Target="s"/>{text}')
        archive.writestr("xl/s", f'<c r="A1"><f>1</f></c>{text}')
    return Formulas(stream).of("A", 0, 1_000)


_COLUMN_TOKENS = ["a", "A", ",", "_", " ", "a,", "_2,", "a_2,", "一", "\x00"]
_FILES = (
    Target(
        "files: CSV",
        _refusing(_csv, csv.Error),
        ["a", "1", ",", ";", "\t", '"', "'", "\n", "\r\n", " ", '\\"', ', "', "2024", "|", "a,b\n"],
    ),
    Target(
        "files: names of columns",
        lambda text: column_names(text.split(",")),
        _COLUMN_TOKENS,
        known=(Family("", "a,"),),
    ),
    Target("results: names of columns", _result_names, _COLUMN_TOKENS, known=(Family("", "a,"),)),
    Target(
        "documents: formulas",
        _formulas,
        [
            *("<c ", "<c>", "<c\t>", "</c>", "<f>", "<f ", "</f>", "<v>", "<v ", "</v>", "<sheet "),
            *(
                "<Relationship ",
                "<a:c ",
                'r="A2"',
                't="e"',
                "/>",
                ">",
                "<",
                "a",
                ":",
                " ",
                '"',
                "&",
            ),
        ],
        sizes=_LARGE,
        known=(
            Family("", "<c "),
            Family("", "<sheet "),
            Family("", "<c\t>"),
            Family("<c r=''>", "<f "),
        ),
    ),
    Target(
        "documents: rows",
        lambda text: as_table([text.split("|"), text.split("\n")]),
        ["a", "|", "\n", "\r", " ", "\\"],
    ),
)

# -- skills, agents, titles, questions -------------------------------------------------------------


def _skill(text: str) -> object:
    return parse_skill(f"---\nname: a\ndescription: b\n{text}\n---\nDo it.\n".encode(), folder="a")


def _package(text: str) -> object:
    with TemporaryDirectory() as folder:
        package = Path(folder) / "one"
        package.mkdir()
        (package / "AGENTS.md").write_text(f"---\n{text}\n---\nDo it.\n", encoding="utf-8")
        return read_package(package)


_YAML_TOKENS = [
    *("a", ": ", "- ", "[", "]", "{", "}", ", ", "? ", "| ", "> ", "&a ", "*a ", "!!str ", "#"),
    *(
        '"',
        "'",
        "\n",
        "  ",
        "\n  ",
        "\n- ",
        "---",
        "...",
        "%",
        "@",
        "`",
        "\\",
        "description: ",
        "\t",
    ),
]
_MARKDOWN_TOKENS = [
    *("#", "# ", "> ", "- ", "* ", "1. ", "**", "__", "`", "```", "~~~", "[", "](", ")", "\n"),
    *(
        "a",
        " ",
        "\t",
        "|",
        "---",
        "[ROUTE_TO:",
        "[SKILL:",
        "]",
        "/a-b",
        "$",
        "\\$",
        "![",
        "一",
        "。",
    ),
]
_QUESTION_WORDS = "how many sales by month list files read write save to into in as a.txt please"
_QUESTION_TOKENS = [
    *_QUESTION_WORDS.split(),
    *(
        " ",
        ", ",
        ".",
        "?",
        "!",
        "\n",
        "please ",
        " to ",
        " in ",
        "读取",
        "把",
        "写入",
        "文件",
        "的",
        "请",
    ),
    *(
        "我的",
        "按月",
        "多少",
        "2024",
        "'",
        '"',
        "`",
        "```sql\n",
        "```",
        "`a`",
        "/",
        "ls ",
        "hi ",
        "!tool ",
    ),
    *("!echo ", "{", "[", "show me ", "列出", "“", "@", "这个", "内容", "：", "with ", "content "),
]
_TOOLS: dict[str, list[str]] = {
    name: [] for name in ("sql_db_query", "sql_db_schema", "ls", "read_file", "write_file")
}


def _question(text: str) -> object:
    return next_turn(Conversation(text, (), _TOOLS))


def _route(text: str) -> object:
    return choose(text, file_ids=(), skill=None, agents=())


def _blocks(text: str) -> object:
    splitter = BlockSplitter()
    return [*splitter.feed(text), splitter.flush()]


_TALK = (
    Target(
        "skills: front matter",
        _refusing(_skill, BadSkill),
        _YAML_TOKENS,
        sizes=(128, 1_024, 8_192),
    ),
    Target(
        "agents: front matter",
        _refusing(_package, BadPackage),
        _YAML_TOKENS,
        sizes=(128, 1_024, 8_192),
        known=(Family("", "["),),
    ),
    Target(
        "skills: command",
        split_command,
        ["/", "a", "1", "-", " ", "a-", "\n"],
        frames=(("/", ""), ("", "")),
    ),
    Target("sessions: title", lambda text: (title_of(text), clean_title(text)), _MARKDOWN_TOKENS),
    Target("agents: routing", _route, _MARKDOWN_TOKENS, frames=(("", ""), ("[SKILL:x] ", ""))),
    Target(
        "offline: questions",
        _question,
        _QUESTION_TOKENS,
        frames=[(begin, "") for begin in ("", "write ", "read ", "把", "please ")],
    ),
    Target(
        "offline: directives",
        read_turns,
        _QUESTION_TOKENS,
        frames=(("", ""), ("!tool ", ""), ("!echo ", "")),
    ),
    Target(
        "offline: summary",
        summary_of,
        [
            *("<messages>", "Messages to summarize:\n", "\n</messages>", '<message type="human">'),
            *(
                "</message>",
                "<content>",
                "</content>",
                '<tool_call id="',
                '" name="',
                "a",
                " ",
                "\n",
            ),
        ],
        frames=(("", ""), ("<messages>Messages to summarize:\n", "\n</messages>")),
        sizes=_LARGE,
        known=(
            Family("", "<messages>Messages to summarize:\n"),
            Family("<messages>Messages to summarize:\n", '<message type="ai">', "\n</messages>"),
            Family(
                '<messages>Messages to summarize:\n<message type="ai">',
                "<content>",
                "</message>\n</messages>",
            ),
        ),
    ),
    Target("terminal: Markdown blocks", _blocks, _MARKDOWN_TOKENS),
    Target(
        "demo: Markdown",
        lambda text: (sanitize_markdown(text), escape_markdown(text)),
        _MARKDOWN_TOKENS,
    ),
)

# -- names, addresses, streams ---------------------------------------------------------------------


def _terminal(text: str) -> None:
    printable(text)
    cleaner = Cleaner()
    for at in range(0, len(text), 100):
        cleaner.feed(text[at : at + 100])
    cleaner.rest()


def _variables(text: str) -> object:
    content = {
        "mcpServers": {"a": {"command": "b", "args": [text], "url": text, "env": {"A": text}}}
    }
    return parse_config_file(json.dumps(content).encode(), "mcp.json", expand=True, environment={})


def _sources(text: str) -> object:
    return read_sources(
        f"sources:\n  - name: a\n    url: {json.dumps(text)}\n",
        file="sources.yaml",
        folder=Path(),
        environment={"A": "b"},
    )


def _stream(text: str) -> None:
    """Each line in pieces: a server sends them as it likes."""
    parser, lines, data = EventParser(), LineBuffer(1 << 20), text.encode()
    for at in range(0, len(data), 4):
        parser.feed(data[at : at + 4])
        list(lines.feed(data[at : at + 4]))
    parser.finish()


_NAME_TOKENS = [
    *("a", "A", "1", "_", "-", ".", " ", "/", "\\", ":", "*", "?", '"', "%", "一", "é", "e\u0301"),
    *("\u200d", "\u202e", "..", "__", "(", ")", ";", "=", "\t", "\x00"),
]


def _file_names(text: str) -> None:
    shown_name(text)
    plain_stem(text)
    content_disposition(text, "csv")


def _mcp_names(text: str) -> None:
    exposed_name("a", text)
    alias_for(text)
    strip_invisible(text, 1_000)


_SCRUBBER = Scrubber(["a secret value"])
_NAMES = (
    Target("workspace: file names", _file_names, _NAME_TOKENS),
    Target("MCP: names", _mcp_names, _NAME_TOKENS),
    Target(
        "catalogue: words",
        lambda text: words(f"w{next(_fresh)} {text}"),
        [*_NAME_TOKENS, "aB", "销售"],
    ),
    Target(
        "logs: secrets",
        _SCRUBBER.text,
        [
            *(
                "eyJ",
                ".",
                "a",
                "1",
                "-",
                "_",
                "sk-",
                "bearer ",
                "://",
                ":",
                "@",
                "password",
                "=",
                '"',
            ),
            *("'", " ", "token", "api_key", "dak_", "[", "]", "\n", "/"),
        ],
    ),
    Target(
        "model errors: keys", presentable, ["sk-", "key-", "a", "-", ".", "*", " ", "\n", "<", ">"]
    ),
    Target(
        "MCP: variables",
        _refusing(_variables),
        ["${", "}", ":-", "A", "a", "$", "{", " ", "_", "1"],
        frames=(("", ""), ("${A", "")),
        known=(Family("", "${A:-"),),
    ),
    Target(
        "sources: variables",
        _refusing(_sources),
        ["${", "}", "A", "a", "$", "{", " ", "://", "@", ":"],
        known=(Family("", "${"),),
    ),
    Target(
        "streams: events",
        _stream,
        ["data:", " ", "a", "\n", "\r\n", "\r", ":", "event: ", "{", '"'],
        sizes=_LARGE,
        known=(Family("data: ", "a"),),
    ),
    Target(
        "terminal: control sequences",
        _terminal,
        [
            "\x1b",
            "\x1b[",
            "\x1b]",
            "\x9b",
            "\x07",
            "\x1b\\",
            "0",
            ";",
            "m",
            "a",
            "\r",
            "\n",
            " ",
            "P",
            "_",
        ],
        sizes=_LARGE,
    ),
)

# -- patterns of files -----------------------------------------------------------------------------

_GLOB_TOKENS = ["*", "**", "a", "b", "/", "?", "[a]", "[!b]", "{a,b}", "*a", "**/", "a*", ".", "!"]


@cache
def _folder() -> Path:
    """A file with a long name, and folders in folders; it goes when the process ends."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    deepest = folder.joinpath(*("a" for _ in range(60)))
    deepest.mkdir(parents=True)
    for place in (deepest / ("a" * 200), folder / ("a" * 200)):
        place.touch()
    return folder


def _glob(text: str) -> object:
    return glob(Jail(_folder()), text, SearchScope("/"), Budget(WAIT_SECONDS))


def _ignore(text: str) -> object:
    with TemporaryDirectory() as folder:
        Path(folder, ".gitignore").write_text(text, encoding="utf-8")
        Path(folder, "a" * 200).touch()
        return glob(
            Jail(Path(folder)), "*", SearchScope("/", leave_ignored=True), Budget(WAIT_SECONDS)
        )


_PATTERNS = (
    Target(
        "workspace: glob",
        _refusing(_glob, InvalidGlobPatternError),
        _GLOB_TOKENS,
        sizes=(16, 128, 1_024),
        known=(Family("", "**/?/"), Family("a*", "*a**/", "a")),
    ),
    Target(
        "workspace: ignore files",
        _ignore,
        [*_GLOB_TOKENS, "\n", "#", "\\", " ", "*a*b*\n", "!*a\n", "/\n"],
        sizes=(64, 512, 4_096),
        known=(Family("", "**", "b"),),
    ),
)

TARGETS = (*_FIGURES, *_STATEMENTS, *_CHARTS, *_FILES, *_TALK, *_NAMES, *_PATTERNS)

UNMENDED: dict[str, str] = {}
"""Readers that are still slow, and for which texts. One that is fixed is removed."""
