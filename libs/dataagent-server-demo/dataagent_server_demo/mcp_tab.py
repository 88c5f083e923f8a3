"""The MCP tab: the user's servers with their status, a form for another, and examples.

Every action is a callback that asks the server and leaves a notice; then the list is read again.
Whatever the server answers, the page stays and says so in words. Above: `app.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dataagent_client import ClientError
from dataagent_server_demo.answer import draw_problem
from dataagent_server_demo.connection import Server
from dataagent_server_demo.page_text import plain
from dataagent_server_demo.problems import Problem
from dataagent_server_demo.servers import (
    EXAMPLES,
    TRANSPORTS,
    Example,
    ServerCard,
    ServerForm,
    card_of,
    read_form,
    trial_text,
)

_REFRESH_SECONDS = 5
_NOTICE = "mcp-notice"
_FIELD = "mcp-form-"


def draw_mcp(server: Server) -> None:
    """The whole tab."""
    st.subheader("MCP servers", anchor=False)
    _draw_servers(server)
    st.subheader("Add a server", anchor=False)
    _draw_form(server)
    with st.expander(":material/menu_book: Examples"):
        for example in EXAMPLES:
            _draw_example(example)


# -- the list -------------------------------------------------------------------------------


@st.fragment(run_every=_REFRESH_SECONDS)
def _draw_servers(server: Server) -> None:
    """The list as it is now; looked at again every few seconds, as servers come and go."""
    _draw_notice()
    try:
        servers = server.client.mcp.servers(server.user_id(), include_shared=True).items
    except ClientError as error:
        draw_problem(server.explain_mcp(error))
    else:
        if not servers:
            st.caption("There is none yet. Add one below.")
        for each in servers:
            _draw_card(server, card_of(each))
    st.button("Refresh", key="mcp-refresh", icon=":material/refresh:", on_click=_forget)


def _draw_notice() -> None:
    match st.session_state.get(_NOTICE):
        case Problem() as problem:
            draw_problem(problem)
        case str(text):
            st.success(plain(text))
        case _:
            pass


def _forget() -> None:
    st.session_state.pop(_NOTICE, None)


def _draw_card(server: Server, card: ServerCard) -> None:
    with st.container(border=True, key=f"mcp-card-{card.name}"):
        st.markdown(card.label)
        st.caption(plain(" · ".join(filter(None, [card.reached_by, card.detail]))))
        if card.tools:
            with st.expander(
                f":material/build: {len(card.tools)} tools", key=f"mcp-tools-{card.name}"
            ):
                for tool in card.tools:
                    note = f" ({tool.note})" if tool.note else ""
                    st.markdown(f"- **{plain(tool.name)}**{note} {plain(tool.description)}")
        if card.is_own:
            _draw_actions(server, card)


def _draw_actions(server: Server, card: ServerCard) -> None:
    name = card.name
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Test", key=f"mcp-test-{name}", on_click=_test, args=(server, name))
        with st.popover("Delete", key=f"mcp-ask-{name}"):
            st.markdown(f"Delete **{plain(name)}** with its secrets?")
            st.button(
                f"Delete {name}", key=f"mcp-delete-{name}", on_click=_delete, args=(server, name)
            )
        switch = f"mcp-disabled-{name}"
        # the server knows, whoever changed it; set each time, it would take back what is pressed
        if st.session_state.get(f"{switch}-shown") is not card.is_disabled:
            st.session_state[switch] = st.session_state[f"{switch}-shown"] = card.is_disabled
        st.toggle("Disabled", key=switch, on_change=_switch, args=(server, name, switch))


# -- the form -------------------------------------------------------------------------------


def _draw_form(server: Server) -> None:
    transport = st.radio("Transport", TRANSPORTS, key=f"{_FIELD}transport", horizontal=True)
    with st.form("mcp-form", border=True):
        st.text_input("Name", key=f"{_FIELD}name", placeholder="filesystem")
        if transport == "stdio":
            st.text_input("Command", key=f"{_FIELD}command", placeholder="npx")
            st.text_area("Arguments (JSON list)", key=f"{_FIELD}args", placeholder='["-y", "…"]')
            st.text_area(
                "Environment variables (JSON object)",
                key=f"{_FIELD}env",
                placeholder='{"NAME": "value"}',
            )
        else:
            placeholder = "https://mcp.example.com/mcp"
            st.text_input("Address", key=f"{_FIELD}url", placeholder=placeholder)
            st.text_area(
                "Headers (JSON object)",
                key=f"{_FIELD}headers",
                placeholder='{"Authorization": "Bearer …"}',
            )
        st.checkbox("Disabled", key=f"{_FIELD}is_disabled")
        st.form_submit_button(
            "Add MCP server", icon=":material/add:", on_click=_add, args=(server,)
        )


def _filled() -> ServerForm:
    names = [name for name in ServerForm.__dataclass_fields__ if _FIELD + name in st.session_state]
    return ServerForm(**{name: st.session_state[_FIELD + name] for name in names})


def _empty() -> None:
    """Clear the form for another server of the same kind."""
    _use(ServerForm(transport=_filled().transport))


def _draw_example(example: Example) -> None:
    st.markdown(f"**{plain(example.title)}** · {plain(example.about)}")
    st.code(example.text, language="json")
    key = f"mcp-example-{example.form.name}"
    st.button("Use this example", key=key, on_click=_use, args=(example.form,))


def _use(form: ServerForm) -> None:
    for name in ServerForm.__dataclass_fields__:
        st.session_state[_FIELD + name] = getattr(form, name)


# -- what can be done -----------------------------------------------------------------------


def _add(server: Server) -> None:
    new = read_form(_filled())
    if new.problems:
        st.session_state[_NOTICE] = Problem("The form is not complete.", " ".join(new.problems))
        return

    def add() -> str:
        server.client.mcp.add(server.user_id(), new.name, **new.settings)
        _empty()
        return f"{new.name} is added. It is used by conversations that begin from now on."

    _do(server, add)


def _delete(server: Server, name: str) -> None:
    def delete() -> str:
        server.client.mcp.delete(server.user_id(), name)
        return f"{name} is deleted."

    _do(server, delete)


def _test(server: Server, name: str) -> None:
    def test() -> str | Problem:
        trial = server.client.mcp.test(server.user_id(), name)
        text = trial_text(name, trial)
        return text if trial.ok else Problem(text, "Check how it is reached.")

    _do(server, test)


def _switch(server: Server, name: str, switch: str) -> None:
    is_disabled = bool(st.session_state[switch])

    def change() -> str:
        server.client.mcp.update(server.user_id(), name, disabled=is_disabled)
        return f"{name} is switched {'off' if is_disabled else 'on'}."

    _do(server, change)
    st.session_state.pop(f"{switch}-shown", None)  # it may have been refused


def _do(server: Server, action: Callable[[], str | Problem]) -> None:
    """Do it, and leave word of what came of it."""
    try:
        st.session_state[_NOTICE] = action()
    except ClientError as error:
        st.session_state[_NOTICE] = server.explain_mcp(error)
