"""OpenTelemetry spans, if the operator names a collector: request → run → model or tool call.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set; then nothing of OpenTelemetry is even imported, and
a span is an empty `with`. Spans carry ids, names and counts, never what was said: an exception's
text stays in the log. Above: the server's middleware, the worker, `middleware/tracing.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dataagent_core.config import Settings
from dataagent_core.errors import Misconfigured

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

Attributes = Mapping[str, str | int | float | bool]
_NOTHING: AbstractContextManager[None] = nullcontext()
_SHUTDOWN_MILLISECONDS = 3000


class Traces:
    """Spans that go nowhere."""

    is_on: bool = False

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[Any]:
        """A span around the block; work that tasks of it do is below it.

        `headers` of a request may say which span elsewhere it belongs to (`traceparent`).
        """
        return _NOTHING

    async def aclose(self) -> None:
        """Send what is left."""


class OpenTelemetryTraces(Traces):
    """Spans that are sent to a collector, in batches, by a thread of their own."""

    is_on = True

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import propagate, trace

        self._provider = provider
        self._tracer = provider.get_tracer("dataagent")
        self._extract = propagate.extract
        self._error = trace.Status(trace.StatusCode.ERROR)

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[Any]:
        """As `Traces.span`; the block gets the span."""
        return self._span(name, attributes, headers)

    @contextmanager
    def _span(
        self, name: str, attributes: Attributes | None, headers: Mapping[str, str] | None
    ) -> Generator[Any]:
        context = None if headers is None else self._extract(headers)
        with self._tracer.start_as_current_span(
            name,
            context=context,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                if not isinstance(error, asyncio.CancelledError | GeneratorExit):
                    span.set_status(self._error)
                raise

    async def aclose(self) -> None:
        """As `Traces.aclose`; a collector that does not answer is not waited for long."""
        await asyncio.to_thread(self._provider.force_flush, _SHUTDOWN_MILLISECONDS)
        await asyncio.to_thread(self._provider.shutdown)


def open_traces(settings: Settings) -> Traces:
    """Spans as the settings want them.

    Raises:
        Misconfigured: a collector is named and OpenTelemetry is not installed.
    """
    if settings.otel_exporter_otlp_endpoint is None:
        return Traces()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise Misconfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set but OpenTelemetry is not installed. "
            "Install dataagent-core[otel], or unset it."
        ) from error
    provider = TracerProvider(
        resource=Resource.create({"service.name": settings.otel_service_name}),
        shutdown_on_exit=False,
    )
    endpoint = f"{settings.otel_exporter_otlp_endpoint.rstrip('/')}/v1/traces"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return OpenTelemetryTraces(provider)
