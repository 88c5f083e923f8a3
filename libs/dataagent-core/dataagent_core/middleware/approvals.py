"""Which calls wait for a person.

LangChain's `HumanInTheLoopMiddleware`, one interrupt per call, with all four decisions. A run whose
context says `auto_approve`, or allows the tool, asks nobody; neither may change between an
interrupt and its resume (the engine resumes with the context the run was started with). A call on a
file comes with what it would change in it. List this before the middleware that reports or catches
what tools do: on resume, what stands before it runs again. Above: `engine/`, which turns interrupts
into `HITLRequestEvent`s.

Asks before a page is read at an address that nobody but the model has named.

Whoever wrote what a model reads may have told it to put that into an address. So `fetch_url` reads
unasked what the user's message of this run names, what a search of this thread found, and what is
on a host that the installation allows; an address whose query is long, or looks like encoded data,
always asks. All of it is the same when the graph is resumed. Above: `engine/`. Below:
`approvals.py`, `network/sites.py`.

Asks before a project's file with keys or passwords is shown to the model.

By the name of the file alone (`workspace/project.py`); the backend sees to it that such a file
is reached under its own name only, and leaves it out of searches that do not name it. Writing one
asks anyway. Above: `engine/`. Below: `approvals.py`.

Asks a person before an MCP tool is called that may change something.

As `approvals.py` does for tools with fixed names: one interrupt a call, in sub-agents too, nobody
is asked in a run that approves all. Which tools ask says the catalogue (`requires_approval`); those
of servers that no catalogue knows all do. The arguments' schema is a stranger's, so it is shown to
who edits and nothing is built of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, Final

from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import (
    ApproveDecision,
    EditDecision,
    RejectDecision,
    RespondDecision,
    ToolApprovalRequest,
)
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import interrupt
from pydantic import Discriminator

from dataagent_core.identity import RunContext
from dataagent_core.mcp.langchain import McpTool
from dataagent_core.middleware.calls import ToolHandler, ToolOutcome, requires_approval, runtime_of
from dataagent_core.network.sites import is_address, is_named_in, is_on
from dataagent_core.workspace.project import is_secret
from dataagent_protocol.hitl import carries_data

Preview = Callable[[ToolCall], Awaitable[str | None]]
"""What a call would change, as a unified diff."""

_DIFF: ContextVar[str | None] = ContextVar("diff", default=None)

DEFAULT_GATED: Mapping[str, str] = {
    "write_file": "Write a file in the workspace, replacing it if it exists.",
    "edit_file": "Change a file in the workspace.",
    "delete": "Delete a file or folder in the workspace with everything in it.",
    "shell": "Run a shell command.",
    "http_request": "Send a request to another server, which may carry data out.",
}
"""Tools that write, run code or send data out, and what a person reads about them.

`http_request` asks whatever its method: a GET carries data in its address as well as a POST does.
"""


def gated_tools(tools: Iterable[BaseTool]) -> dict[str, str]:
    """Those of `DEFAULT_GATED`, and the tools that ask for it themselves.

    A tool does so by `metadata={"approval": "what a person reads"}`.
    """
    asking = {tool.name: (tool.metadata or {}).get("approval") for tool in tools}
    return {**DEFAULT_GATED, **{name: str(text) for name, text in asking.items() if text}}


class ApprovalsMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Asks as a call starts. Without the step after each model call, which only batches need."""

    def __init__(
        self, interrupt_on: Mapping[str, InterruptOnConfig], preview: Preview | None = None
    ) -> None:
        """`preview` tells what a call would change, if it can."""
        super().__init__(interrupt_on=dict(interrupt_on), interrupt_mode="per_call")
        self._preview = preview

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Ask if the call is gated, and show what it would change.

        Nobody is asked about a tool that the agent does not have: the call is answered with that.
        """
        call = request.tool_call
        if request.tool is None:
            return await handler(request)
        if self._preview is None or call["name"] not in self.interrupt_on:
            return await super().awrap_tool_call(request, handler)
        token = _DIFF.set(await self._preview(call) if needs_approval(request) else None)
        try:
            return await super().awrap_tool_call(request, handler)
        finally:
            _DIFF.reset(token)

    def _tool_approval_request(
        self, request: ToolCallRequest, config: InterruptOnConfig
    ) -> ToolApprovalRequest:
        asked: Any = super()._tool_approval_request(request, config)  # with one field more
        if (diff := _DIFF.get()) is not None:
            asked["diff"] = diff
        return asked

    # generic parameters
    after_model = AgentMiddleware.after_model  # pyright: ignore[reportAssignmentType]
    # generic parameters
    aafter_model = AgentMiddleware.aafter_model  # pyright: ignore[reportAssignmentType]


def approvals_middleware(
    asked_for: Mapping[str, str] = DEFAULT_GATED, preview: Preview | None = None
) -> ApprovalsMiddleware:
    """Ask before each call of a gated tool; the mapping gives the text that is shown."""
    return ApprovalsMiddleware(
        {
            name: InterruptOnConfig(
                allowed_decisions=["approve", "edit", "reject", "respond"],
                description=description,
                when=needs_approval,
            )
            for name, description in asked_for.items()
        },
        preview,
    )


def needs_approval(request: ToolCallRequest) -> bool:
    """Whether the run asks before this call, which may do harm."""
    context = runtime_of(request).context
    if not isinstance(context, RunContext):
        return True
    return not (context.auto_approve or context.rules.allows(request.tool_call["name"]))


_READING: Final = "fetch_url"
_SEARCHES: Final = frozenset({"web_search", "tavily_search"})
_ADDRESS_QUESTION: Final = (
    "Read a page at an address that is not from you or a search. An address may carry data out."
)


class AddressApprovals(ApprovalsMiddleware):
    """Approvals of reading pages, for addresses of unknown origin and no others."""

    def __init__(self, allowed_hosts: Sequence[str] = ()) -> None:
        """Pages on the allowed hosts (`example.com`, `*.example.com`) are read unasked."""
        self._allowed_hosts = tuple(allowed_hosts)
        config = InterruptOnConfig(
            allowed_decisions=["approve", "edit", "reject", "respond"],
            description=_ADDRESS_QUESTION,
            when=self._asks,
        )
        super().__init__({_READING: config})

    def _asks(self, request: ToolCallRequest) -> bool:
        """Whether the run asks about this address."""
        if not needs_approval(request):
            return False
        url = str(request.tool_call["args"].get("url", "")).strip()
        if not is_address(url):  # the tool says so
            return False
        if carries_data(url):
            return True
        if is_on(url, self._allowed_hosts):
            return False
        return not any(is_named_in(text, url) for text in _texts(request))


def _texts(request: ToolCallRequest) -> Iterator[str]:
    """What the user wrote, and what searches of this thread found."""
    context = runtime_of(request).context
    if isinstance(context, RunContext):
        yield context.message
    state: Any = request.state
    for message in state["messages"]:
        if isinstance(message, ToolMessage) and message.name in _SEARCHES:
            yield message.text


_SECRET_FILE_QUESTIONS: Final = {
    "read_file": "Show the agent a file that holds keys or passwords.",
    "grep": "Show the agent lines of a file that holds keys or passwords.",
}


class SecretsMiddleware(ApprovalsMiddleware):
    """Approvals of reading, for files with secrets and no others."""

    def __init__(self) -> None:
        super().__init__(
            {
                name: InterruptOnConfig(
                    allowed_decisions=["approve", "edit", "reject", "respond"],
                    description=text,
                    when=shows_secrets,
                )
                for name, text in _SECRET_FILE_QUESTIONS.items()
            }
        )


def shows_secrets(request: ToolCallRequest) -> bool:
    """Whether the call reads a file with secrets and the run asks about it."""
    arguments = request.tool_call["args"]
    path = str(arguments.get("file_path") or arguments.get("path") or "")
    steps = [step for step in path.replace("\\", "/").split("/") if step not in ("", ".")]
    return is_secret(steps) and needs_approval(request)


_DECISION: Any = Annotated[
    ApproveDecision | EditDecision | RejectDecision | RespondDecision, Discriminator("type")
]
_MOST_DESCRIPTION = 300
_UNCONFIRMED = "The server says that it only reads; nobody has confirmed that."


class McpApprovals(AgentMiddleware[Any, Any, Any]):
    """Asks as a call starts."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Ask if the tool says so and the run does not approve all."""
        tool = request.tool
        if (
            not isinstance(tool, BaseTool)
            or not requires_approval(tool)
            or not needs_approval(request)
        ):
            return await handler(request)
        decision: dict[str, Any] = interrupt(_question(tool, request), response_schema=_DECISION)
        call = request.tool_call
        match decision["type"]:
            case "approve":
                return await handler(request)
            case "edit":
                edited = {**call, "args": decision["edited_action"]["args"]}
                # the same call with other arguments
                return await handler(
                    request.override(tool_call=edited)  # pyright: ignore[reportArgumentType]
                )
            case "respond":
                return _reply(request, decision["message"], is_error=False)
            case _:
                return _reply(request, "The user rejected this call; it was not executed.")


def _question(tool: BaseTool, request: ToolCallRequest) -> dict[str, Any]:
    call = request.tool_call
    description = " ".join(tool.description.split())[:_MOST_DESCRIPTION]
    name = tool.tool.name if isinstance(tool, McpTool) else tool.name
    if isinstance(tool, McpTool) and tool.tool.says_read_only:
        description += f"\n{_UNCONFIRMED}"
    return {
        "type": "tool_approval",
        "tool_call_id": call["id"],
        "name": call["name"],
        "args": call["args"],
        "description": f"Call {name!r} of an MCP server, which says: {description}",
        "args_schema": _schema(tool),
    }


def _schema(tool: BaseTool) -> dict[str, Any] | None:
    schema: Any = tool.args_schema  # JSON schema, or a class of pydantic's
    if schema is None or isinstance(schema, dict):
        return schema  # pyright: ignore[reportUnknownVariableType] see above
    made: Any = tool.tool_call_schema  # made of such a class
    return made.model_json_schema()


def _reply(request: ToolCallRequest, text: str, *, is_error: bool = True) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(
        text,
        name=call["name"],
        tool_call_id=call["id"] or "",
        status="error" if is_error else "success",
    )
