"""A chat model for any endpoint that speaks OpenAI's `chat/completions`.

OpenAI itself, and Qwen, DeepSeek, vLLM, Ollama and many others. It is ours because the SDK's
objects cost two to three times as much a turn: here a read from the socket is one JSON parse for
each event and one chunk for all of them. For the Responses API there is `langchain-openai:…`.
`openai_request.py` encodes, `openai_transport.py` sends, `openai_stream.py` decodes.

deepagents summarises a conversation at 85 % of `max_input_tokens`; a model whose name is not in the
table of sizes here gets the size most models have today.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams, LanguageModelInput
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.openai_tools import JsonOutputKeyToolsParser, PydanticToolsParser
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr
from yarl import URL

from dataagent_core.models.chunks import Piece
from dataagent_core.models.openai_request import (
    ToolLike,
    ToolSchemas,
    choice_of,
    encode_body,
    encode_messages,
)
from dataagent_core.models.openai_stream import AnswerDecoder
from dataagent_core.models.openai_transport import Endpoint, Transport
from dataagent_core.models.streamed_model import StreamedChatModel, run_sync

DEFAULT_INPUT_TOKENS: Final = 128_000

_INPUT_TOKENS: Final = (
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_385),
    ("gpt-5", 272_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("deepseek", 128_000),
    ("qwen3-coder", 262_144),
    ("qwen", 131_072),
    ("glm-4", 128_000),
    ("kimi", 262_144),
)
"""First match by start of the name wins, so the longer names stand first."""


def profile_of(model_name: str, *, is_openai: bool) -> ModelProfile:
    """What we know about a model. A vendor before a slash in the name does not count."""
    name = model_name.rpartition("/")[2].lower()
    known = (tokens for start, tokens in _INPUT_TOKENS if name.startswith(start))
    return {
        "max_input_tokens": next(known, DEFAULT_INPUT_TOKENS),
        "tool_calling": True,
        "image_tool_message": False,
        "pdf_tool_message": False,
        "structured_output": is_openai,
    }


Method: TypeAlias = Literal["json_schema", "function_calling", "json_mode"]
Schema: TypeAlias = dict[str, Any] | type


def response_format(schema: Schema, *, strict: bool | None) -> dict[str, Any]:
    """The `response_format` that asks for JSON of this schema."""
    if isinstance(schema, dict) and schema.get("type") == "json_schema":
        return schema
    function = convert_to_openai_function(schema, strict=strict)
    function["schema"] = function.pop("parameters")
    return {"type": "json_schema", "json_schema": function}


def text_parser(schema: Schema | None) -> BaseOutputParser[Any]:
    """Reads JSON text into the schema's class, or into a dictionary."""
    model = _model_of(schema)
    return PydanticOutputParser(pydantic_object=model) if model else JsonOutputParser()


def call_parser(schema: Schema) -> BaseOutputParser[Any]:
    """Reads the arguments of a call to the tool named as the schema."""
    model = _model_of(schema)
    if model:
        return PydanticToolsParser(tools=[model], first_tool_only=True)
    return JsonOutputKeyToolsParser(key_name=name_of(schema), first_tool_only=True)


def name_of(schema: Schema) -> str:
    """The name under which a schema is a tool."""
    return convert_to_openai_tool(schema)["function"]["name"]


def with_raw_output(model: Runnable[Any, Any], parser: BaseOutputParser[Any]) -> Runnable[Any, Any]:
    """`{"raw", "parsed", "parsing_error"}` instead of the parsed answer alone."""
    parsed = RunnablePassthrough.assign(
        parsed=itemgetter("raw") | parser, parsing_error=lambda _: None
    )
    unparsed = RunnablePassthrough.assign(parsed=lambda _: None)
    fallback = parsed.with_fallbacks([unparsed], exception_key="parsing_error")
    return RunnableMap(raw=model) | fallback


def _model_of(schema: Schema | None) -> type[BaseModel] | None:
    return schema if isinstance(schema, type) and is_basemodel_subclass(schema) else None


OPENAI_URL = "https://api.openai.com/v1"


class LeanChatModel(StreamedChatModel):
    """Streams from an OpenAI-compatible endpoint. Close it with `aclose` when it is done with."""

    model_name: str = Field(alias="model")
    base_url: str = OPENAI_URL
    api_key: SecretStr | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: list[str] | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    extra_headers: dict[str, str] = Field(default_factory=dict, repr=False)
    timeout_seconds: float = 120.0
    """How long the server may send nothing."""
    connect_timeout_seconds: float = 10.0
    max_retries: int = 2
    retry_base_seconds: float = 0.5
    trusts_env: bool = True
    """Whether `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` apply."""
    asks_for_usage: bool = True
    sends_reasoning: bool = False
    """Whether earlier `reasoning_content` goes back to the server, which some demand."""

    model_config = ConfigDict(populate_by_name=True, arbitrary_types_allowed=True)

    _transport: Transport = PrivateAttr()
    _schemas: ToolSchemas = PrivateAttr(default_factory=ToolSchemas)

    def model_post_init(self, context: Any, /) -> None:
        """Prepare the endpoint; no connection is made before the first call."""
        super().model_post_init(context)
        self._transport = Transport(
            Endpoint(
                url=URL(self.base_url.rstrip("/") + "/chat/completions"),
                headers=self._headers(),
                connect_timeout=self.connect_timeout_seconds,
                idle_timeout=self.timeout_seconds,
                max_retries=self.max_retries,
                retry_base=self.retry_base_seconds,
                trusts_env=self.trusts_env,
            )
        )

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._transport.aclose()

    # -- asking -----------------------------------------------------------------------------

    async def pieces(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[Piece]:
        """What the server says, as much as came at once."""
        body = encode_body(self.request_body(messages, stop=stop, **kwargs))
        decoder = AnswerDecoder()
        async with self._transport.post(body) as response:
            while not decoder.is_done and (received := await self._transport.read(response)):
                if piece := decoder.feed(received):
                    yield piece
            for piece in decoder.end():
                yield piece

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        async def once() -> ChatResult:
            try:
                return await self._agenerate(messages, stop, **kwargs)
            finally:
                await self.aclose()

        return run_sync(once)

    def request_body(
        self, messages: Sequence[BaseMessage], *, stop: list[str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """What is sent for a conversation. `options` of one call win over the model's own."""
        body: dict[str, Any] = {
            "model": self.model_name,
            "messages": encode_messages(messages, sends_reasoning=self.sends_reasoning),
            "temperature": self.temperature,
            "stop": stop or self.stop,
            "max_completion_tokens" if self._is_openai else "max_tokens": self.max_tokens,
            "stream_options": {"include_usage": True} if self.asks_for_usage else None,
            **self.extra_body,
            **options,
            "stream": True,
        }
        return {name: value for name, value in body.items() if value is not None}

    # -- tools and schemas ------------------------------------------------------------------

    def bind_tools(
        self,
        tools: Sequence[ToolLike],
        *,
        tool_choice: str | bool | dict[str, Any] | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools. `tool_choice` is a tool's name, `any`, `auto`, `none` or a dict."""
        described = self._schemas.describe(tools, strict=strict)
        if described:
            kwargs["tools"] = described
        if choice := choice_of(tool_choice, described):
            kwargs["tool_choice"] = choice
        return self.bind(**kwargs)

    def with_structured_output(
        self,
        schema: Schema,
        *,
        include_raw: bool = False,
        method: Method = "json_schema",
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """The model answering in a schema: as JSON (`json_schema`), or as a tool call."""
        if method == "function_calling":
            parser = call_parser(schema)
            model = self.bind_tools(
                [schema],
                tool_choice=name_of(schema),
                strict=strict,
                parallel_tool_calls=False,
                **kwargs,
            )
        else:
            parser = text_parser(schema)
            asked = {"type": "json_object"}
            if method == "json_schema":
                asked = response_format(schema, strict=strict)
            model = self.bind(response_format=asked, **kwargs)
        return with_raw_output(model, parser) if include_raw else model | parser

    # -- who it is --------------------------------------------------------------------------

    @property
    def _is_openai(self) -> bool:
        return (URL(self.base_url).host or "").endswith("openai.com")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self.api_key and self.api_key.get_secret_value():
            headers["Authorization"] = f"Bearer {self.api_key.get_secret_value()}"
        return {**headers, **self.extra_headers}

    def _resolve_model_profile(self) -> ModelProfile:
        return profile_of(self.model_name, is_openai=self._is_openai)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop=stop, **kwargs), "ls_provider": "openai"}

    @property
    def _llm_type(self) -> str:
        return "openai-compatible"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {
            "model_name": self.model_name,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Where the key comes from, for LangChain's serialisation."""
        return {"api_key": "OPENAI_API_KEY"}
