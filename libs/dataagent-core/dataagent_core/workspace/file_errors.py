"""What went wrong with a file, in words for a model and without host paths."""

from __future__ import annotations

import errno
import logging

from deepagents.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
)

from dataagent_core.errors import DataAgentError, OutsideWorkspace
from dataagent_core.workspace.files import FileTooLarge
from dataagent_core.workspace.jail import shorten

logger = logging.getLogger(__name__)

FileProblem = (DataAgentError, FileTooLarge, OSError, ValueError, RecursionError)
"""Every error a file operation may end with, from text that is not UTF-8 to a tree too deep."""

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied: it belongs to the workspace itself",
    errno.EROFS: "it is read-only",
    errno.ELOOP: "permission denied: links cannot be followed there",
    errno.ENAMETOOLONG: "the path is too long",
    errno.ENOSPC: "the disk is full",
    errno.EINVAL: "it is not a regular file",
}

_TRANSFER_CODES = {
    errno.ENOENT: FILE_NOT_FOUND,
    errno.EISDIR: IS_DIRECTORY,
    errno.EACCES: PERMISSION_DENIED,
    errno.EPERM: PERMISSION_DENIED,
    errno.EROFS: PERMISSION_DENIED,
    errno.ELOOP: PERMISSION_DENIED,
    errno.EINVAL: INVALID_PATH,
    errno.ENOTDIR: INVALID_PATH,
    errno.ENAMETOOLONG: INVALID_PATH,
}


def explain(verb: str, path: str, error: Exception) -> str:
    """One sentence: what could not be done with which file, and why."""
    return f"Cannot {verb} '{shorten(path)}': {_reason(error)}."


def _reason(error: Exception) -> str:
    match error:
        case DataAgentError():
            return error.message.rstrip(".")
        case FileTooLarge():
            return (
                f"it has {error.size} bytes, too many for this; use grep or read_file with a window"
            )
        case UnicodeError():
            return "it is not UTF-8 text"
        case OSError() if error.errno in _REASONS:
            return _REASONS[error.errno]
        case _:
            logger.warning("file operation failed", exc_info=error)
            return "the operation failed"


def transfer_code(error: Exception) -> str:
    """The code deepagents expects for an upload or download, or a sentence where it has none."""
    if isinstance(error, OutsideWorkspace):
        return PERMISSION_DENIED
    if isinstance(error, OSError) and error.errno in _TRANSFER_CODES:
        return _TRANSFER_CODES[error.errno]
    return _reason(error)
