"""How the offline model goes about a question: the tools it calls, and what it does in trouble."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dataagent_core.models.rule_based import Call, Say, conversation_of
from dataagent_offline.model import OfflineChatModel, next_turn

from .data_player import Player, Source, ToolError
from .data_sources import company, orders, shop


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    made = shop(tmp_path_factory.mktemp("shop"))
    made.room = 100_000
    return made


class Stubborn(Player):
    """Tools of which some answer with an error, by the number of the call."""

    def __init__(self, source: Source, errors: Mapping[tuple[str, int], ToolError]) -> None:
        super().__init__(source)
        self._errors = errors
        self._calls: dict[str, int] = {}

    def play(self, call: Call) -> dict[str, Any]:
        number = self._calls[call.name] = self._calls.get(call.name, 0) + 1
        error = self._errors.get((call.name, number)) or self._errors.get((call.name, 0))
        if error:
            raise error
        return super().play(call)


def called(player: Player) -> list[str]:
    return [made.call.name for made in player.made]


# -- the way to an answer -----------------------------------------------------------------------


def test_the_schema_is_read_and_then_one_query_made(source: Source) -> None:
    player = Player(source)
    text = player.ask("how many customers are there?")
    schema, query = (made.call for made in player.made)
    assert schema == Call("sql_db_schema", {"table_names": "", "source": None})
    assert query == Call(
        "sql_db_query",
        {
            "query": "SELECT COUNT(*) AS customer_count\nFROM Customer",
            "source": "chinook",
            "title": "number of rows of Customer",
        },
    )
    executed = player.query.answer["sql_executed"]
    assert text == (
        "**129**\n\nRead as: number of rows of Customer\n\n"
        f"Source: chinook · rows: 1\n\n```sql\n{executed}\n```\n\n"
        "(Offline model: answered by rule, without a language model. For real answers set "
        "DATAAGENT_MODEL and the provider's key.)"
    )


def test_a_value_that_no_sample_shows_is_looked_up_first(source: Source) -> None:
    player = Player(source)
    player.ask("how many customers are in Leipzig?")
    assert called(player) == ["sql_db_schema", "sql_db_query", "sql_db_query"]
    looked_up, asked = (made.call.args["query"] for made in player.made[1:])
    assert "LOWER(Customer.City) IN ('leipzig')" in looked_up
    assert "WHERE Customer.City = 'Leipzig'" in asked


def test_a_time_names_its_zone(source: Source) -> None:
    assert "time zone: UTC" in Player(source).ask("sales in 2023")


def test_what_limits_an_answer_is_told(source: Source) -> None:
    class Limited(Player):
        def play(self, call: Call) -> dict[str, Any]:
            answer = super().play(call)
            if call.name == "sql_db_query":
                answer |= {"truncated": True, "policy": ["Only region north is shown."]}
            return answer

    text = Limited(source).ask("sales by country")
    assert "(truncated)" in text
    assert "Only region north is shown." in text


def test_a_grouping_named_twice_is_one_grouping(source: Source) -> None:
    player = Player(source)
    player.ask("sales by country and country")
    assert [column["name"] for column in player.query.answer["columns"]] == ["Country", "sales"]


def test_a_tie_for_the_first_place_is_shown_whole() -> None:
    player = Player(company())
    player.ask("who has the highest salary?")
    assert len(player.rows) == 2
    assert len({row[-1] for row in player.rows}) == 1


@pytest.mark.parametrize("question", ["which tables are there?", "有哪些表？"])
def test_the_tables_are_told(source: Source, question: str) -> None:
    player = Player(source)
    text = player.ask(question)
    assert called(player) == ["sql_db_schema"]
    assert "| InvoiceLine |" in text


@pytest.mark.parametrize("question", ["what columns does Customer have?", "客户表有哪些字段"])
def test_the_columns_of_a_table_are_told(source: Source, question: str) -> None:
    assert "| SupportRepId | INTEGER |" in Player(source).ask(question)


def test_without_the_data_tools_the_skill_is_silent(source: Source) -> None:
    player = Player(source, tools=("sql_db_query",))
    assert "I cannot answer that" in player.ask("how many customers are there?")
    assert player.made == []


# -- charts -------------------------------------------------------------------------------------


def chart(player: Player) -> dict[str, Any]:
    (made,) = (made for made in player.made if made.call.name == "make_chart")
    return made.call.args


@pytest.mark.parametrize(
    ("question", "mark", "x"),
    [
        ("sales by country as a chart", "bar", "Country"),
        ("按月统计2023年的销售额，画成图", "line", "month"),
        ("monthly sales in 2023 as a bar chart", "bar", "month"),
        ("各流派的曲目数量，用饼图", "arc", "Genre"),
        ("plot the top 5 artists by sales", "bar", "Artist"),
        ("chart sales by country and year", "line", "year"),
    ],
)
def test_a_chart_is_drawn_from_the_result(source: Source, question: str, mark: str, x: str) -> None:
    player = Player(source)
    text = player.ask(question)
    args = chart(player)
    assert args["artifact_id"] == player.query.answer["artifact_id"]
    assert args["spec"]["mark"] == mark
    columns = {column["name"] for column in player.query.answer["columns"]}
    channels = args["spec"]["encoding"].values()
    assert {channel["field"] for channel in channels} <= columns
    assert x in {channel["field"] for channel in channels}
    assert f"({mark})" in text or f"（{mark}）" in text


@pytest.mark.parametrize("question", ["as a chart", "画成图", "plot it", "show it as a bar chart"])
def test_a_chart_of_the_last_answer_needs_no_second_query(source: Source, question: str) -> None:
    player = Player(source)
    player.ask("sales by country")
    before = player.query
    player.ask(question)
    assert called(player) == ["sql_db_schema", "make_chart"]
    assert chart(player)["artifact_id"] == before.answer["artifact_id"]


def test_one_number_is_not_drawn(source: Source) -> None:
    player = Player(source)
    text = player.ask("total sales as a chart")
    assert "make_chart" not in called(player)
    assert "There is no chart: the answer has no groups to draw." in text
    assert player.was_answered


def test_without_a_chart_tool_the_table_is_given(source: Source) -> None:
    player = Player(source, tools=("sql_db_schema", "sql_db_query"))
    text = player.ask("sales by country as a chart")
    assert "no tool `make_chart`" in text
    assert "| USA |" in text


def test_a_refused_chart_is_tried_once_more_by_default_and_then_given_up(source: Source) -> None:
    once = Stubborn(source, {("make_chart", 1): ToolError("chart_invalid", "no")})
    once.ask("sales by country as a chart")
    specs = [made.call.args["spec"] for made in once.made if made.call.name == "make_chart"]
    assert specs[0] is not None
    assert specs[1:] == [None]
    never = Stubborn(source, {("make_chart", 0): ToolError("chart_invalid", "no")})
    assert "the chart could not be made" in never.ask("sales by country as a chart")
    assert never.was_answered


# -- trouble ------------------------------------------------------------------------------------


def test_after_an_unknown_name_the_schema_is_read_again(source: Source) -> None:
    """The first schema speaks of a column that is gone by the time of the query."""

    class Drifting(Player):
        def play(self, call: Call) -> dict[str, Any]:
            answer = super().play(call)
            if call.name == "sql_db_schema" and len(self.made) == 0:
                answer = json.loads(json.dumps(answer).replace('"Total"', '"GrandTotal"'))
            return answer

        def _query(self, source: Source, sql: str) -> dict[str, Any]:
            if "GrandTotal" in sql:
                raise ToolError("unknown_name", "Column 'GrandTotal' is not known.")
            return super()._query(source, sql)

    player = Drifting(source)
    player.ask("total sales")
    assert called(player) == ["sql_db_schema", "sql_db_query", "sql_db_schema", "sql_db_query"]
    assert player.was_answered
    assert "SUM(Invoice.Total)" in player.sql


def test_where_date_functions_fail_the_text_of_the_date_is_cut(source: Source) -> None:
    player = Stubborn(source, {("sql_db_query", 1): ToolError("engine_error", "no STRFTIME")})
    player.ask("sales by year")
    assert player.was_answered
    assert "SUBSTR(CAST(Invoice.InvoiceDate AS TEXT), 1, 4)" in player.sql
    assert player.rows[0][0] == "2021"


def test_repair_ends_after_three_tries_and_says_so(source: Source) -> None:
    class Moving(Player):
        """Each schema names the column anew, and each name is unknown."""

        def play(self, call: Call) -> dict[str, Any]:
            answer = super().play(call)
            if call.name == "sql_db_schema":
                name = f'"Total{"x" * len(self.made)}"'
                answer = json.loads(
                    json.dumps(answer).replace('"Total"', f'{name[:-1]}", "comment": "total"')
                )
            return answer

        def _query(self, source: Source, sql: str) -> dict[str, Any]:
            raise ToolError("unknown_name", "No such column.")

    player = Moving(source)
    text = player.ask("average invoice total")
    assert called(player).count("sql_db_query") == 4
    assert "The data could not be read, so I have no number." in text
    assert "No such column." in text


@pytest.mark.parametrize("code", ["denied", "query_timeout"])
def test_what_is_denied_or_too_slow_is_not_tried_again(source: Source, code: str) -> None:
    player = Stubborn(source, {("sql_db_query", 0): ToolError(code, "Not for you.")})
    text = player.ask("sales by year")
    assert called(player) == ["sql_db_schema", "sql_db_query"]
    assert "Not for you." in text


def test_a_source_that_cannot_be_read_is_told(source: Source) -> None:
    player = Stubborn(source, {("sql_db_schema", 0): ToolError("source_not_found", "No source.")})
    assert "No source." in player.ask("how many customers are there?")


# -- several sources, large sources -------------------------------------------------------------


def test_a_question_goes_to_the_source_that_understands_it(source: Source) -> None:
    player = Player(source, company(), orders())
    player.ask("how many projects are there?")
    assert player.was_answered
    assert player.query.call.args["source"] == "company"
    player.ask("总预算")
    assert player.query.call.args["source"] == "company"


def test_a_question_that_two_sources_understand_is_asked_back(source: Source) -> None:
    other = company()
    other.name = "branch"
    player = Player(source, company(), other)
    text = player.ask("how many projects are there?")
    assert not player.was_answered
    assert "branch" in text
    assert "company" in text


def test_tables_that_do_not_fit_at_once_are_asked_for(source: Source) -> None:
    source = replace(source, room=4_000)
    player = Player(source)
    player.ask("sales by genre")
    assert player.was_answered
    assert "InvoiceLine.UnitPrice * InvoiceLine.Quantity" in player.sql
    told = [made.answer["tables"] for made in player.made if made.call.name == "sql_db_schema"]
    assert len(told) > 2
    names = [table["name"] for tables in told for table in tables]
    assert sorted(names) == sorted(table["name"] for table in source.tables)


def test_of_a_very_large_source_the_named_and_found_tables_are_read(source: Source) -> None:
    class Large(Player):
        """A source with a hundred tables more, of which the schema tool tells one unasked."""

        def play(self, call: Call) -> dict[str, Any]:
            answer = super().play(call)
            match call.name:
                case "sql_db_schema" if not call.args["table_names"]:
                    answer |= {"tables": answer["tables"][:1], "omitted": 110}
                case "sql_db_list_tables":
                    answer["tables"] += [{"name": f"archive_{number}"} for number in range(100)]
                case "search_catalogue":
                    answer["hits"] = [{"table": "Album", "columns": ["Title"], "why": "name"}]
                case _:
                    pass
            return answer

    player = Large(source)
    player.ask("how many tracks does each genre have")
    assert player.was_answered
    assert called(player)[:3] == ["sql_db_schema", "sql_db_list_tables", "search_catalogue"]
    assert set(player.made[3].call.args["table_names"].split(", ")) == {"Genre", "Track", "Album"}


def test_a_statement_that_was_cut_is_shown_as_it_was_asked(source: Source) -> None:
    player = Player(source)
    text = player.ask("sales by artist and country for customers of Germany in 2023")
    assert len(player.query.answer["sql_executed"]) == 600
    assert f"```sql\n{player.sql}\n```" in text


# -- the conversation ---------------------------------------------------------------------------


def test_the_same_conversation_gets_the_same_answer(source: Source) -> None:
    texts: list[str] = []
    for _ in range(2):
        player = Player(source)
        player.ask("sales by year")
        texts.append(player.ask("and only for Germany"))
    assert texts[0] == texts[1]


def test_results_that_another_model_asked_for_are_reported_not_misread() -> None:
    messages: list[BaseMessage] = [
        HumanMessage("how many customers are there?"),
        AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "1"}]),
        ToolMessage("notes.md", tool_call_id="1", name="ls"),
    ]
    tools: list[dict[str, Any]] = [
        {"function": {"name": name, "parameters": {}}} for name in ("sql_db_schema", "sql_db_query")
    ]
    (said,) = next_turn(conversation_of(messages, tools))
    assert isinstance(said, Say)
    assert "notes.md" in str(said.text)


def test_talk_between_two_questions_does_not_break_a_follow_up(source: Source) -> None:
    player = Player(source)
    player.ask("how many customers are in Germany?")
    player.ask("hello")
    player.ask("and France?")
    assert player.was_answered
    assert "'France'" in player.sql


async def test_the_model_itself_calls_and_answers(source: Source) -> None:
    model = OfflineChatModel().bind(tools=Player(source)._tools)
    messages: list[BaseMessage] = [HumanMessage("how many customers are there?")]
    asked = await model.ainvoke(messages)
    assert [call["name"] for call in asked.tool_calls] == ["sql_db_schema"]
    schema = json.dumps(source.schema([]), default=str)
    messages += [asked, ToolMessage(schema, tool_call_id=str(asked.tool_calls[0]["id"]),
                                    name="sql_db_schema")]  # fmt: skip
    queried = await model.ainvoke(messages)
    assert [call["name"] for call in queried.tool_calls] == ["sql_db_query"]
