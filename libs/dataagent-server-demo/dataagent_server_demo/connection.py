"""The server the demo talks to: one client a process, and who its key stands for.

The client is kept by Streamlit between runs of the script and closed when it is forgotten. Above:
the tabs. Below: `dataagent_client`.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dataagent_client import Backoff, ClientError, SyncDataAgentClient
from dataagent_server_demo.problems import Problem, explain, explain_mcp
from dataagent_server_demo.settings import DemoSettings

_WHO = "who"
_TIMEOUT_SECONDS = 15.0
_PATIENCE = Backoff(first_seconds=0.2, most_seconds=2.0, attempts=3)
"""Somebody looks at the page: it says soon that nobody answers, and offers to try again."""


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
        """Who the key stands for; asked once a visit.

        Raises:
            ClientError: the server does not say.
        """
        known: dict[str, str] = st.session_state.setdefault(_WHO, {})
        if self.url not in known:
            known[self.url] = self.client.auth.me().user_id
        return known[self.url]


def server_of(settings: DemoSettings) -> Server:
    """The server of the settings. Nothing is sent yet."""
    return Server(_client(settings.server_url, settings.api_key), settings.server_url)


def _close(client: SyncDataAgentClient) -> None:
    client.close()


@st.cache_resource(show_spinner=False, max_entries=4, on_release=_close)
def _client(server_url: str, api_key: str | None) -> SyncDataAgentClient:
    return SyncDataAgentClient(
        server_url, api_key, timeout_seconds=_TIMEOUT_SECONDS, backoff=_PATIENCE
    )
