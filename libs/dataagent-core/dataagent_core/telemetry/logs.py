"""Log lines as JSON, one object a line, on stderr, without secrets.

Code logs through the standard `logging` module, with fields in `extra`, or through structlog; both
end in the same formatter, which does not run for disabled levels. `Scrubber` replaces the values of
the deployment's secrets wherever they occur, and text in the shape of a secret (bearer tokens,
JWTs, provider keys, credentials in URLs, `password=…`), in time linear in the text.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO, cast
from urllib.parse import quote

import orjson
import structlog
from pydantic import SecretStr
from structlog.stdlib import ProcessorFormatter

from dataagent_core.config import Settings
from dataagent_core.telemetry.context import current_context

MASK = "••••"
_SHORTEST_KNOWN = 6
_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|api[_-]?key|authorization|cookie|credential|dsn$",
    re.IGNORECASE,
)
_MAYBE = re.compile(r"[-_=:]|eyJ|(?i:bearer|basic)")
"""What every text with one of the shapes has; most have none of it."""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"eyJ[A-Za-z0-9_-]{5,2000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\bdak_[A-Za-z0-9_-]{8,}"), MASK),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[abp]|tvly|lsv2)[-_][A-Za-z0-9_-]{12,}"), MASK),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"((?<![A-Za-z0-9+.-])[A-Za-z0-9+.-]+://[^\s:/@]*):[^\s/@]+@"), rf"\1:{MASK}@"),
    (
        re.compile(
            r"(?i)([\"']?(?<![\w-])[\w-]*"
            r"(?:password|passwd|secret|token|api[_-]?key|authorization)[\"']?"
            r"\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&}\])]+)"
        ),
        rf"\1{MASK}",
    ),
)


class Scrubber:
    """Replaces secrets by dots."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = {value for value in known if len(value) >= _SHORTEST_KNOWN}
        values |= {quote(value, safe="") for value in values}
        longest_first = sorted(values, key=len, reverse=True)
        self._known = (
            re.compile("|".join(re.escape(value) for value in longest_first))
            if longest_first
            else None
        )

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        if _MAYBE.search(text) is None:
            return text
        for shape, replacement in _SHAPES:
            text = shape.sub(replacement, text)
        return text

    def hides(self, name: str) -> bool:
        """Whether a field's name alone says that its value is secret."""
        return _SECRET_NAME.search(name) is not None

    def field(self, name: str, value: Any) -> Any:
        """A log field's value, hidden if its name says so, scrubbed inside otherwise."""
        if name and self.hides(name):
            return MASK if value else value
        match value:
            case str():
                return self.text(value)
            case Mapping():
                fields = cast("Mapping[object, object]", value)
                return {str(key): self.field(str(key), item) for key, item in fields.items()}
            case list() | tuple():
                items = cast("list[object]", value)  # of any shape
                return [self.field("", item) for item in items]
            case bool() | int() | float() | None:
                return value
            case _:
                return self.text(str(value))


_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_STRUCTLOG = frozenset({"_record", "_from_structlog", "_logger", "_name", "event", "exc_info"})
_MOST_TEXT = 16_000
_MOST_EXCEPTION = 64_000
_QUIET = ("uvicorn", "uvicorn.error", "httpx", "httpcore", "aiohttp.access", "alembic")


class JsonFormatter(ProcessorFormatter):
    """A record as one JSON object: timestamp, level, message, logger, ids and its fields."""

    def __init__(self, scrubber: Scrubber | None = None) -> None:
        super().__init__(processors=[_Line(scrubber or Scrubber()), _rendered])

    def format(self, record: logging.LogRecord) -> str:
        """One line; text no JSON can carry is replaced, arguments that do not fit are shown."""
        try:
            record.getMessage()
        except (TypeError, ValueError, ArithmeticError, LookupError):
            record = logging.makeLogRecord(vars(record))
            record.msg, record.args = f"{record.msg} {record.args}", ()
        return super().format(record)


class _Line:
    """structlog's event dictionary → the fields of a line, in order and without secrets."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber

    def __call__(self, _logger: Any, _name: str, event: Any) -> dict[str, Any]:
        record: logging.LogRecord = event["_record"]
        context = current_context()
        line: dict[str, Any] = {
            "timestamp": _moment(record.created),
            "level": record.levelname.lower(),
            "message": self._scrubber.text(_cut(str(event["event"]), _MOST_TEXT)),
            "logger": record.name,
            "request_id": getattr(record, "request_id", None) or context.request_id,
            "run_id": getattr(record, "run_id", None) or context.run_id,
            "user_id": getattr(record, "user_id", None) or context.user_id,
        }
        for name, value in _fields(record, event):
            if name not in line:
                shown = _cut(value, _MOST_TEXT) if isinstance(value, str) else value
                line[name] = self._scrubber.field(name, shown)
        if problem := _exception(event.get("exc_info")):
            line["exception"] = self._scrubber.text(_cut(problem, _MOST_EXCEPTION))
        return line


def _cut(text: str, most: int) -> str:
    """As much of a text as is worth reading: a megabyte from anyone must not stop the others."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _fields(record: logging.LogRecord, event: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """What was logged beside the message: `extra` of the one kind, keywords of the other."""
    given = event if event["_from_structlog"] else vars(record)
    hidden = _STRUCTLOG if event["_from_structlog"] else _STANDARD | _STRUCTLOG
    return ((name, value) for name, value in given.items() if name not in hidden)


def _exception(given: Any) -> str | None:
    """The traceback of what was logged as an exception: one exception, its triple, or True."""
    if isinstance(given, BaseException):
        given = (type(given), given, given.__traceback__)
    elif given is True:
        given = sys.exc_info()
    if not isinstance(given, tuple) or given[0] is None:
        return None
    # logging's triple
    return logging.Formatter().formatException(given)  # pyright: ignore[reportUnknownArgumentType]


def _rendered(_logger: Any, _name: str, line: Any) -> str:
    try:
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        safe = repr(line).encode("utf-8", "replace").decode("utf-8")
        return orjson.dumps({"level": line["level"], "message": safe}).decode()


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure_logging(
    settings: Settings, *, stream: TextIO | None = None, secrets: Iterable[str] = ()
) -> None:
    """Send all logging to the stream as JSON, with the settings' secrets scrubbed.

    Replaces the root logger's handlers, so a program calls it once at its start.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(Scrubber([*secrets, *known_secrets(settings)])))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def known_secrets(settings: Settings) -> list[str]:
    """What the deployment is known to hold: the values of settings that are secret."""
    found = list(settings.deployment_secrets)
    for name in type(settings).model_fields:
        match getattr(settings, name):
            case SecretStr() as secret:
                found.append(secret.get_secret_value())
            case [SecretStr(), *_] as several:
                found += [secret.get_secret_value() for secret in several]
            case _:
                pass
    return found
