"""A Docker engine for tests: the one that runs, or one that is started for them.

`make test-all` sets `DATAAGENT_TEST_DOCKER`: then a test that needs an engine fails without one.
Otherwise it is skipped, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from scripts.docker_engine import Engine, engine
from scripts.services import CannotStart


@contextmanager
def docker_engine() -> Generator[Engine]:
    """The engine, for as long as the block lasts."""
    required = bool(os.environ.get("DATAAGENT_TEST_DOCKER"))
    try:
        opened = engine()
        found = opened.__enter__()
    except CannotStart as error:
        if required:
            raise
        pytest.skip(str(error))
    try:
        yield found
    finally:
        opened.__exit__(None, None, None)
