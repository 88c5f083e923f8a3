"""What the conformance suite requires of a server besides our tools: tools, resources and prompts.

Their names, texts and schemas are the suite's. They stand on the SDK's own server and are joined
with our toolbox, so that our endpoint is tested with everything the protocol has.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import mcp_types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.mcpserver.prompts.base import UserMessage

from dataagent_server.mcp.endpoint import TOOLS, make_sdk_server
from tests.conformance import client_requests

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJ"
    "RU5ErkJggg=="
)
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = wire.ImageContent(data=PIXEL, mime_type="image/png")
_STATE_KEY = b"a key of the tests, for the suite alone"
AnyContext = ServerRequestContext[Any, Any]


def fixture_server() -> Server[Any]:
    """A server with the suite's fixtures and our tools."""
    made = MCPServer(
        name="dataagent",
        version="0.1.0",
        request_state_security=RequestStateSecurity(keys=[_STATE_KEY]),
    )
    for tool in (*TEST_TOOLS, *client_requests.TEST_TOOLS):
        made.add_tool(tool, description=_said_of(tool))
    for prompt in (*TEST_PROMPTS, *client_requests.TEST_PROMPTS):
        made.prompt(description=_said_of(prompt))(prompt)
    for uri, resource in TEST_RESOURCES.items():
        made.resource(uri)(resource)
    made.completion()(complete)
    # no other way to serve it with our endpoint
    server: Server[Any] = made._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    _add_legacy(server)
    _join(server, make_sdk_server(TOOLS))
    return server


def _said_of(fixture: Callable[..., object]) -> str:
    return f"The suite's {fixture.__name__.removeprefix('test_').replace('_', ' ')}."


def _add_legacy(server: Server[Any]) -> None:
    """What only the older revision has."""

    async def done(_: AnyContext, __: object) -> wire.EmptyResult:
        return wire.EmptyResult()

    server.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, done)
    server.add_request_handler("resources/subscribe", wire.SubscribeRequestParams, done)
    server.add_request_handler("resources/unsubscribe", wire.UnsubscribeRequestParams, done)


def _join(server: Server[Any], ours: Server[Any]) -> None:
    """Add our tools to the others."""
    theirs = {name: server.get_request_handler(name) for name in ("tools/list", "tools/call")}
    own = {name: ours.get_request_handler(name) for name in theirs}
    names = {tool.definition.name for tool in TOOLS}

    async def list_all(context: AnyContext, params: Any) -> wire.ListToolsResult:
        found = [await _handler(each)(context, params) for each in (own, theirs)]
        return wire.ListToolsResult(tools=[tool for page in found for tool in page.tools])

    def _handler(of: dict[str, Any]) -> Any:
        return of["tools/list"].handler

    async def call(context: AnyContext, params: wire.CallToolRequestParams) -> Any:
        chosen: Any = own if params.name in names else theirs
        return await chosen["tools/call"].handler(context, params)

    server.add_request_handler("tools/list", wire.PaginatedRequestParams, list_all)
    server.add_request_handler("tools/call", wire.CallToolRequestParams, call)


def _embedded(uri: str, text: str, mime_type: str = "text/plain") -> wire.EmbeddedResource:
    content = wire.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return wire.EmbeddedResource(resource=content)


def _said(text: str) -> UserMessage:
    return UserMessage(content=wire.TextContent(text=text))


# -- tools, resources and prompts ---


def test_simple_text() -> str:
    return "This is a simple text response for testing."


def test_image_content() -> list[wire.ImageContent]:
    return [IMAGE]


def test_audio_content() -> list[wire.AudioContent]:
    return [wire.AudioContent(data=SOUND, mime_type="audio/wav")]


def test_embedded_resource() -> list[wire.EmbeddedResource]:
    return [_embedded("test://embedded-resource", "This is an embedded resource content.")]


def test_multiple_content_types() -> list[wire.ContentBlock]:
    text = '{"test": "data", "value": 123}'
    return [
        wire.TextContent(text="Multiple content types test:"),
        IMAGE,
        _embedded("test://mixed-content-resource", text, "application/json"),
    ]


def test_error_handling() -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
    return "done"


async def test_tool_with_logging(ctx: Context) -> str:
    for text in ("started", "processing data", "completed"):
        # the older revision has it
        await ctx.info(f"Tool execution {text}")  # pyright: ignore[reportDeprecated]
    return "Tool with logging executed successfully"


def static_text() -> str:
    return "This is the content of the static text resource."


def static_binary() -> bytes:
    return base64.b64decode(PIXEL)


def template(id: str) -> str:  # noqa: A002 the suite's name
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def watched() -> str:
    return "Watched resource content"


async def complete(*_: object) -> wire.Completion:
    return wire.Completion(values=[], total=0, has_more=False)


def test_simple_prompt() -> list[UserMessage]:
    return [_said("This is a simple prompt for testing.")]


def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
    return [_said(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]


# the suite's name
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    resource = _embedded(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(content=resource), _said("Please process the embedded resource above.")]


def test_prompt_with_image() -> list[UserMessage]:
    image = wire.ImageContent(data=PIXEL, mime_type="image/png")
    return [UserMessage(content=image), _said("Please analyze the image above.")]


TEST_TOOLS = (
    test_simple_text, test_image_content, test_audio_content, test_embedded_resource,
    test_multiple_content_types, test_error_handling, test_tool_with_progress,
    test_tool_with_logging,
)  # fmt: skip
TEST_PROMPTS = (
    test_simple_prompt, test_prompt_with_arguments, test_prompt_with_embedded_resource,
    test_prompt_with_image,
)  # fmt: skip
TEST_RESOURCES = {
    "test://static-text": static_text,
    "test://static-binary": static_binary,
    "test://template/{id}/data": template,
    "test://watched-resource": watched,
}
