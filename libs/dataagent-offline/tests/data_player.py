"""Plays the data tools for the offline model over real databases, and holds a talk with it.

The tools' answers have the shapes the real ones have; the SQL passes the real guard and runs on a
real engine. What the model wants next is asked of `next_turn`, with the whole conversation each
time, as an agent would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dataagent_core.data import sql as guard
from dataagent_core.data.charts import check_spec, default_spec
from dataagent_core.data.figures import ResultTable, check_figures
from dataagent_core.data.types import Catalogue, Column, ResultColumn, Table
from dataagent_core.models.rule_based import Call, Say, conversation_of
from dataagent_offline.model import next_turn

_MOST_SAMPLES = 5
_PREVIEW = 20
_MOST_BYTES = 4_000
_MOST_SQL = 600
_PARAMETERS = {
    "sql_db_list_tables": ("tool_input", "source"),
    "sql_db_schema": ("table_names", "source"),
    "sql_db_query": ("query", "source", "title"),
    "search_catalogue": ("query", "source"),
    "make_chart": ("artifact_id", "spec", "title"),
}

Run = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]


class ToolError(Exception):
    """A tool's refusal, with its code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Source:
    """A database behind the tools: its dialect, its schema, and how a statement runs."""

    name: str
    dialect: str
    tables: list[dict[str, Any]]
    run: Run
    room: int = 12_000  # bytes of a schema that is told at once
    sampled: dict[str, Any] = field(default_factory=dict[str, Any])

    def schema(self, wanted: Sequence[str]) -> dict[str, Any]:
        chosen = [table for table in self.tables if not wanted or table["name"] in wanted]
        return {
            "source": self.name,
            "dialect": self.dialect,
            "time_zone": "UTC",
            **_fitted("tables", [self._with_samples(table) for table in chosen], self.room),
        }

    @cached_property
    def catalogue(self) -> Catalogue:
        tables = tuple(
            Table(
                name=table["name"],
                columns=tuple(Column(each["name"], each["type"]) for each in table["columns"]),
            )
            for table in self.tables
        )
        return Catalogue(self.name, self.dialect, tables, "", datetime(2025, 1, 1, tzinfo=UTC))

    def guarded(self, sql: str) -> str:
        """The statement as it would reach the driver."""
        statement = guard.resolve(guard.parse(sql, self.dialect), self.catalogue)
        return guard.render(statement)

    def _with_samples(self, table: dict[str, Any]) -> dict[str, Any]:
        name = table["name"]
        if name not in self.sampled:
            columns = [self._sampled(name, column) for column in table["columns"]]
            quote = "`" if self.dialect == "mysql" else '"'
            _, rows = self.run(f"SELECT COUNT(*) FROM {quote}{name}{quote}")
            self.sampled[name] = {**table, "columns": columns, "row_count": rows[0][0]}
        return self.sampled[name]

    def _sampled(self, table: str, column: dict[str, Any]) -> dict[str, Any]:
        quote = "`" if self.dialect == "mysql" else '"'
        name = f"{quote}{column['name']}{quote}"
        _, rows = self.run(
            f"SELECT {name} FROM {quote}{table}{quote} WHERE {name} IS NOT NULL"
            f" GROUP BY {name} ORDER BY COUNT(*) DESC, {name} LIMIT {_MOST_SAMPLES + 1}"
        )
        values = [str(row[0]) for row in rows]
        return {
            **column,
            "samples": values[:_MOST_SAMPLES],
            "samples_truncated": len(values) > _MOST_SAMPLES,
        }


@dataclass(frozen=True)
class Made:
    """A tool call and what the tool answered."""

    call: Call
    answer: Mapping[str, Any]


def same_rows(found: Sequence[Sequence[Any]], expected: Sequence[Sequence[Any]]) -> bool:
    """Whether two results are the same, in the same order; sums may differ in the last bits."""
    return [_plain(row) for row in found] == [_plain(row) for row in expected]


def shows_rows(text: str, rows: Sequence[Sequence[Any]]) -> bool:
    """Whether each cell of the rows that fit is in the text, rounded to four places at most."""
    return all(_shown(cell) in text for row in rows[:_PREVIEW] for cell in row)


def _fitted(key: str, items: list[Any], room: int) -> dict[str, Any]:
    """As many items as fit, and how many do not."""
    used = 0
    for number, item in enumerate(items):
        used += len(json.dumps(item, default=str, ensure_ascii=False).encode()) + 1
        if used > room and number:
            return {key: items[:number], "omitted": len(items) - number}
    return {key: items}


def _columns(answer: Mapping[str, Any]) -> list[ResultColumn]:
    return [
        ResultColumn(column["name"], column["name"], column["type"]) for column in answer["columns"]
    ]


def _arrow_type(cells: Sequence[Any]) -> str:
    """How Arrow would call the type of a column."""
    if cells and all(isinstance(cell, (int, float, Decimal)) for cell in cells):
        return "int64" if all(isinstance(cell, int) for cell in cells) else "double"
    return "string"


def _plain(row: Sequence[Any]) -> list[Any]:
    return [
        round(float(cell), 6) if isinstance(cell, (float, int, Decimal)) else cell for cell in row
    ]


def _shown(cell: Any) -> str:
    if isinstance(cell, (float, Decimal)):
        return f"{cell:.4f}".rstrip("0").rstrip(".")
    return "–" if cell is None else str(cell)


class Player:
    """A talk with the offline model, with tools over one or more sources."""

    def __init__(self, *sources: Source, tools: Sequence[str] = tuple(_PARAMETERS)) -> None:
        self.sources = {source.name: source for source in sources}
        self.messages: list[BaseMessage] = []
        self.made: list[Made] = []
        self.all_made: list[Made] = []
        self.results: dict[str, list[list[Any]]] = {}
        self._tools = [
            {
                "function": {
                    "name": name,
                    "parameters": {"properties": dict.fromkeys(_PARAMETERS[name])},
                }
            }
            for name in tools
        ]

    def ask(self, question: str) -> str:
        """The answer's text. The calls it took are in `made`."""
        self.messages.append(HumanMessage(question))
        self.made = []
        for _ in range(20):
            turn = next_turn(conversation_of(self.messages, self._tools))
            calls = [step for step in turn if isinstance(step, Call)]
            text = "".join(str(step.text) for step in turn if isinstance(step, Say))
            if not calls:
                self.messages.append(AIMessage(text))
                return text
            self.messages.append(AIMessage(text))
            for call in calls:
                self.messages.append(self._answered(call))
        raise AssertionError(f"no end: {question}")

    @property
    def was_answered(self) -> bool:
        """Whether the last answer is one with numbers: it carries a receipt."""
        text = str(self.messages[-1].text)
        return "```sql" in text and ("Source: " in text or "数据源: " in text)

    @property
    def query(self) -> Made:
        """The query whose rows are the answer: the last one, made in this turn or before."""
        return [made for made in self.all_made if made.call.name == "sql_db_query"][-1]

    @property
    def sql(self) -> str:
        return str(self.query.call.args["query"])

    @property
    def rows(self) -> list[list[Any]]:
        """All rows of the answer."""
        return self.results[str(self.query.answer["artifact_id"])]

    def unbacked(self, question: str) -> list[str]:
        """Figures of the last answer that no result of the talk holds."""
        results = [
            ResultTable(made.answer["artifact_id"], _columns(made.answer), rows, len(rows))
            for made in self.all_made
            if made.call.name == "sql_db_query" and "error" not in made.answer
            for rows in [self.results[made.answer["artifact_id"]]]
        ]
        report = check_figures(str(self.messages[-1].text), question, results)
        return [each.figure.text for each in report.unbacked]

    def _answered(self, call: Call) -> ToolMessage:
        status: Literal["success", "error"] = "success"
        try:
            answer = self.play(call)
        except ToolError as error:
            told: dict[str, Any] = {"code": error.code, "message": str(error), "nearest": []}
            answer, status = {"error": told}, "error"
        made = Made(call, answer)
        self.made.append(made)
        self.all_made.append(made)
        text = json.dumps(answer, default=str, ensure_ascii=False)
        call_id = f"call_{len(self.all_made)}"
        return ToolMessage(text, tool_call_id=call_id, name=call.name, status=status)

    def play(self, call: Call) -> dict[str, Any]:
        """What a tool answers."""
        args = call.args
        source = self.sources[args.get("source") or next(iter(self.sources))]
        match call.name:
            case "sql_db_schema":
                names = str(args["table_names"]).split(", ")
                return source.schema([name for name in names if name])
            case "sql_db_list_tables":
                tables = [{"name": t["name"], "comment": t.get("comment")} for t in source.tables]
                others = [name for name in self.sources if name != source.name]
                return {"source": source.name, "dialect": source.dialect, "tables": tables,
                        "other_sources": others}  # fmt: skip
            case "sql_db_query":
                return self._query(source, str(args["query"]))
            case "make_chart":
                return self._chart(args)
            case _:
                return {"hits": []}

    def _query(self, source: Source, sql: str) -> dict[str, Any]:
        try:
            executed = source.guarded(sql)
            columns, rows = source.run(executed)
        except Exception as error:  # every engine has its own
            raise ToolError("engine_error", f"{error}\n{sql}") from error
        artifact_id = f"artifact-{len(self.results)}"
        self.results[artifact_id] = [list(row) for row in rows]
        return {
            "artifact_id": artifact_id,
            "columns": [
                {"name": name, "type": _arrow_type([row[place] for row in rows])}
                for place, name in enumerate(columns)
            ],
            "row_count": len(rows),
            "truncated": False,
            "rows": _fitted("rows", [list(row) for row in rows[:_PREVIEW]], _MOST_BYTES)["rows"],
            "statistics": {},
            "sql_executed": executed[:_MOST_SQL],
            "source": source.name,
            "duration_ms": 1.0,
            "policy": [],
        }

    def _chart(self, args: Mapping[str, Any]) -> dict[str, Any]:
        if args["artifact_id"] not in self.results:
            raise ToolError("artifact_not_found", str(args["artifact_id"]))
        (made,) = (m for m in self.all_made if m.answer.get("artifact_id") == args["artifact_id"])
        columns = _columns(made.answer)
        spec = (
            check_spec(args["spec"], columns)
            if args["spec"]
            else default_spec(columns, row_count=10)
        )
        mark = spec["mark"]
        return {
            "artifact_id": f"chart-of-{args['artifact_id']}",
            "parent_id": args["artifact_id"],
            "kind": "chart",
            "mark": mark if isinstance(mark, str) else mark["type"],
        }
