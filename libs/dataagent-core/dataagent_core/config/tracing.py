"""Where traces go, how many are taken, and whether they hold what was said.

A part of `Settings`, under the names the tools themselves use. A tracer is on when its own variable
says so and off otherwise; each takes a share of the runs if it is told to. Above: `settings.py`.
Below: nothing. `telemetry/` reads them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, Field, SecretStr, ValidationInfo, field_validator

Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]


def _langsmith(name: str) -> AliasChoices:
    """A variable of LangSmith's under its two names."""
    return AliasChoices(f"LANGSMITH_{name}", f"LANGCHAIN_{name}")


class TraceSettings(BaseModel):
    """What an operator can say about traces."""

    # traces, and whether they hold what was said
    trace_content: bool = False
    otel_exporter_otlp_endpoint: str | None = Field(
        default=None, validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    otel_exporter_otlp_headers: SecretStr | None = Field(
        default=None, validation_alias="OTEL_EXPORTER_OTLP_HEADERS"
    )
    otel_service_name: str = Field(default="dataagent", validation_alias="OTEL_SERVICE_NAME")
    otel_traces_sampler: Sampler = Field(
        default="parentbased_always_on", validation_alias="OTEL_TRACES_SAMPLER"
    )
    otel_traces_sampler_arg: float = Field(
        default=1.0, ge=0, le=1, validation_alias="OTEL_TRACES_SAMPLER_ARG"
    )
    langsmith_tracing: bool = Field(
        default=False,
        validation_alias=AliasChoices(
            "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING"
        ),
    )
    langsmith_api_key: SecretStr | None = Field(
        default=None, validation_alias=_langsmith("API_KEY")
    )
    langsmith_endpoint: str = Field(
        default="https://api.smith.langchain.com", validation_alias=_langsmith("ENDPOINT")
    )
    langsmith_project: str = Field(default="dataagent", validation_alias=_langsmith("PROJECT"))
    langsmith_tracing_sampling_rate: float = Field(
        default=1.0, ge=0, le=1, validation_alias=_langsmith("TRACING_SAMPLING_RATE")
    )
    langfuse_public_key: str | None = Field(default=None, validation_alias="LANGFUSE_PUBLIC_KEY")
    langfuse_secret_key: SecretStr | None = Field(
        default=None, validation_alias="LANGFUSE_SECRET_KEY"
    )
    langfuse_base_url: str = Field(
        default="https://cloud.langfuse.com",
        validation_alias=AliasChoices("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
    )
    langfuse_tracing_enabled: bool = Field(
        default=True, validation_alias="LANGFUSE_TRACING_ENABLED"
    )
    langfuse_tracing_environment: str = Field(
        default="default", validation_alias="LANGFUSE_TRACING_ENVIRONMENT"
    )
    langfuse_sample_rate: float = Field(
        default=1.0, ge=0, le=1, validation_alias="LANGFUSE_SAMPLE_RATE"
    )

    @field_validator("langsmith_tracing", "otel_traces_sampler", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """In small letters; a variable that is set to nothing says nothing."""
        if not isinstance(value, str):
            return value
        return value.strip().lower() or cls.model_fields[str(info.field_name)].default

    @property
    def has_langfuse(self) -> bool:
        """Whether Langfuse gets the traces: its two keys are there and nobody says no."""
        has_keys = bool(self.langfuse_public_key and self.langfuse_secret_key)
        return has_keys and self.langfuse_tracing_enabled
