"""The MCP tab: the user's servers with their status, a form for another, and examples.

Every action is a callback that sends a request and leaves a notice; then the list is read again.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dataagent_client import ClientError
from dataagent_server_demo.answer import draw_problem
from dataagent_server_demo.connection import Server, server_of
from dataagent_server_demo.page_text import Problem, escape_markdown, explain
from dataagent_server_demo.servers import (
    EXAMPLES,
    TRANSPORTS,
    ServerCard,
    ServerExample,
    ServerForm,
    card_of,
    read_form,
    trial_text,
)

_REFRESH_SECONDS = 5
_LIST_NOTICE = "mcp-list-notice"
_FORM_NOTICE = "mcp-form-notice"
_FIELD = "mcp-form-"


def render_mcp_config(http_url: str, api_key: str | None) -> None:
    """Draw the MCP panel for the user whose key this is."""
    st.subheader("🔌 MCP Server 配置", anchor=False)
    try:
        server = server_of(http_url, api_key)
    except ClientError as error:
        draw_problem(explain(error, http_url))
        return
    st.markdown("##### 已配置的 MCP Servers")
    _draw_servers(server)
    st.markdown("##### 添加新的 MCP Server")
    _draw_form(server)
    with st.expander("📖 配置示例"):
        for example in EXAMPLES:
            _draw_example(example)


# -- the list -------------------------------------------------------------------------------


@st.fragment(run_every=_REFRESH_SECONDS)
def _draw_servers(server: Server) -> None:
    """The list as it is now; looked at again every few seconds, as servers come and go."""
    _draw_notice(_LIST_NOTICE)
    try:
        servers = server.client.mcp.servers(server.user_id(), include_shared=True).items
    except ClientError as error:
        draw_problem(server.explain_mcp(error))
    else:
        if not servers:
            st.caption("还没有 MCP Server，请在下方添加。")
        for each in servers:
            _draw_card(server, card_of(each))
    st.button("刷新", key="mcp-refresh", icon=":material/refresh:", on_click=_forget)


def _draw_notice(place: str) -> None:
    match st.session_state.get(place):
        case Problem() as problem:
            draw_problem(problem)
        case str(text):
            st.success(escape_markdown(text))
        case _:
            pass


def _forget() -> None:
    st.session_state.pop(_LIST_NOTICE, None)
    st.session_state.pop(_FORM_NOTICE, None)


def _draw_card(server: Server, card: ServerCard) -> None:
    with st.container(border=True, key=f"mcp-card-{card.name}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(card.label, width="stretch")
            if card.is_own:
                _draw_actions(server, card)
        if card.detail:
            st.caption(escape_markdown(card.detail))
        tools = f" · {len(card.tools)} 个工具" if card.tools else ""
        with st.expander(f"配置{tools}", key=f"mcp-details-{card.name}"):
            st.code(card.config, language="json")
            for tool in card.tools:
                note = f"（{tool.note}）" if tool.note else ""
                st.markdown(
                    f"- **{escape_markdown(tool.name)}**{note} {escape_markdown(tool.description)}"
                )


def _draw_actions(server: Server, card: ServerCard) -> None:
    name = card.name
    switch = f"mcp-disabled-{name}"
    # the server has the state; setting it on each run would undo the user's click
    if st.session_state.get(f"{switch}-shown") is not card.is_disabled:
        st.session_state[switch] = st.session_state[f"{switch}-shown"] = card.is_disabled
    st.toggle("禁用", key=switch, on_change=_switch, args=(server, name, switch))
    st.button("测试", key=f"mcp-test-{name}", on_click=_test, args=(server, name))
    with st.popover("删除", key=f"mcp-ask-{name}"):
        st.markdown(f"删除 **{escape_markdown(name)}** 及其密钥？")
        st.button(f"删除 {name}", key=f"mcp-delete-{name}", on_click=_delete, args=(server, name))


# -- the form -------------------------------------------------------------------------------


def _draw_form(server: Server) -> None:
    transport = st.radio("传输方式", TRANSPORTS, key=f"{_FIELD}transport", horizontal=True)
    with st.form("mcp-form", border=True):
        st.text_input("名称", key=f"{_FIELD}name", placeholder="filesystem")
        if transport == "stdio":
            st.text_input("命令", key=f"{_FIELD}command", placeholder="npx")
            st.text_input("参数 (JSON 数组)", key=f"{_FIELD}args", placeholder='["-y", "…"]')
            st.text_input(
                "环境变量 (JSON 对象)", key=f"{_FIELD}env", placeholder='{"NAME": "value"}'
            )
        else:
            placeholder = "https://mcp.example.com/mcp"
            st.text_input("地址", key=f"{_FIELD}url", placeholder=placeholder)
            st.text_input(
                "请求头 (JSON 对象)",
                key=f"{_FIELD}headers",
                placeholder='{"Authorization": "Bearer …"}',
            )
        st.checkbox("禁用", key=f"{_FIELD}is_disabled")
        st.form_submit_button("➕ 添加 MCP Server", on_click=_add, args=(server,))
        _draw_notice(_FORM_NOTICE)


def _filled() -> ServerForm:
    names = [name for name in ServerForm.__dataclass_fields__ if _FIELD + name in st.session_state]
    return ServerForm(**{name: st.session_state[_FIELD + name] for name in names})


def _empty() -> None:
    """Clear the form for another server of the same kind."""
    _use(ServerForm(transport=_filled().transport))


def _draw_example(example: ServerExample) -> None:
    st.markdown(f"**{escape_markdown(example.title)}** · {escape_markdown(example.about)}")
    st.code(example.text, language="json")
    key = f"mcp-example-{example.form.name}"
    st.button("使用此示例", key=key, on_click=_use, args=(example.form,))


def _use(form: ServerForm) -> None:
    for name in ServerForm.__dataclass_fields__:
        st.session_state[_FIELD + name] = getattr(form, name)


# -- what can be done -----------------------------------------------------------------------


def _add(server: Server) -> None:
    new = read_form(_filled())
    if new.problems:
        _forget()
        st.session_state[_FORM_NOTICE] = Problem("表单尚未填好。", "；".join(new.problems))
        return

    def add() -> str:
        server.client.mcp.add(server.user_id(), new.name, **new.settings)
        _empty()
        return f"{new.name} 已添加，从下一次对话开始可用。"

    _do(server, add, _FORM_NOTICE)


def _delete(server: Server, name: str) -> None:
    def delete() -> str:
        server.client.mcp.delete(server.user_id(), name)
        return f"{name} 已删除。"

    _do(server, delete)


def _test(server: Server, name: str) -> None:
    def test() -> str | Problem:
        trial = server.client.mcp.test(server.user_id(), name)
        text = trial_text(name, trial)
        return text if trial.ok else Problem(text, "请检查它的命令或地址。")

    _do(server, test)


def _switch(server: Server, name: str, switch: str) -> None:
    is_disabled = bool(st.session_state[switch])

    def change() -> str:
        server.client.mcp.update(server.user_id(), name, disabled=is_disabled)
        return f"{name} {'已禁用' if is_disabled else '已启用'}。"

    _do(server, change)
    st.session_state.pop(f"{switch}-shown", None)  # it may have been refused


def _do(server: Server, action: Callable[[], str | Problem], place: str = _LIST_NOTICE) -> None:
    """Do it, and say what came of it beside what was pressed."""
    _forget()
    try:
        st.session_state[place] = action()
    except ClientError as error:
        st.session_state[place] = server.explain_mcp(error)
