"""How much a user's conversations may hold.

The stores count; this compares. A user who is far from the quota may send some messages before
their conversations are counted again, so that not every message costs a count.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

from dataagent_core.errors import UserLimit
from dataagent_core.session.store import ConversationStore

_RETRY_AFTER_SECONDS = 60
_COUNTED_SECONDS = 2.0
_COUNTED_USERS = 10_000
_MESSAGE_BYTES = 4 * 1024**2  # more than a message and its answer usually take


@dataclass(slots=True)
class _MessageAllowance:
    """What a user may send before their conversations are counted again."""

    messages: int
    until: float


class ConversationQuota:
    """The bytes a user's conversations may hold. Used from the event loop only."""

    def __init__(self, sessions: ConversationStore, quota: int) -> None:
        """A `quota` of 0 is no limit."""
        self._sessions = sessions
        self._quota = quota
        self._allowances: OrderedDict[str, _MessageAllowance] = OrderedDict()  # by user

    async def check(self, user_id: str) -> None:
        """Refuse to write more for a user.

        Raises:
            UserLimit: their conversations hold as much as they may.
        """
        if not self._quota or self._use_allowance(user_id):
            return
        used = await self._sessions.bytes_of_user(user_id)
        if used >= self._quota:
            raise UserLimit(
                f"Your conversations hold {used} bytes, and at most {self._quota} are allowed. "
                "Delete conversations you no longer need: DELETE /api/v1/sessions/{id} frees their "
                "bytes at once, a conversation deleted in the web app keeps them as long as it can "
                "be restored. Or ask an administrator for more (DATAAGENT_CONVERSATION_QUOTA).",
                details={"what": "conversation_bytes", "limit": self._quota, "used": used},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._remember(user_id, used)

    def _use_allowance(self, user_id: str) -> bool:
        allowance = self._allowances.get(user_id)
        if allowance is None or not allowance.messages or allowance.until < time.monotonic():
            return False
        allowance.messages -= 1
        return True

    def _remember(self, user_id: str, used: int) -> None:
        messages = (self._quota - used) // 2 // _MESSAGE_BYTES
        self._allowances.pop(user_id, None)
        self._allowances[user_id] = _MessageAllowance(messages, time.monotonic() + _COUNTED_SECONDS)
        while len(self._allowances) > _COUNTED_USERS:
            self._allowances.popitem(last=False)
