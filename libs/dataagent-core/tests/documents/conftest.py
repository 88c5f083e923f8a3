"""`read`: a document through the door, in a process of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from dataagent_core.documents import Document, ReadLimits
from dataagent_core.documents.reader import DocumentReader, Source

Read = Callable[..., Awaitable[Document]]


@pytest.fixture
def read() -> Read:
    """Reads a document's bytes; limits can be given by name."""

    async def once(name: str, content: bytes, *, start: int = 1, **limits: Any) -> Document:
        reader = DocumentReader(replace(ReadLimits(), **limits))
        return await reader.read(Source(name, content), start=start)

    return once
