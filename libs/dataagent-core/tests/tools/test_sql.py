"""What the SQL tools tell the model of a result, beyond its rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypedDict

from langgraph.graph import StateGraph  # pyright: ignore[reportMissingTypeStubs] it has none

from dataagent_core.data.results import StoredResult
from dataagent_core.data.service import ExecutedQuery
from dataagent_core.data.types import Artifact, Receipt
from dataagent_core.tools.sql import result_for_model

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class State(TypedDict):
    told: dict[str, Any]


def answered(*, sql: str, policy: tuple[str, ...]) -> ExecutedQuery:
    receipt = Receipt("s", "shop", "sqlite", sql, sql, 0, False, None, 1.0, policy, "UTC", NOW)
    artifact = Artifact("a1", "anna", "s1", "r1", "table", "T", 0, NOW, None, receipt=receipt)
    return ExecutedQuery(artifact, receipt, StoredResult(0, 0, (), False, None, (), ()))


def told_in_a_run(result: ExecutedQuery) -> dict[str, Any]:
    """A run has the stream that new artefacts are announced on."""

    def node(state: State) -> State:
        return {**state, "told": result_for_model(result)}

    graph = StateGraph(State)
    # LangGraph's nodes are of many types
    graph.add_node("tell", node)  # pyright: ignore[reportUnknownMemberType]
    graph.set_entry_point("tell")
    # as above
    return graph.compile().invoke({"told": {}})["told"]  # pyright: ignore[reportUnknownMemberType]


def test_a_statement_and_rules_that_fit_are_told_whole() -> None:
    found = told_in_a_run(answered(sql="S" * 600, policy=("r" * 120,) * 5))

    assert found["sql_executed"] == "S" * 600
    assert found["policy"] == ["r" * 120] * 5


def test_a_statement_and_rules_that_do_not_fit_say_that_they_are_cut() -> None:
    found = told_in_a_run(answered(sql="S" * 601, policy=("r" * 121,) * 7))

    assert found["sql_executed"] == "S" * 600 + "…"
    assert found["policy"] == [*["r" * 120 + "…"] * 5, "and 2 more"]
