"""The demo's page: the connection, and two tabs. Run by `streamlit run`."""

from __future__ import annotations

import streamlit as st

from dataagent_client import ClientError
from dataagent_server_demo.answer import draw_problem
from dataagent_server_demo.chat_tab import draw_chat
from dataagent_server_demo.connection import Server, server_of
from dataagent_server_demo.mcp_tab import render_mcp_config
from dataagent_server_demo.page_text import escape_markdown
from dataagent_server_demo.settings import BadDemoSettings, load_settings

_STYLE = """<style>
/* Streamlit's own "Press Enter to apply", which it has in English only */
[data-testid="InputInstructions"] { display: none; }
</style>"""


def main() -> None:
    """Draw the page."""
    st.set_page_config(page_title="DataAgent Server Demo", page_icon="📊", layout="wide")
    st.html(_STYLE)
    st.header("DataAgent Server Demo", anchor=False)
    try:
        settings = load_settings()
    except BadDemoSettings as error:
        st.error(escape_markdown(str(error)))
        return
    server = server_of(settings.server_url, settings.api_key)
    _draw_connection(server)
    chat, mcp = st.tabs(["💬 对话", "🔌 MCP 配置"])
    with mcp:
        render_mcp_config(settings.server_url, settings.api_key)
    with chat:
        draw_chat(server)


def _draw_connection(server: Server) -> None:
    """Who is connected to what; or why not, and a way to try again."""
    try:
        user_id = server.user_id()
    except ClientError as error:
        draw_problem(server.explain(error))
        st.button("重试", key="try-again", icon=":material/refresh:")
    else:
        st.caption(escape_markdown(f"{user_id} · {server.url}"))


main()
