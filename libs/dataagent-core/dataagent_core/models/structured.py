"""An answer that follows a schema: what to ask the model for, and how to read it.

Pure. Used by `openai_compatible.py`'s `with_structured_output`.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal, TypeAlias

from langchain_core.output_parsers import (
    BaseOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
)
from langchain_core.output_parsers.openai_tools import (
    JsonOutputKeyToolsParser,
    PydanticToolsParser,
)
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import BaseModel

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
