"""The families of errors: what they have in common, and those that stand alone."""

from __future__ import annotations

from typing import ClassVar


class DataAgentError(Exception):
    """Base of all errors. `message` names the thing and the way out; `details` is for programs."""

    code: ClassVar[str] = "error"
    recoverable: ClassVar[bool] = False

    def __init__(self, message: str, *, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class Invalid(DataAgentError):
    """The caller sent something that cannot be understood."""

    code = "invalid"


class NotFound(DataAgentError):
    """There is no such thing, or it is not the caller's to see."""

    code = "not_found"


class NotAuthenticated(DataAgentError):
    """No valid credential came with the request."""

    code = "not_authenticated"


class Denied(DataAgentError):
    """The caller is known and may not do this."""

    code = "denied"


class Conflict(DataAgentError):
    """The request is fine but does not fit the present state."""

    code = "conflict"


class LimitReached(DataAgentError):
    """A limit of the user, tenant or server is reached."""

    code = "limit_reached"
    recoverable = True

    def __init__(
        self,
        message: str,
        *,
        details: dict[str, object] | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.retry_after_seconds = retry_after_seconds


class Unavailable(DataAgentError):
    """Something outside does not answer; trying again may help."""

    code = "unavailable"
    recoverable = True


class QueryFailed(DataAgentError):
    """The source's engine ran the statement and reported an error, which the message quotes."""

    code = "query_failed"


class ModelRefused(DataAgentError):
    """The provider rejected the request: wrong key, unknown model, context too long."""

    code = "model_refused"


class ToolFailed(DataAgentError):
    """A tool could not do its work; the message is fit for the model to read."""

    code = "tool_failed"


class Misconfigured(DataAgentError):
    """A setting is missing or makes no sense; the message says which and what to set."""

    code = "misconfigured"
