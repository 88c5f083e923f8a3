"""The suite's tools that ask the client back: over the open connection in the older revision, by a
result that says what is missing in the newer one.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as wire
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from pydantic import BaseModel, Field

NAME: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
CONFIRM: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
}
Asked = str | wire.InputRequiredResult


class Said(BaseModel):
    """An answer in words."""

    response: str = Field(description="User's response")


class Defaults(BaseModel):
    """A form whose fields are filled in already."""

    name: str = Field(default="John Doe", description="User name")
    age: int = Field(default=30, description="User age")
    score: float = Field(default=95.5, description="User score")
    status: str = Field(
        default="active",
        description="User status",
        json_schema_extra={"enum": ["active", "inactive", "pending"]},
    )
    verified: bool = Field(default=True, description="Verification status")


def _titled(**options: str) -> list[Any]:
    return [{"const": value, "title": title} for value, title in options.items()]


class Choices(BaseModel):
    """Every way to let someone choose."""

    # the suite's names
    untitledSingle: str = Field(  # noqa: N815
        json_schema_extra={"enum": ["active", "inactive", "pending"]}
    )
    titledSingle: str = Field(  # noqa: N815
        json_schema_extra={
            "oneOf": _titled(low="Low Priority", medium="Medium Priority", high="High Priority")
        }
    )
    untitledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={"items": {"type": "string", "enum": ["read", "write", "execute"]}}
    )
    titledMulti: list[str] = Field(  # noqa: N815
        json_schema_extra={
            "items": {"anyOf": _titled(feature="New Feature", bug="Bug Fix", docs="Documentation")}
        }
    )
    legacyEnum: str = Field(  # noqa: N815
        json_schema_extra={
            "enum": ["small", "medium", "large"],
            "enumNames": ["Small Size", "Medium Size", "Large Size"],
        }
    )


def form(message: str, schema: dict[str, Any]) -> wire.ElicitRequest:
    """A form for the user."""
    return wire.ElicitRequest(
        params=wire.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sample(text: str) -> wire.CreateMessageRequest:
    """A question for the client's model."""
    message = wire.SamplingMessage(role="user", content=wire.TextContent(text=text))
    params = wire.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return wire.CreateMessageRequest(params=params)


def missing(state: str | None = None, **requests: Any) -> wire.InputRequiredResult:
    """What the client has to bring along next time."""
    return wire.InputRequiredResult(input_requests=requests, request_state=state)


def answered(context: Context, key: str) -> Any:
    """What the user entered, if they did."""
    answer = (context.input_responses or {}).get(key)
    return answer.content if isinstance(answer, wire.ElicitResult) else None


async def ask(ctx: Context, message: str, schema: type[BaseModel]) -> str:
    """Ask the user over the open connection."""
    result = await ctx.elicit(message=message, schema=schema)
    content = result.data.model_dump_json() if result.action == "accept" else "{}"
    return f"action={result.action}, content={content}"


def _one(field: str) -> dict[str, Any]:
    return {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}


QUESTION = form("What is your name?", NAME)
_CONFIRM = form("Please confirm", CONFIRM)


async def test_sampling(prompt: str, ctx: Context) -> str:
    message = wire.SamplingMessage(role="user", content=wire.TextContent(text=prompt))
    # the older revision has it
    result = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        messages=[message], max_tokens=100, related_request_id=ctx.request_id
    )
    text = result.content.text if isinstance(result.content, wire.TextContent) else ""
    return f"LLM response: {text}"


async def test_elicitation(message: str, ctx: Context) -> str:
    return f"User response: {await ask(ctx, message, Said)}"


async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    return f"Elicitation result: {await ask(ctx, 'Who are you?', Defaults)}"


async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    return f"Elicitation completed: {await ask(ctx, 'Choose', Choices)}"


async def test_input_required_result_elicitation(ctx: Context) -> Asked:
    found = answered(ctx, "user_name")
    return f"Hello, {found['name']}!" if found else missing(user_name=QUESTION)


async def test_input_required_result_sampling(ctx: Context) -> Asked:
    found = (ctx.input_responses or {}).get("capital_question")
    if not isinstance(found, wire.CreateMessageResult):
        return missing(capital_question=sample("What is the capital of France?"))
    text = found.content.text if isinstance(found.content, wire.TextContent) else ""
    return f"Model said: {text}"


async def test_input_required_result_list_roots(ctx: Context) -> Asked:
    found = (ctx.input_responses or {}).get("client_roots")
    if not isinstance(found, wire.ListRootsResult):
        return missing(client_roots=wire.ListRootsRequest())
    return f"Client exposed {len(found.roots)} root(s)."


async def test_input_required_result_prompt(
    ctx: Context,
) -> list[UserMessage] | wire.InputRequiredResult:
    found = answered(ctx, "user_context")
    if not found:
        schema = {
            "type": "object",
            "properties": {"context": {"type": "string"}},
            "required": ["context"],
        }
        return missing(user_context=form("What context should the prompt use?", schema))
    text = f"Use the following context: {found['context']}"
    return [UserMessage(content=wire.TextContent(text=text))]


async def test_input_required_result_request_state(ctx: Context) -> Asked:
    if answered(ctx, "confirm") is not None and ctx.request_state == "nonce":
        return "state-ok: confirmation received"
    return missing("nonce", confirm=_CONFIRM)


async def test_input_required_result_tampered_state(ctx: Context) -> Asked:
    if ctx.request_state is None:
        return missing("round-1", confirm=_CONFIRM)
    return f"state-ok: {ctx.request_state}"


async def test_input_required_result_multiple_inputs(ctx: Context) -> Asked:
    if {"user_name", "greeting", "client_roots"} <= (ctx.input_responses or {}).keys():
        return "All inputs received."
    return missing(
        "multiple-inputs",
        user_name=form("What is your name?", NAME),
        greeting=sample("Generate a greeting"),
        client_roots=wire.ListRootsRequest(),
    )


async def test_input_required_result_multi_round(ctx: Context) -> Asked:
    state = json.loads(ctx.request_state) if ctx.request_state else {"round": 0}
    name, color = answered(ctx, "step1"), answered(ctx, "step2")
    if state["round"] == 1 and name:
        asked = form("Step 2: What is your favorite color?", _one("color"))
        return missing(json.dumps({"round": 2, "name": name["name"]}), step2=asked)
    if state["round"] == 2 and color:
        return f"{state['name']} likes {color['color']}."
    return missing(json.dumps({"round": 1}), step1=form("Step 1: What is your name?", NAME))


async def test_missing_capability(ctx: Context) -> str:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            wire.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool requires the client 'sampling' capability",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return "Client declared sampling capability; proceeding."


async def test_input_required_result_capabilities(ctx: Context) -> wire.InputRequiredResult:
    capabilities = ctx.client_capabilities
    requests: dict[str, Any] = {}
    if capabilities is None or capabilities.sampling is not None:
        requests["sample"] = sample("Say hello")
    if capabilities is None or capabilities.elicitation is not None:
        requests["ask"] = form("What is your name?", NAME)
    return missing("capability-gated", **requests)


async def test_trigger_tool_change(ctx: Context) -> str:
    await ctx.notify_tools_changed()
    return "tool list changed"


async def test_trigger_prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "prompt list changed"


TEST_TOOLS = (
    test_sampling, test_elicitation, test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums, test_input_required_result_elicitation,
    test_input_required_result_sampling, test_input_required_result_list_roots,
    test_input_required_result_request_state, test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs, test_input_required_result_multi_round,
    test_missing_capability, test_input_required_result_capabilities,
    test_trigger_tool_change, test_trigger_prompt_change,
)  # fmt: skip
TEST_PROMPTS = (test_input_required_result_prompt,)
