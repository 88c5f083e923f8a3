"""An exception, as a person at a terminal is told: a sentence, a hint, an exit status.

Never a traceback; that goes to the log.
"""

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
    """What is said and what the program's exit status is."""

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
    """Put an exception into words. Unknown ones are named by their class only."""
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
    """What the system refused: a file of the data directory, or else the output."""
    if isinstance(name, str):
        hint = "choose a data directory you can write to with --home DIR."
        return ErrorReport(f"Cannot use {name}: {reason}.", hint, exit_codes.FAILED)
    hint = "make room there, or send the output somewhere else."
    return ErrorReport(f"Cannot write: {reason}.", hint, exit_codes.FAILED)


def explain_line(error: DataAgentError | CannotWrite | OSError) -> ErrorReport:
    """Put into words why a line in a sitting came to nothing.

    What the system refuses there may be any file; the data directory and the output are in use.
    """
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        said = f"Cannot use {error.filename}: {reason}." if error.filename else f"{reason}."
        return ErrorReport(said, _way_out(error), exit_codes.FAILED)
    return explain(error)


def _way_out(error: OSError) -> str:
    match error:
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return "make room on the disk, then try again."
        case PermissionError() | OSError(errno=errno.EROFS):
            return "see who may read and write there, then try again."
        case FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
            return "see what is there, then try again."
        case _:
            return "try again; the details are in dataagent.log in the data directory."


def _with_hint(error: DataAgentError) -> ErrorReport:
    """The sentence, and the way out on a line of its own if the error brings one."""
    codes = ((BadInput, exit_codes.USAGE), (Stopped, exit_codes.INTERRUPTED))
    code = next((code for kind, code in codes if isinstance(error, kind)), exit_codes.FAILED)
    said = sentence(error)
    own = (error.details or {}).get("hint")
    if isinstance(own, str) and own:
        return ErrorReport(said.removesuffix(own).rstrip(), own, code)
    hint = hint_for(error.code, is_recoverable=error.recoverable)
    return ErrorReport(said, hint, code)


def sentence(error: DataAgentError) -> str:
    """What went wrong, with the data source it is about: `shop: There is no table 'x'.`"""
    source = (error.details or {}).get("source")
    return f"{source}: {error.message}" if isinstance(source, str) else error.message


def _invalid_setting(error: ValidationError) -> ErrorReport:
    """The first setting that makes no sense; its value is not repeated, it may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]).upper()
    name = name if name.startswith("DATAAGENT_") else f"DATAAGENT_{name}"
    return ErrorReport(
        f"The setting {name} cannot be used: {first['msg']}.",
        "correct it in the environment or in config.toml of the data directory.",
        exit_codes.FAILED,
    )
