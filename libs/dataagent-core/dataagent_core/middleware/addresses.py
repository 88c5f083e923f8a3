"""Asks before a page is read at an address that nobody but the model has named.

Whoever wrote what a model reads may have told it to put that into an address. So `fetch_url` reads
unasked what the user's message of this run names, what a search of this thread found, and what is
on a host that the installation allows; an address whose query is long, or looks like encoded data,
always asks. All of it is the same when the graph is resumed. Above: `engine/`. Below:
`approvals.py`, `network/sites.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage

from dataagent_core.identity import RunContext
from dataagent_core.middleware.approvals import ApprovalsMiddleware, needs_approval
from dataagent_core.middleware.calls import runtime_of
from dataagent_core.network.sites import is_address, is_named_in, is_on
from dataagent_protocol.hitl import carries_data

_READING: Final = "fetch_url"
_SEARCHES: Final = frozenset({"web_search", "tavily_search"})
_ASKED: Final = (
    "Read a page at an address that is not from you or a search. An address may carry data out."
)


class AddressApprovals(ApprovalsMiddleware):
    """Approvals of reading pages, for addresses of unknown origin and no others."""

    def __init__(self, allowed_hosts: Sequence[str] = ()) -> None:
        """Pages on the allowed hosts (`example.com`, `*.example.com`) are read unasked."""
        self._allowed_hosts = tuple(allowed_hosts)
        config = InterruptOnConfig(
            allowed_decisions=["approve", "edit", "reject", "respond"],
            description=_ASKED,
            when=self._asks,
        )
        super().__init__({_READING: config})

    def _asks(self, request: ToolCallRequest) -> bool:
        """Whether the run asks about this address."""
        if not needs_approval(request):
            return False
        url = str(request.tool_call["args"].get("url", "")).strip()
        if not is_address(url):  # the tool says so
            return False
        if carries_data(url):
            return True
        if is_on(url, self._allowed_hosts):
            return False
        return not any(is_named_in(text, url) for text in _texts(request))


def _texts(request: ToolCallRequest) -> Iterator[str]:
    """What the user wrote, and what searches of this thread found."""
    context = runtime_of(request).context
    if isinstance(context, RunContext):
        yield context.message
    state: Any = request.state
    for message in state["messages"]:
        if isinstance(message, ToolMessage) and message.name in _SEARCHES:
            yield message.text
