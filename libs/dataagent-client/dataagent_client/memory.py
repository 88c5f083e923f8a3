"""What agents remember about a user, as `client.memory`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page
from dataagent_client.parsing import json_field, make_parser


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInfo:
    """A memory: whose it is among the assistants, and its path."""

    assistant_id: str
    path: str
    byte_size: int = json_field("bytes")
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A memory with what it says."""

    assistant_id: str
    path: str
    content: str


_memory = make_parser(MemoryInfo, "memory")
_text = make_parser(MemoryText, "memory")


class MemoryCalls:
    """A user's memories. Administrators see and erase those of others, and never read them."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self, user_id: str) -> Page[MemoryInfo]:
        """What is remembered, without its text."""
        return parse_page(await self._http.request("GET", _of(user_id)), _memory)

    async def read(self, user_id: str, assistant_id: str, path: str) -> MemoryText:
        """What one of the caller's memories says."""
        return _text(await self._http.request("GET", _one(user_id, assistant_id, path)))

    async def write(self, user_id: str, assistant_id: str, path: str, content: str) -> None:
        """Correct one of the caller's memories, or add one."""
        where = _one(user_id, assistant_id, path)
        await self._http.request("PUT", where, body={"content": content}, is_repeatable=True)

    async def erase(self, user_id: str, *, assistant_id: str | None = None) -> None:
        """Erase all that is remembered, by all assistants or by one."""
        params = {"assistant_id": assistant_id}
        await self._http.request("DELETE", _of(user_id), params=params, is_repeatable=True)

    async def erase_one(self, user_id: str, assistant_id: str, path: str) -> None:
        """Erase one memory."""
        await self._http.request("DELETE", _one(user_id, assistant_id, path))


def _of(user_id: str) -> str:
    return f"{child_path('users', user_id)}/memory"


def _one(user_id: str, assistant_id: str, path: str) -> str:
    return f"{child_path(_of(user_id), assistant_id)}/{quote(path)}"
