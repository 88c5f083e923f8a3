"""Draws one turn: the question, then the blocks of its answer.

`blocks.py` decides what is shown. Rows and charts are fetched once and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import streamlit as st

from dataagent_client import ClientError, Decision, NotFoundError, SyncDataAgentClient
from dataagent_server_demo.blocks import (
    MOST_ROWS,
    AlertBlock,
    ApprovalBlock,
    Block,
    CaptionBlock,
    ChartBlock,
    CodeBlock,
    Columns,
    ExpanderBlock,
    FileBlock,
    MarkdownBlock,
    TableBlock,
    blocks_of,
    columns_of,
)
from dataagent_server_demo.connection import Server
from dataagent_server_demo.conversation import (
    ApprovalPart,
    Turn,
    arguments_text,
    edit_decision,
    respond_decision,
)
from dataagent_server_demo.page_text import Problem, escape_markdown, sanitize_markdown

Decide = Callable[[ApprovalPart, Callable[[], Decision]], None]
"""Takes what a request is answered with; reading it may raise `BadAnswer`."""


def draw_problem(problem: Problem) -> None:
    """A problem, with the way out."""
    draw = {"info": st.info, "warning": st.warning, "error": st.error}[problem.level]
    draw(f"{escape_markdown(problem.text)}  \n{escape_markdown(problem.hint)}")


def draw_turn(server: Server, turn: Turn, decide: Decide | None = None) -> None:
    """A question and its answer; with `decide`, calls that wait can be answered."""
    if turn.question:
        with st.chat_message("user"):
            st.text(turn.question)
    with st.chat_message("assistant"):
        for block in blocks_of(turn):
            _draw(server, block, decide)
        if turn.is_running and not turn.waiting:
            st.caption("正在回答…")


def _draw(server: Server, block: Block, decide: Decide | None) -> None:
    match block:
        case MarkdownBlock() | CaptionBlock() | AlertBlock():
            _draw_words(block)
        case ExpanderBlock(label, inside):
            with st.expander(label):
                for each in inside:
                    _draw_inside(each)
        case TableBlock():
            _draw_table(server, block)
        case ChartBlock(artifact_id, title):
            _draw_chart(server, artifact_id, title)
        case FileBlock():
            _draw_file(server, block)
        case ApprovalBlock(request):
            _draw_request(request, decide)
        case _:
            assert_never(block)


def _draw_words(block: MarkdownBlock | CaptionBlock | AlertBlock) -> None:
    match block:
        case MarkdownBlock(text):
            st.markdown(text)
        case CaptionBlock(text):
            st.caption(text)
        case AlertBlock(text, level):
            (st.error if level == "error" else st.warning)(text)


def _draw_inside(block: MarkdownBlock | CodeBlock) -> None:
    if isinstance(block, MarkdownBlock):
        st.markdown(block.text)
    else:
        st.code(block.text, language=block.language, wrap_lines=True)


# -- results --------------------------------------------------------------------------------


@st.cache_data(show_spinner=False, max_entries=100)
def _columns(_client: SyncDataAgentClient, server_url: str, artifact_id: str) -> Columns:
    """A table's columns; a result never changes, so they are fetched once."""
    del server_url  # tells servers apart
    return columns_of(_client.data.rows(artifact_id, most=MOST_ROWS))


def _draw_table(server: Server, table: TableBlock) -> None:
    st.markdown(f"**{escape_markdown(table.title)}**")
    try:
        columns = _columns(server.client, server.url, table.artifact_id)
        missing = ""
    except ClientError as error:
        columns = columns_of(table.first)
        is_gone = isinstance(error, NotFoundError)
        why = "已不存在" if is_gone else "无法读取"
        missing = f"{table.only_first} · 完整的表格{why}"
    shown = max((len(cells) for cells in columns.values()), default=0)
    # it takes polars too, which is not here
    st.dataframe(columns, hide_index=True)  # pyright: ignore[reportUnknownMemberType]
    st.caption(escape_markdown(table.caption(shown) + missing))
    if table.sql:
        with st.expander("SQL"):
            st.code(table.sql, language="sql", wrap_lines=True)


@st.cache_data(show_spinner=False, max_entries=100)
def _spec(_client: SyncDataAgentClient, server_url: str, artifact_id: str) -> dict[str, Any]:
    """A chart with its values, as Vega-Lite takes it."""
    del server_url
    return _client.artifacts.get(artifact_id).spec or {}


def _draw_chart(server: Server, artifact_id: str, title: str) -> None:
    if title:
        st.markdown(f"**{escape_markdown(title)}**")
    try:
        spec = _spec(server.client, server.url, artifact_id)
    except ClientError as error:
        draw_problem(server.explain(error))
        return
    # as above
    st.vega_lite_chart(  # pyright: ignore[reportUnknownMemberType]
        spec=spec, key=f"chart-{artifact_id}"
    )


def _draw_file(server: Server, file: FileBlock) -> None:
    """A file to download; it is fetched on demand."""
    st.download_button(
        escape_markdown(file.text),
        lambda: server.client.files.read(file.file_id),
        file.title,
        key=f"file-{file.file_id}",
        on_click="ignore",
        icon=":material/download:",
    )


# -- approvals ------------------------------------------------------------------------------


def _draw_request(request: ApprovalPart, decide: Decide | None) -> None:
    """A call that waits: what it would do, and the answers it takes."""
    action = request.action
    with st.container(border=True):
        asks = "需要您回答" if action.is_question else "等待您的决定"
        st.markdown(f":material/lock: **{escape_markdown(action.name)}** {asks}")
        if action.description:
            st.markdown(sanitize_markdown(action.description))
        st.code(action.diff or arguments_text(action), "diff" if action.diff else "json")
        if decide is not None:
            _draw_answers(request, decide)


def _draw_answers(request: ApprovalPart, decide: Decide) -> None:
    """Pressed in a part of the page that is drawn again and again: only callbacks miss nothing."""
    number = request.request_id
    with st.container(horizontal=True):
        if "approve" in request.allowed:
            yes = (request, partial(Decision, "approve"))
            st.button("批准", key=f"approve-{number}", type="primary", on_click=decide, args=yes)
        if "reject" in request.allowed:
            no = (request, partial(Decision, "reject"))
            st.button("拒绝", key=f"reject-{number}", on_click=decide, args=no)
    if "edit" in request.allowed:
        _draw_edit(request, decide)
    if "respond" in request.allowed:
        _draw_respond(request, decide)


def _draw_edit(request: ApprovalPart, decide: Decide) -> None:
    is_question = request.action.is_question
    with st.expander("回答" if is_question else "修改参数", expanded=is_question):
        if request.action.args_schema is not None and is_question:
            st.json(request.action.args_schema, expanded=2)
        key = f"args-{request.request_id}"
        st.text_area("参数 (JSON)", arguments_text(request.action), key=key, height=160)
        st.button(
            "发送回答" if is_question else "按修改批准",
            key=f"edit-{request.request_id}",
            on_click=decide,
            args=(request, lambda: edit_decision(request.action, st.session_state[key])),
        )


def _draw_respond(request: ApprovalPart, decide: Decide) -> None:
    with st.expander("改为告诉助手怎么做"):
        key = f"words-{request.request_id}"
        st.text_input("您的要求", key=key)
        st.button(
            "告诉助手",
            key=f"respond-{request.request_id}",
            on_click=decide,
            args=(request, lambda: respond_decision(st.session_state[key])),
        )
