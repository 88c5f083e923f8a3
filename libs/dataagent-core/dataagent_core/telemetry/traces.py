"""Traces: what was done for whom, how long it took and how it ended, from request to tool call.

Off unless a tracer is configured: OpenTelemetry is then not even imported, and a span is an empty
`with`. Spans carry names, ids and counts; messages and results only with
`DATAAGENT_TRACE_CONTENT`, without secrets. An error is recorded by its class, never by its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured
from dataagent_core.telemetry.context import current_context
from dataagent_core.telemetry.langsmith import LangSmith, open_langsmith
from dataagent_core.telemetry.spans import Errors, RunTrace

Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "server", "client"]
_NOTHING: AbstractContextManager[None] = nullcontext()


class Traces:
    """Spans that go nowhere. LangSmith, which follows runs by itself, may follow them still."""

    is_on: bool = False
    has_content: bool = False
    """Whether spans may hold what was said."""

    def __init__(self, langsmith: LangSmith | None = None) -> None:
        self._langsmith = langsmith

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        kind: Kind = "internal",
        headers: Mapping[str, str] | None = None,
        passing: Errors = (),
    ) -> AbstractContextManager[Any]:
        """A span around the block; work that tasks of it do is below it.

        `headers` of a request may say which span elsewhere it belongs to (`traceparent`). Errors
        that are `passing` are ways out of the block and no failure.
        """
        return _NOTHING

    def join(self, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        """No span, but what the block does belongs to the one the headers name, if they do."""
        return _NOTHING

    def run(self, run: RunTrace, passing: Errors = ()) -> AbstractContextManager[Any]:
        """What is around a whole run, whichever tracers there are."""
        if self._langsmith is None:
            return _NOTHING
        return self._langsmith.run(
            run, self.trace_id or current_context().request_id or "", passing
        )

    @property
    def has_langsmith(self) -> bool:
        """Whether LangSmith follows runs."""
        return self._langsmith is not None

    def failed(self, span: Any, kind: str) -> None:
        """Mark a block that failed without raising."""

    def set_content(self, span: Any, name: str, value: Any) -> None:
        """Add what was said to a span, if spans may hold it."""

    @property
    def trace_id(self) -> str | None:
        """Of the trace this is part of."""
        return None

    @property
    def traceparent(self) -> str | None:
        """What lets work elsewhere be part of this trace (W3C)."""
        return None

    async def aclose(self) -> None:
        """Send what is left, within a short time limit."""
        if self._langsmith is not None:
            await self._langsmith.aclose()


def open_traces(settings: Settings) -> Traces:
    """Traces as the settings want them.

    Raises:
        Misconfigured: a tracer is on and its key or its package is missing.
    """
    langsmith = open_langsmith(settings)
    if settings.otel_exporter_otlp_endpoint is None and not settings.has_langfuse:
        return Traces(langsmith)
    try:
        from dataagent_core.telemetry.otel import open_spans
    except ImportError as error:
        raise Misconfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT or LANGFUSE_PUBLIC_KEY is set but OpenTelemetry is not "
            "installed. Install dataagent-core[otel], or unset it."
        ) from error
    return open_spans(settings, langsmith)
