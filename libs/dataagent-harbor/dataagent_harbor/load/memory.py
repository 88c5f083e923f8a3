"""The server's memory as its `/metrics` tells it; nothing where that is not open to us."""

from __future__ import annotations

import re

import httpx

_RESIDENT = re.compile(r"^process_resident_memory_bytes ([0-9.e+]+)$", re.MULTILINE)


class ServerMemory:
    """Reads it again and again. Use it as an async context manager."""

    def __init__(self, url: str, api_key: str | None) -> None:
        headers = {} if api_key is None else {"X-API-Key": api_key}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=5)

    async def __aenter__(self) -> ServerMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def read(self) -> int | None:
        """Bytes that the process which answers has resident."""
        try:
            answer = await self._http.get("/metrics")
        except httpx.HTTPError:
            return None
        found = _RESIDENT.search(answer.text) if answer.is_success else None
        return None if found is None else int(float(found[1]))
