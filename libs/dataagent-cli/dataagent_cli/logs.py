"""The terminal's log: a file in the data directory, so that nothing is logged to the screen."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dataagent_core.config import Settings
from dataagent_core.telemetry import configure_logging

LOG_NAME = "dataagent.log"
_LARGE_BYTES = 5 * 1024**2


@contextmanager
def log_to_file(settings: Settings) -> Generator[Path]:
    """Log to `dataagent.log` during the block, at the level of the settings.

    Raises:
        OSError: the data directory cannot be written to.
    """
    path = settings.ensure_home() / LOG_NAME
    if path.exists() and path.stat().st_size > _LARGE_BYTES:
        path.replace(path.with_suffix(".log.1"))
    path.touch(mode=0o600)
    root = logging.getLogger()
    earlier, level = root.handlers[:], root.level
    with path.open("a", encoding="utf-8", errors="replace") as stream:
        configure_logging(settings, stream=stream)
        try:
            yield path
        except Exception:
            logging.getLogger(__name__).exception("the program failed")
            raise
        finally:
            root.handlers[:] = earlier
            root.setLevel(level)
