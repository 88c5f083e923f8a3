"""The sync twin of `conversations.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from dataagent_client.conversations import ConversationCalls, ConversationInfo, ThreadHistory
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal, Stream
from dataagent_client.wire import Received


class SyncConversationCalls:
    """What the caller talked about."""

    def __init__(self, portal: Portal, calls: ConversationCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(
        self, *, search: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[ConversationInfo]:
        """The caller's conversations, the last active first; with `search` those that say it."""
        return self._portal.call(self._calls.list(search=search, limit=limit, offset=offset))

    def create(self, *, title: str | None = None) -> ConversationInfo:
        """Begin one. Without a title it gets one from its first message."""
        return self._portal.call(self._calls.create(title=title))

    def get(self, conversation_id: str) -> ConversationInfo:
        """One of them."""
        return self._portal.call(self._calls.get(conversation_id))

    def rename(self, conversation_id: str, title: str) -> ConversationInfo:
        """Give it another title."""
        return self._portal.call(self._calls.rename(conversation_id, title))

    def delete(self, conversation_id: str) -> None:
        """Put it away and stop what runs in it; `restore` brings it back for some days."""
        return self._portal.call(self._calls.delete(conversation_id))

    def restore(self, conversation_id: str) -> ConversationInfo:
        """Restore a deleted conversation; nothing happens if it is not deleted."""
        return self._portal.call(self._calls.restore(conversation_id))

    def history(
        self, thread_id: str, *, limit: int = 1000, offset: int | None = None
    ) -> ThreadHistory:
        """What was said, each answer with its run's events; without an `offset` the last page."""
        return self._portal.call(self._calls.history(thread_id, limit=limit, offset=offset))

    def chat(
        self,
        thread_id: str,
        message: str,
        *,
        agent: str | None = None,
        skill: str | None = None,
        file_ids: Sequence[str] | None = None,
        client_message_id: str | None = None,
    ) -> Generator[Received]:
        """Ask as the web app does, in one request; the run's events to its `DoneEvent`.

        Resumed by `seq` as `client.chat` is. Where the server says so, leaving stops the run.
        """
        stream = Stream[Received](self._portal)
        return stream.read(
            self._calls.chat(
                thread_id,
                message,
                agent=agent,
                skill=skill,
                file_ids=file_ids,
                client_message_id=client_message_id,
            )
        )

    def events(self, thread_id: str, *, after: int = 0) -> Generator[Received]:
        """A conversation's events, from `after` on and without end; resumes by itself."""
        stream = Stream[Received](self._portal)
        return stream.read(self._calls.events(thread_id, after=after))
