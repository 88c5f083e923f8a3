"""The demo's connection to its server: one client for the process, and the user of its key.

Streamlit keeps the client between runs of the script, and closes it when it drops it.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dataagent_client import ClientError, SyncDataAgentClient
from dataagent_server_demo.page_text import Problem, explain, explain_mcp
from dataagent_server_demo.settings import BACKOFF, TIMEOUT_SECONDS

_WHO = "who"


@dataclass(frozen=True, slots=True)
class Server:
    """A server, as one key sees it."""

    client: SyncDataAgentClient
    url: str

    def explain(self, error: ClientError) -> Problem:
        """What went wrong, in words."""
        return explain(error, self.url)

    def explain_mcp(self, error: ClientError) -> Problem:
        """What went wrong with the list of MCP servers, in words."""
        return explain_mcp(error, self.url)

    def user_id(self) -> str:
        """The user of the key; requested once a session.

        Raises:
            ClientError: the server does not say.
        """
        known: dict[SyncDataAgentClient, str] = st.session_state.setdefault(_WHO, {})
        if self.client not in known:
            known[self.client] = self.client.auth.me().user_id
        return known[self.client]


def server_of(http_url: str, api_key: str | None) -> Server:
    """The server at an address. Nothing is sent yet.

    Raises:
        ClientError: the address or the key cannot be used.
    """
    return Server(_client(http_url, api_key), http_url)


def _close(client: SyncDataAgentClient) -> None:
    client.close()


@st.cache_resource(show_spinner=False, max_entries=4, on_release=_close)
def _client(server_url: str, api_key: str | None) -> SyncDataAgentClient:
    return SyncDataAgentClient(
        server_url, api_key, timeout_seconds=TIMEOUT_SECONDS, backoff=BACKOFF
    )
