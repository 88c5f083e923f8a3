"""What the MCP library and its HTTP client may log: that something happened, never what.

Their lines hold arguments, results and URLs with queries. Each is replaced by one that names the
place in the library, the level and the kind of exception.
"""

from __future__ import annotations

import logging
from functools import cache

_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")
"""`client` is how the library names the log of its session."""
_log = logging.getLogger(__name__)


class _Summary(logging.Handler):
    """Passes on what can be said of a record without its words."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        _log.log(
            logging.DEBUG if record.levelno < logging.ERROR else logging.WARNING,
            "the MCP library reports something",
            extra={
                "place": f"{record.name}:{record.lineno}",
                "library_level": record.levelname.lower(),
                "kind": kind.__name__ if kind else None,
            },
        )


@cache
def quiet_library() -> None:
    """Put the summary in place of the library's own lines, once."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [_Summary()]
        logger.propagate = False
        logger.setLevel(logging.WARNING)
