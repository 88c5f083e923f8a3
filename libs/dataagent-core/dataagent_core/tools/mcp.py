"""MCP tools as agents have them in a run.

Files in a result are stored as the user's, with an artefact event each; progress goes to the run's
readers; a question of the server goes to the run's user.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.config import get_stream_writer
from pydantic import Field

from dataagent_core.errors import DataAgentError, Misconfigured
from dataagent_core.identity import RunContext
from dataagent_core.mcp.gateway.elicitation import (
    DECLINED,
    elicitation_answer,
    elicitation_request,
    plain_text,
)
from dataagent_core.mcp.gateway.gateway import ToolGateway
from dataagent_core.mcp.gateway.tool_access import RunTools
from dataagent_core.mcp.langchain import (
    NOTHING_TO_SHOW,
    McpTool,
    ModelResult,
    ResultFile,
    failure_message,
    result_for_model,
    structured_content,
    tool_fields,
)
from dataagent_core.mcp.types import (
    CatalogueTool,
    Elicitation,
    ElicitationAnswer,
    OnElicit,
    OnProgress,
    Progress,
    RemoteResult,
)
from dataagent_core.tools.python import MadeFile
from dataagent_core.workspace import FileStore, run_context

Write = Callable[[Any], None]
"""Writes to the run's stream."""
_MAX_TOOLS = 4_096
_PROGRESS_SECONDS = 0.5
_MAX_PROGRESS_TEXT = 200


class AgentMcpTool(McpTool):
    """One tool of the catalogue, for one agent. The caller comes with the run."""

    agent_id: str
    files: FileStore = Field(exclude=True)

    async def call(self, call: ToolCall, context: RunContext, write: Write) -> ToolMessage:
        """Make the call and return its result for the model."""
        run = context.mcp
        call_id = call["id"] or ""
        if not isinstance(run, RunTools):
            raise Misconfigured(f"{self.name} was called in a run without MCP.")
        outcome = await self.gateway.call(
            self.tool.tool_id,
            call["args"],
            run.caller(self.agent_id),
            on_progress=_progress_reporter(self.name, write),
            on_elicit=_elicitation_handler(self.name, context),
        )
        if outcome.result is None:
            return failure_message(outcome, self.name, call_id)
        return await self._result_message(outcome.result, context, write, call_id)

    async def _result_message(
        self, result: RemoteResult, context: RunContext, write: Write, call_id: str
    ) -> ToolMessage:
        found = result_for_model(result, self.name)
        stored = [await self._store(piece, context, write) for piece in found.files]
        return ToolMessage(
            _text(found, stored),
            tool_call_id=call_id,
            name=self.name,
            artifact=structured_content(result),
        )

    async def _store(self, piece: ResultFile, context: RunContext, write: Write) -> MadeFile:
        """Store a file for the user and announce it to the run's readers."""
        size = len(piece.content)
        try:
            stored = await self.files.add_generated(
                context.user_id,
                piece.name,
                piece.content,
                session_id=context.session_id,
                run_id=context.run_id,
            )
        except DataAgentError as error:  # the quota, say: the tool has run all the same
            return MadeFile(piece.name, size, problem=error.message)
        made = MadeFile(stored.filename, size, stored.file_id)
        fields = {"artifact_id": made.file_id, "kind": "file", "title": made.name, "url": made.url}
        preview = {"size": size, "content_type": stored.content_type}
        write({"artifact": {**fields, "preview": preview}})
        return made

    async def _arun(self, /, **arguments: Any) -> ToolMessage:
        call = ToolCall(name=self.name, args=arguments, id="")
        return await self.call(call, run_context(), get_stream_writer())


class McpTools:
    """Makes the tools of agents, each once: caches by the identity of a tool stay valid."""

    def __init__(self, gateway: ToolGateway, files: FileStore) -> None:
        self.gateway = gateway
        self._files = files
        self._made: OrderedDict[tuple[int, str, str, str], AgentMcpTool] = OrderedDict()

    def of(self, tool: CatalogueTool, agent_id: str) -> AgentMcpTool:
        """The tool as an agent has it."""
        key = (tool.tool_id, tool.exposed_name, tool.definition_hash, agent_id)
        made = self._made.get(key)
        if made is None or made.tool != tool:
            made = self._made[key] = AgentMcpTool(
                **tool_fields(tool),
                tool=tool,
                agent_id=agent_id,
                gateway=self.gateway,
                files=self._files,
            )
            while len(self._made) > _MAX_TOOLS:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return made


def _text(found: ModelResult, stored: list[MadeFile]) -> str:
    if not stored:
        return found.text or NOTHING_TO_SHOW
    lines = [found.text] if found.text else []
    lines.append("files, give the user these links:")
    for file in stored:
        link = f"[{file.name}]({file.url}) {file.size} bytes"
        lines.append(f"- {file.name}: not kept. {file.problem}" if file.problem else f"- {link}")
    return "\n".join(lines)


def _progress_reporter(name: str, write: Write) -> OnProgress:
    """Reports a call's progress to the run's readers, twice a second at most."""
    reported_at = float("-inf")

    def report(progress: Progress) -> None:
        nonlocal reported_at
        now = time.monotonic()
        is_last = progress.total is not None and progress.progress >= progress.total
        if now - reported_at >= _PROGRESS_SECONDS or is_last:
            reported_at = now
            write({"tool_progress": f"{name}: {_progress_text(progress)}"})

    return report


def _progress_text(progress: Progress) -> str:
    far = f"{progress.progress:g}"
    if progress.total:
        far = f"{far} of {progress.total:g}"
    text = plain_text(progress.message, _MAX_PROGRESS_TEXT) if progress.message else ""
    return f"{far} - {text}" if text else far


def _elicitation_handler(name: str, context: RunContext) -> OnElicit:
    """Asks the run's user a server's question; where no one can be asked it is declined."""

    async def ask(question: Elicitation) -> ElicitationAnswer:
        if context.ask is None:
            return DECLINED
        action, allowed = elicitation_request(question, name)
        return elicitation_answer(action, await context.ask(action, allowed))

    return ask
