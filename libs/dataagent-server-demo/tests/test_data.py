"""Tables, charts and files of real answers: AppTest, a real server, the offline model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pyarrow.ipc  # pyright: ignore[reportMissingTypeStubs] it has none
import pytest
import streamlit as st

from dataagent_client import SyncDataAgentClient
from tests.end_to_end.server import KEY, Server

if TYPE_CHECKING:
    from conftest import Page, Visit

QUESTION = "按月统计2023年的销售额，画成图"


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Server:
    return start(DATAAGENT_MODEL="offline", DATAAGENT_SAMPLE_DATA="true")


def is_ready(page: Page) -> bool:
    return page.is_ready


def test_a_data_question_shows_its_table_its_sql_and_its_figures(
    server: Server, visit: Visit
) -> None:
    page = visit(server.url).ask("top 5 countries by sales in 2024").until(is_ready)
    [table] = page.app.dataframe
    assert len(table.value) == 5
    assert len(table.value.columns) == 2
    assert "5 行" in page.words
    [sql] = [each for each in page.app.expander if each.label == "SQL"]
    assert "SELECT" in sql.code[0].value
    assert any("sql\\_db\\_query · 完成" in each.label for each in page.app.expander)


@pytest.mark.slow
def test_a_chart_is_drawn_with_the_values_of_its_table(server: Server, visit: Visit) -> None:
    page = visit(server.url).ask(QUESTION).until(is_ready)
    [chart] = page.app.get("vega_lite_chart")
    spec = json.loads(chart.proto.spec)
    assert spec["mark"]
    read: Any = cast(Any, pyarrow.ipc).open_stream
    values = read(chart.proto.data.data).read_all()
    assert len(values) == 12
    assert {each["field"] for each in spec["encoding"].values()} <= set(values.column_names)
    assert len(page.app.dataframe[0].value) == 12
    again = visit(server.url, conversation=page.app.query_params["conversation"])
    assert len(again.app.get("vega_lite_chart")) == 1


def test_a_table_that_is_deleted_is_shown_as_far_as_the_answer_had_it(
    server: Server, visit: Visit
) -> None:
    page = visit(server.url).ask("top 3 genres by sales").until(is_ready)
    rows = page.app.dataframe[0].value
    with SyncDataAgentClient(server.url, KEY) as client:
        client.artifacts.delete(client.artifacts.list(limit=1).items[0].artifact_id)
    st.cache_data.clear()
    again = visit(server.url, conversation=page.app.query_params["conversation"])
    assert "完整的表格已不存在" in again.words
    assert again.app.dataframe[0].value.values.tolist() == rows.values.tolist()
