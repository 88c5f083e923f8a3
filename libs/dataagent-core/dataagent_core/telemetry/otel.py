"""OpenTelemetry spans, sent in batches by their own threads.

They go to a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`), to Langfuse (`LANGFUSE_*`), or to both:
Langfuse speaks the same protocol and gets the spans of runs. The provider is not the process's, so
other libraries' spans are not included. Of a caller's headers only the trace context is read, not
baggage.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import orjson
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dataagent_core.config import Settings
from dataagent_core.telemetry import spans
from dataagent_core.telemetry.context import current_context
from dataagent_core.telemetry.langsmith import LangSmith, finish_within
from dataagent_core.telemetry.logs import Scrubber, known_secrets
from dataagent_core.telemetry.spans import CANCELLED, Errors, RunTrace, failure_kind
from dataagent_core.telemetry.traces import Attributes, Kind, Traces

_KINDS: dict[Kind, trace.SpanKind] = {
    "internal": trace.SpanKind.INTERNAL,
    "server": trace.SpanKind.SERVER,
    "client": trace.SpanKind.CLIENT,
}
_ERROR = trace.Status(trace.StatusCode.ERROR)
_W3C = TraceContextTextMapPropagator()
_MOST_SAID = 32_000
_FLUSH_SECONDS = 3.0
_CLOSE_SECONDS = 2.0
_EXPORT_SECONDS = 5
_LANGFUSE_PATH = "/api/public/otel/v1/traces"
RUN_ID = "dataagent.run_id"


class OpenTelemetryTraces(Traces):
    """Spans that are sent."""

    is_on = True

    def __init__(
        self,
        provider: TracerProvider,
        *,
        scrubber: Scrubber | None = None,
        langsmith: LangSmith | None = None,
    ) -> None:
        """With a `scrubber` spans hold what was said, as it lets them."""
        super().__init__(langsmith)
        self._provider = provider
        self._tracer = provider.get_tracer("dataagent")
        self._scrubber = scrubber
        self.has_content = scrubber is not None

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        kind: Kind = "internal",
        headers: Mapping[str, str] | None = None,
        passing: Errors = (),
    ) -> AbstractContextManager[trace.Span]:
        """As `Traces.span`; the block gets the span."""
        context = None if headers is None else _W3C.extract(headers)
        return self._span(
            name, {**_owner_attributes(), **(attributes or {})}, kind, context, passing
        )

    @contextmanager
    def _span(
        self,
        name: str,
        attributes: Attributes,
        kind: Kind,
        context: contexts.Context | None,
        passing: Errors,
    ) -> Generator[trace.Span]:
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=_KINDS[kind],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except passing:
                raise
            except BaseException as error:
                self.failed(span, failure_kind(error))
                raise

    @contextmanager
    def join(self, headers: Mapping[str, str]) -> Generator[None]:
        """As `Traces.join`."""
        token = contexts.attach(_W3C.extract(headers))
        try:
            yield
        finally:
            contexts.detach(token)

    @contextmanager
    def run(self, run: RunTrace, passing: Errors = ()) -> Generator[RunTrace]:
        """As `Traces.run`; the block gets the run back, to note how it ended."""
        headers = None if run.traceparent is None else {"traceparent": run.traceparent}
        with (
            self.span(run.name, spans.agent(run), headers=headers, passing=passing) as span,
            super().run(run, passing),
        ):
            self.set_content(span, "gen_ai.input.messages", spans.user_message(run.message))
            yield run
            self.set_content(span, "gen_ai.output.messages", spans.agent_message(run.answer))
            span.set_attributes(spans.usage(run.usage))
            if run.failure is not None:
                self.failed(span, run.failure)

    def failed(self, span: Any, kind: str) -> None:
        """As `Traces.failed`; who is stopped by a person has not failed."""
        span.set_attribute("error.type", kind)
        if kind != CANCELLED:
            span.set_status(_ERROR)

    def set_content(self, span: Any, name: str, value: Any) -> None:
        """As `Traces.set_content`."""
        if self._scrubber is None or value is None or not span.is_recording():
            return
        said = self._scrubber.field("", value)
        text = said if isinstance(said, str) else orjson.dumps(said, default=str).decode()
        span.set_attribute(name, text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…")

    @property
    def trace_id(self) -> str | None:
        """As `Traces.trace_id`."""
        found = trace.get_current_span().get_span_context()
        return f"{found.trace_id:032x}" if found.is_valid else None

    @property
    def traceparent(self) -> str | None:
        """As `Traces.traceparent`."""
        carrier: dict[str, str] = {}
        _W3C.inject(carrier)
        return carrier.get("traceparent")

    async def aclose(self) -> None:
        """As `Traces.aclose`."""
        await finish_within(_FLUSH_SECONDS, self._provider.force_flush)
        await finish_within(_CLOSE_SECONDS, self._provider.shutdown)
        await super().aclose()


def _owner_attributes() -> dict[str, str]:
    """On whose behalf it is done: on every span, so that each can be found by it."""
    known = current_context()
    found = {
        "dataagent.request_id": known.request_id,
        RUN_ID: known.run_id,
        "user.id": known.user_id,
    }
    return {name: value for name, value in found.items() if value is not None}


# -- where they go --------------------------------------------------------------------------------


class _LangfuseProcessor(SpanProcessor):
    """Passes on what belongs to runs, of a share of the traces, under names Langfuse asks for."""

    def __init__(self, inner: SpanProcessor, rate: float, environment: str) -> None:
        self._inner = inner
        self._sampler = sampling.TraceIdRatioBased(rate)
        self._environment = environment

    def on_start(self, span: Span, parent_context: contexts.Context | None = None) -> None:
        found = span.attributes or {}
        if RUN_ID not in found:
            return
        span.set_attribute("langfuse.environment", self._environment)
        if found.get("gen_ai.operation.name") == "invoke_agent":
            span.set_attribute("langfuse.trace.name", span.name)
            span.set_attribute("langfuse.internal.as_root", True)

    def on_end(self, span: ReadableSpan) -> None:
        if RUN_ID in (span.attributes or {}) and self._is_taken(span):
            self._inner.on_end(span)

    def _is_taken(self, span: ReadableSpan) -> bool:
        found = span.get_span_context()
        if found is None:
            return False
        result = self._sampler.should_sample(None, found.trace_id, span.name)
        return result.decision.is_sampled()

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def open_spans(settings: Settings, langsmith: LangSmith | None = None) -> OpenTelemetryTraces:
    """Spans for the exporters of the settings."""
    provider = TracerProvider(
        resource=Resource.create({"service.name": settings.otel_service_name}),
        sampler=_sampler(settings),
        shutdown_on_exit=False,
    )
    if settings.otel_exporter_otlp_endpoint is not None:
        provider.add_span_processor(_collector(settings.otel_exporter_otlp_endpoint, settings))
    if settings.has_langfuse:
        provider.add_span_processor(_langfuse(settings))
    scrubber = Scrubber(known_secrets(settings)) if settings.trace_content else None
    return OpenTelemetryTraces(provider, scrubber=scrubber, langsmith=langsmith)


def _collector(endpoint: str, settings: Settings) -> SpanProcessor:
    headers = settings.otel_exporter_otlp_headers
    return _batched(
        f"{endpoint.rstrip('/')}/v1/traces",
        None if headers is None else _headers(headers.get_secret_value()),
    )


def _langfuse(settings: Settings) -> SpanProcessor:
    secret = settings.langfuse_secret_key
    pair = f"{settings.langfuse_public_key}:{secret.get_secret_value() if secret else ''}"
    headers = {
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "x-langfuse-public-key": settings.langfuse_public_key or "",
        "x-langfuse-ingestion-version": "4",
    }
    batched = _batched(f"{settings.langfuse_base_url.rstrip('/')}{_LANGFUSE_PATH}", headers)
    environment = settings.langfuse_tracing_environment
    return _LangfuseProcessor(batched, settings.langfuse_sample_rate, environment)


def _batched(endpoint: str, headers: dict[str, str] | None) -> SpanProcessor:
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=headers, timeout=_EXPORT_SECONDS)
    return BatchSpanProcessor(exporter)


def _headers(written: str) -> dict[str, str]:
    """`name=value,…` as OpenTelemetry writes headers; values are percent-encoded."""
    from opentelemetry.util.re import parse_env_headers

    return dict(parse_env_headers(written, liberal=True))


def _sampler(settings: Settings) -> sampling.Sampler:
    kinds: dict[str, Callable[[], sampling.Sampler]] = {
        "always_on": lambda: sampling.ALWAYS_ON,
        "always_off": lambda: sampling.ALWAYS_OFF,
        "traceidratio": lambda: sampling.TraceIdRatioBased(settings.otel_traces_sampler_arg),
    }
    name = settings.otel_traces_sampler
    made = kinds[name.removeprefix("parentbased_")]()
    return sampling.ParentBased(made) if name.startswith("parentbased_") else made
