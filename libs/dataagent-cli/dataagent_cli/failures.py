"""Exceptions as a message, a hint and an exit status; tracebacks go to the log."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from pydantic import ValidationError

from dataagent_cli import exit_codes
from dataagent_cli.data.files import CannotWrite
from dataagent_cli.input.piped import NotText
from dataagent_cli.interrupts import Stopped
from dataagent_cli.ui.clean import printable
from dataagent_cli.ui.describe import hint_for
from dataagent_core.errors import BadInput, DataAgentError


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """A message, a hint, and the program's exit status."""

    message: str
    hint: str | None
    exit_code: int

    @property
    def text(self) -> str:
        """`error: …`, and `hint: …` on a line of its own."""
        lines = [f"error: {printable(self.message)}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def explain(error: Exception) -> ErrorReport:
    """The report of an exception; an unknown one is named by its class only."""
    match error:
        case DataAgentError():
            return _with_hint(error)
        case ValidationError():
            return _invalid_setting(error)
        case NotText():
            hint = "convert it first, for example with iconv -t UTF-8."
            return ErrorReport(str(error), hint, exit_codes.USAGE)
        case CannotWrite():
            return ErrorReport(str(error), error.hint, exit_codes.FAILED)
        case OSError(strerror=str(reason)):
            return _os_error_report(error.filename, reason)
        case _:
            hint = "the details are in dataagent.log in the data directory."
            return ErrorReport(f"Unexpected {type(error).__name__}.", hint, exit_codes.FAILED)


def _os_error_report(name: object, reason: str) -> ErrorReport:
    """The report of what the system refused: a file of the data directory, or the output."""
    if isinstance(name, str):
        hint = "choose a data directory you can write to with --home DIR."
        return ErrorReport(f"Cannot use {name}: {reason}.", hint, exit_codes.FAILED)
    hint = "free some space, or write the output elsewhere."
    return ErrorReport(f"Cannot write: {reason}.", hint, exit_codes.FAILED)


def explain_line(error: DataAgentError | CannotWrite | OSError) -> ErrorReport:
    """The report of a failed line of a conversation; an `OSError` may concern any file there."""
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        message = f"Cannot use {error.filename}: {reason}." if error.filename else f"{reason}."
        return ErrorReport(message, _os_hint(error), exit_codes.FAILED)
    return explain(error)


def _os_hint(error: OSError) -> str:
    match error:
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return "free some disk space, then try again."
        case PermissionError() | OSError(errno=errno.EROFS):
            return "check its permissions, then try again."
        case FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
            return "check the path, then try again."
        case _:
            return "try again; the details are in dataagent.log in the data directory."


def _with_hint(error: DataAgentError) -> ErrorReport:
    """The error's message with its own hint, else the hint of its code."""
    codes = ((BadInput, exit_codes.USAGE), (Stopped, exit_codes.INTERRUPTED))
    code = next((code for kind, code in codes if isinstance(error, kind)), exit_codes.FAILED)
    message = sentence(error)
    own = (error.details or {}).get("hint")
    if isinstance(own, str) and own:
        return ErrorReport(message.removesuffix(own).rstrip(), own, code)
    hint = hint_for(error.code, is_recoverable=error.recoverable)
    return ErrorReport(message, hint, code)


def sentence(error: DataAgentError) -> str:
    """The message, with the data source it concerns: `shop: There is no table 'x'.`"""
    source = (error.details or {}).get("source")
    return f"{source}: {error.message}" if isinstance(source, str) else error.message


def _invalid_setting(error: ValidationError) -> ErrorReport:
    """The first invalid setting; its value is not repeated, since it may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]).upper()
    name = name if name.startswith("DATAAGENT_") else f"DATAAGENT_{name}"
    return ErrorReport(
        f"The setting {name} cannot be used: {first['msg']}.",
        "correct it in the environment or in config.toml of the data directory.",
        exit_codes.FAILED,
    )
