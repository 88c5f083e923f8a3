"""Log lines as JSON, one object a line, on stderr.

Code logs through the standard `logging` module, with fields in `extra`. This module decides how a
line looks; it never decides what is worth logging. Below: `scrub.py`, `request_id.py`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
from pydantic import SecretStr

from dataagent_core.config import Settings
from dataagent_core.telemetry.request_id import current_request_id
from dataagent_core.telemetry.scrub import Scrubber

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_QUIET = ("uvicorn", "uvicorn.error", "httpx", "httpcore", "aiohttp.access", "alembic")


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: timestamp, level, message, logger, request_id and its fields."""

    def __init__(self, scrubber: Scrubber | None = None) -> None:
        super().__init__()
        self._scrubber = scrubber or Scrubber()

    def format(self, record: logging.LogRecord) -> str:
        """One line; text no JSON can carry is replaced."""
        line: dict[str, Any] = {
            "timestamp": _moment(record.created),
            "level": record.levelname.lower(),
            "message": self._scrubber.text(_message(record)),
            "logger": record.name,
            "request_id": getattr(record, "request_id", None) or current_request_id(),
        }
        for name, value in vars(record).items():
            if name not in _STANDARD and name not in line:
                line[name] = self._scrubber.field(name, value)
        if record.exc_info:
            line["exception"] = self._scrubber.text(self.formatException(record.exc_info))
        return _dumps(line)


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, ArithmeticError, LookupError):  # arguments that do not fit
        return f"{record.msg} {record.args}"


def _dumps(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        safe = repr(line).encode("utf-8", "replace").decode("utf-8")
        return orjson.dumps({"level": line["level"], "message": safe}).decode()


def configure_logging(
    settings: Settings, *, stream: TextIO | None = None, secrets: Iterable[str] = ()
) -> None:
    """Send all logging to the stream as JSON, with the settings' secrets scrubbed.

    Replaces the root logger's handlers, so a program calls it once at its start.
    """
    known = [*secrets, *_secrets_of(settings)]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(Scrubber(known)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _secrets_of(settings: Settings) -> list[str]:
    """The values of the settings that are marked as secret."""
    found: list[str] = []
    for name in type(settings).model_fields:
        match getattr(settings, name):
            case SecretStr() as secret:
                found.append(secret.get_secret_value())
            case [SecretStr(), *_] as several:
                found += [secret.get_secret_value() for secret in several]
            case _:
                pass
    return found
