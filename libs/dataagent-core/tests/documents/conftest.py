"""`read`: a document through the door, in a process of its own; `read_here`: without the process.

What a format gives is asked for here, which is quick and seen by coverage; what files do to a
process is asked of the process. `test_formats.py` compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from dataagent_core.documents import Document, ReadLimits
from dataagent_core.documents.reader import DocumentReader, DocumentSource, _ProcessOutput
from dataagent_core.documents.worker import work

Read = Callable[..., Awaitable[Document]]


class ReaderHere(DocumentReader):
    """Does in the test's process what a process of its own would do, under no limits."""

    async def _run(self, job: dict[str, Any], descriptor: int) -> _ProcessOutput:
        said: list[dict[str, Any]] = []
        work(job, said.append)
        return _ProcessOutput(
            "".join(json.dumps(one) + "\n" for one in said).encode(), b"", 0, False
        )


def reads_with(kind: type[DocumentReader]) -> Read:
    """Reads a document's bytes; limits can be given by name."""

    async def once(name: str, content: bytes, *, start: int = 1, **limits: Any) -> Document:
        reader = kind(replace(ReadLimits(), **limits))
        return await reader.read(DocumentSource(name, content), start=start)

    return once


@pytest.fixture
def read() -> Read:
    """Reads in a process of its own."""
    return reads_with(DocumentReader)


@pytest.fixture
def read_here() -> Read:
    """Reads in the test's process."""
    return reads_with(ReaderHere)
