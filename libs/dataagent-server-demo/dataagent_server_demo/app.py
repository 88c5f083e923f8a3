"""The demo's page: where it is connected to, and two tabs. Run by `streamlit run`.

Only lays out; the tabs are `chat_tab.py` and `mcp_tab.py`.
"""

from __future__ import annotations

import streamlit as st

from dataagent_client import ClientError
from dataagent_server_demo.answer import draw_problem
from dataagent_server_demo.chat_tab import draw_chat
from dataagent_server_demo.connection import Server, server_of
from dataagent_server_demo.mcp_tab import draw_mcp
from dataagent_server_demo.page_text import plain
from dataagent_server_demo.settings import BadDemoSettings, load_settings


def main() -> None:
    """Draw the page."""
    st.set_page_config(page_title="DataAgent demo", page_icon="📊", layout="wide")
    st.header("DataAgent demo", anchor=False)
    try:
        settings = load_settings()
    except BadDemoSettings as error:
        st.error(plain(str(error)))
        return
    server = server_of(settings)
    _draw_connection(server)
    chat, mcp = st.tabs([":material/chat: Chat", ":material/power: MCP servers"])
    with mcp:
        draw_mcp(server)
    with chat:
        draw_chat(server)


def _draw_connection(server: Server) -> None:
    """Who is connected to what; or why not, and a way to try again."""
    try:
        user_id = server.user_id()
    except ClientError as error:
        draw_problem(server.explain(error))
        st.button("Try again", key="try-again", icon=":material/refresh:")
    else:
        st.caption(plain(f"{user_id} at {server.url}"))


main()
