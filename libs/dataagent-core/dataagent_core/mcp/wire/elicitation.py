"""A server's question in the middle of a call: told to whoever made the call, and to no one else.

Over streamable HTTP a question arrives in the context of its call. On the other transports it does
not say which call it belongs to: then it is asked only if one call alone can be meant, since the
calls of a shared session are of different people. Questions by link are declined.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ErrorData

from dataagent_core.mcp.types import Elicitation, OnElicit

_MOST_TEXT = 4_000

_asker: ContextVar[OnElicit | None] = ContextVar("dataagent_mcp_asker", default=None)


class ElicitationRouter:
    """Who can be asked in one session."""

    def __init__(self, server_name: str) -> None:
        self._server_name = server_name
        self._open: list[OnElicit | None] = []

    def begin(self, on_elicit: OnElicit | None) -> Token[OnElicit | None]:
        """A call runs from now on, and its caller can be asked; `end` takes what this returns."""
        self._open.append(on_elicit)
        return _asker.set(on_elicit)

    def end(self, on_elicit: OnElicit | None, begun: Token[OnElicit | None]) -> None:
        """The call has ended."""
        self._open.remove(on_elicit)
        _asker.reset(begun)

    async def answer(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """The library's callback: ask the caller."""
        del context
        return await self.ask(params, _asker.get() or self._only())

    async def ask(self, params: ElicitRequestParams, on_elicit: OnElicit | None) -> ElicitResult:
        """Ask one caller; declined if there is none to ask."""
        if on_elicit is None or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        answer = await on_elicit(
            Elicitation(params.message[:_MOST_TEXT], params.requested_schema, self._server_name)
        )
        content = answer.content if answer.action == "accept" else None
        return ElicitResult(action=answer.action, content=content)

    def _only(self) -> OnElicit | None:
        return self._open[0] if len(self._open) == 1 else None
