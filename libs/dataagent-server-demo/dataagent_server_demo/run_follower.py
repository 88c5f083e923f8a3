"""Follows one run in a thread of its own, so that the page never waits for the next event.

A page draws `turn` as often as it likes; nothing of Streamlit is touched here. A reader that lost
the server can be started again: it goes on after the last event it has. Above: `chat_tab.py`.
"""

from __future__ import annotations

import threading

from dataagent_client import ClientError, SyncDataAgentClient
from dataagent_server_demo.conversation import Turn, fold


class RunFollower:
    """What is known of a running turn, event by event."""

    def __init__(self, client: SyncDataAgentClient, turn: Turn) -> None:
        self._client = client
        self._thread: threading.Thread | None = None
        self.turn = turn
        self.error: ClientError | None = None

    @property
    def is_reading(self) -> bool:
        """Whether more may come."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, or go on after a failure."""
        if self.is_reading or self.turn.run_id is None or not self.turn.is_running:
            return
        self.error = None
        self._thread = threading.Thread(
            target=self._follow, args=(self.turn.run_id,), name="dataagent-demo", daemon=True
        )
        self._thread.start()

    def _follow(self, run_id: str) -> None:
        try:
            for item in self._client.run_events(run_id, after=self.turn.last_seq):
                self.turn = fold(self.turn, item)
        except ClientError as error:
            self.error = error
