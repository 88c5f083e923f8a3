"""The engines on which the guard's output is compared with what its author wrote."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack

import pytest

from .engines import DIALECTS, Engine, engine


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, Engine]]:
    """One of each dialect."""
    with ExitStack() as stack:
        yield {
            dialect: stack.enter_context(engine(dialect, tmp_path_factory.mktemp(dialect)))
            for dialect in DIALECTS
        }
