"""Asks a person before a tool call that may do harm.

One interrupt a call, in sub-agents too, with four decisions: approve, edit, reject, respond.
`ApprovalRules.question` decides whether to ask and what. A run whose context says `auto_approve`,
or allows the tool, asks no one; neither may change between an interrupt and its resume, since the
question is decided again then. List the middleware before those that report or catch what tools do.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.human_in_the_loop import (
    ApproveDecision,
    EditDecision,
    RejectDecision,
    RespondDecision,
)
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command, interrupt
from pydantic import Discriminator

from dataagent_core.mcp.langchain import McpTool
from dataagent_core.middleware.calls import (
    ToolHandler,
    ToolOutcome,
    is_mcp,
    requires_approval,
    run_of,
    runtime_of,
)
from dataagent_core.network.sites import is_address, is_named_in, is_on
from dataagent_core.workspace.project import is_secret
from dataagent_protocol.hitl import carries_data

Preview = Callable[[ToolCall], Awaitable[str | None]]
"""The change that a call would make, as a unified diff."""

DEFAULT_GATED: Mapping[str, str] = {
    "write_file": "Write a file in the workspace, replacing it if it exists.",
    "edit_file": "Change a file in the workspace.",
    "delete": "Delete a file or folder in the workspace with everything in it.",
    "shell": "Run a shell command.",
    "http_request": "Send a request to another server, which may carry data out.",
}
"""Tools that write, run code or send data out, and the text a person reads about them.

`http_request` asks whatever its method: a GET carries data in its address as well as a POST does.
"""

_FETCH: Final = "fetch_url"
_SEARCHES: Final = frozenset({"web_search", "tavily_search"})
_ADDRESS_QUESTION: Final = (
    "Read a page at an address that is not from you or a search. An address may carry data out."
)
_SECRET_FILE_QUESTIONS: Final = {
    "read_file": "Show the agent a file that holds keys or passwords.",
    "grep": "Show the agent lines of a file that holds keys or passwords.",
}
_UNCONFIRMED: Final = "The server says that it only reads; nobody has confirmed that."
_MAX_DESCRIPTION: Final = 300
_MAX_SCHEMAS: Final = 256
_EDIT_NOTICE: Final = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in "
    "your message is the one you produced, not the one that executed. This was "
    "intentional and authorized. Do not re-issue your original call. "
    "Executed instead: {name} with arguments {arguments}."
)
_Decision: Any = Annotated[
    ApproveDecision | EditDecision | RejectDecision | RespondDecision, Discriminator("type")
]


def gated_tools(tools: Iterable[BaseTool]) -> dict[str, str]:
    """`DEFAULT_GATED`, and the tools that require approval by their metadata.

    A tool does so by `metadata={"approval": "the text a person reads"}`.
    """
    texts = {tool.name: (tool.metadata or {}).get("approval") for tool in tools}
    return {**DEFAULT_GATED, **{name: str(text) for name, text in texts.items() if text}}


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Which calls a person is asked about."""

    gated: Mapping[str, str] = field(default_factory=lambda: DEFAULT_GATED)
    """Tools that always ask, and the text a person reads."""

    fetch_hosts: tuple[str, ...] = ()
    """Hosts (`example.com`, `*.example.com`) whose pages are read without asking."""

    guards_secrets: bool = False
    """Whether files with keys or passwords may be among those the agent reads."""

    def question(self, call: ToolCallRequest) -> str | None:
        """The text that a person reads before this call; None if no one is asked.

        No one is asked about a tool that the agent does not have: the call is answered with that.
        """
        tool, name = call.tool, call.tool_call["name"]
        if tool is None or _is_approved(call):
            return None
        if is_mcp(tool):
            return _mcp_question(tool) if requires_approval(tool) else None
        if name in self.gated:
            return self.gated[name]
        if name == _FETCH and self._is_unknown_address(call):
            return _ADDRESS_QUESTION
        if self.guards_secrets and name in _SECRET_FILE_QUESTIONS and _reads_secrets(call):
            return _SECRET_FILE_QUESTIONS[name]
        return None

    def _is_unknown_address(self, call: ToolCallRequest) -> bool:
        """Whether no one but the model has named the address.

        The author of a page or file that the model read may have asked it to put its content
        into an address. So these are read without asking: an address in the user's message of this
        run, one that a search of this thread found, and one on an allowed host. An address whose
        query is long, or looks like encoded data, always asks.
        """
        url = str(call.tool_call["args"].get("url", "")).strip()
        if not is_address(url):  # the tool refuses it
            return False
        if carries_data(url):
            return True
        if is_on(url, self.fetch_hosts):
            return False
        return not any(is_named_in(text, url) for text in _trusted_texts(call))


class ApprovalsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Interrupts the graph before a call that a person decides about."""

    def __init__(self, rules: ApprovalRules | None = None, preview: Preview | None = None) -> None:
        """With a `preview` the question shows the change that the call would make."""
        super().__init__()
        self._rules = rules or ApprovalRules()
        self._preview = preview
        self._schemas: dict[int, tuple[object, dict[str, Any] | None]] = {}

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Ask if the rules require it, and apply the decision."""
        question = self._rules.question(request)
        if question is None:
            return await handler(request)
        call = request.tool_call
        value: dict[str, Any] = {
            "type": "tool_approval",
            "tool_call_id": call["id"],
            "name": call["name"],
            "args": call["args"],
            "description": question,
            "args_schema": self._args_schema(request.tool),
        }
        diff = None if self._preview is None else await self._preview(call)
        if diff is not None:
            value["diff"] = diff
        decision: dict[str, Any] = interrupt(value, response_schema=_Decision)
        match decision["type"]:
            case "approve":
                return await handler(request)
            case "edit":
                edited: Any = {**call, "args": decision["edited_action"]["args"]}
                outcome = await handler(request.override(tool_call=edited))
                return _with_notice(outcome, edited)
            case "respond":
                return _answer(call, decision["message"], status="success")
            case _:
                return _answer(call, _rejection(call, decision.get("message")), status="error")

    def _args_schema(self, tool: Any) -> dict[str, Any] | None:
        """The JSON schema of the tool's arguments, for a person who edits them.

        LangChain builds a class for each request of it; it is made once for each tool here.
        """
        stored = self._schemas.get(id(tool))
        if stored is None or stored[0] is not tool:
            stored = self._schemas[id(tool)] = (tool, _json_schema(tool))
            if len(self._schemas) > _MAX_SCHEMAS:
                del self._schemas[next(iter(self._schemas))]
        return stored[1]


def _is_approved(call: ToolCallRequest) -> bool:
    """Whether the run allows the call without asking."""
    run = run_of(runtime_of(call).context)
    return run is not None and (run.auto_approve or run.rules.allows(call.tool_call["name"]))


def _mcp_question(tool: BaseTool) -> str:
    """The text about a tool of an MCP server, whose description is the server's own claim."""
    description = " ".join(tool.description.split())[:_MAX_DESCRIPTION]
    name = tool.tool.name if isinstance(tool, McpTool) else tool.name
    if isinstance(tool, McpTool) and tool.tool.says_read_only:
        description += f"\n{_UNCONFIRMED}"
    return f"Call {name!r} of an MCP server, which says: {description}"


def _reads_secrets(call: ToolCallRequest) -> bool:
    """Whether the call names a file with secrets.

    The backend reaches such a file under its own name only, and leaves it out of searches that do
    not name it.
    """
    arguments = call.tool_call["args"]
    path = str(arguments.get("file_path") or arguments.get("path") or "")
    return is_secret([step for step in path.replace("\\", "/").split("/") if step not in ("", ".")])


def _trusted_texts(call: ToolCallRequest) -> Iterator[str]:
    """The user's message of this run, and the results of searches in this thread."""
    run = run_of(runtime_of(call).context)
    if run is not None:
        yield run.message
    state: Any = call.state
    for message in state["messages"]:
        if isinstance(message, ToolMessage) and message.name in _SEARCHES:
            yield message.text


def _json_schema(tool: BaseTool) -> dict[str, Any] | None:
    schema: Any = tool.args_schema  # JSON schema, or a class of pydantic's
    if schema is None or isinstance(schema, dict):
        return schema  # pyright: ignore[reportUnknownVariableType] see above
    model: Any = tool.tool_call_schema  # made of such a class
    return model.model_json_schema()


def _rejection(call: ToolCall, reason: str | None) -> str:
    if reason:
        return f"User rejected the tool call for `{call['name']}` with reason: {reason}"
    return (
        f"User rejected the tool call for `{call['name']}` with id {call['id']}. The tool was not "
        "executed. Do not retry this tool call unless the user explicitly requests it."
    )


def _answer(call: ToolCall, text: str, *, status: str) -> ToolMessage:
    fields: dict[str, Any] = {"name": call["name"], "tool_call_id": call["id"] or ""}
    return ToolMessage(text, status=status, **fields)


def _with_notice(outcome: ToolOutcome, call: ToolCall) -> ToolOutcome:
    """The result, with a notice to the model that another call was executed than it made."""
    notice = _EDIT_NOTICE.format(name=call["name"], arguments=json.dumps(call["args"], default=str))
    if isinstance(outcome, ToolMessage):
        return _prepend(outcome, notice)
    match outcome.update:
        case {"messages": [*messages]}:
            found: list[Any] = messages  # a Command's update has any shape
        case _:
            return outcome
    noted = [
        _prepend(each, notice)
        if isinstance(each, ToolMessage) and each.tool_call_id == call["id"]
        else each
        for each in found
    ]
    changed: Command[Any] = replace(outcome, update={**outcome.update, "messages": noted})
    return changed


def _prepend(message: ToolMessage, notice: str) -> ToolMessage:
    content: Any = message.content  # text or blocks
    if isinstance(content, str):
        text = f"{notice}\n\nTool response:\n{content}" if content else notice
        return message.model_copy(update={"content": text})
    block = {"type": "text", "text": f"{notice}\n\nTool response:"}
    return message.model_copy(update={"content": [block, *content]})
