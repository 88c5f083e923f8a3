"""The tool `ask`: a question in plain words becomes a run of the caller's and returns its answer.

It is a run as from any other client: in the caller's history, within their limits and policies.
Cancelling the request cancels the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import anyio
import mcp_types as wire

from dataagent_core.errors import Unavailable
from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    HITLRequestEvent,
    ToolCallEvent,
)
from dataagent_core.runs.history import AnswerBuilder
from dataagent_core.runs.types import Entry, RunStatus, StartedRun
from dataagent_server.deps.chat import start_run
from dataagent_server.mcp.toolbox import MOST_RESULT_BYTES, ToolCallContext, ToolOutput, schema_of
from dataagent_server.models.chat import ChatRequest
from dataagent_server.models.mcp_tools import (
    ArtifactLink,
    AskAnswer,
    AskArguments,
    WaitingCall,
)

_MOST_TEXT = MOST_RESULT_BYTES // 4


class AskTool:
    """The tool `ask`."""

    definition = wire.Tool(
        name="ask",
        title="Ask DataAgent",
        description=(
            "Ask a question about the company's data, or give a task, in plain words. Returns the "
            "answer, which of its figures the results back, and links to tables and charts that "
            "were made. Pass the session_id of an earlier answer to go on with it."
        ),
        input_schema=schema_of(AskArguments),
        output_schema=schema_of(AskAnswer, of_output=True),
        annotations=wire.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False
        ),
    )

    async def run(self, tool_call: ToolCallContext, arguments: dict[str, Any]) -> ToolOutput:
        """Start a run and read it to its end, or until a person must decide."""
        question = AskArguments.model_validate(arguments)
        chat = ChatRequest(
            message=question.question, session_id=question.session_id, assistant_id=question.agent
        )
        started = await start_run(
            tool_call.container,
            tool_call.caller,
            chat.session_id,
            chat,
            creates_session=True,
        )
        reading = _RunReader(tool_call, started)
        try:
            return await reading.read_to_end()
        except asyncio.CancelledError:
            await _cancel(tool_call, started)
            raise


async def _cancel(tool_call: ToolCallContext, started: StartedRun) -> None:
    """Stop the run of a cancelled request, unless the server is shutting down."""
    if tool_call.container.closing.is_set():
        return
    with anyio.CancelScope(shield=True):
        await tool_call.container.core.runs.cancel(
            started.run.run_id, owner=tool_call.caller.user_id
        )


class _RunReader:
    """Reads one run for a client."""

    def __init__(self, tool_call: ToolCallContext, started: StartedRun) -> None:
        self._tool_call = tool_call
        self._started = started
        self._answer = AnswerBuilder()
        self._artifacts: list[ArtifactLink] = []
        self._requests: dict[str, WaitingCall] = {}
        self._figures: dict[str, Any] | None = None

    async def read_to_end(self) -> ToolOutput:
        """The run's answer.

        Raises:
            Unavailable: this process shuts down while another executes the run.
        """
        reading = asyncio.ensure_future(self._read())
        closing = asyncio.ensure_future(self._tool_call.container.closing.wait())
        try:
            await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return self._output(reading.result())
        finally:
            for task in (reading, closing):
                task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({reading, closing})
        raise Unavailable(
            "This server process is shutting down. The run goes on; ask again in session "
            f"{self._started.run.session_id} for what it found."
        )

    async def _read(self) -> RunStatus:
        runs, run = self._tool_call.container.core.runs, self._started.run
        stream = runs.read(run.run_id, after=self._started.after)
        async with aclosing(
            cast("AsyncGenerator[Entry]", stream)
        ):  # an `async def` with `yield` is one
            async for entry in stream:
                await self._take(entry.event)
                if entry.event_type == "hitl_request" and await self._is_waiting():
                    return "waiting"
        return (await runs.get(run.run_id, owner=run.user_id)).run.status

    async def _take(self, event: AnyEvent) -> None:
        self._answer.add(event)
        match event:
            case ToolCallEvent():
                await self._tool_call.report(event.tool_name)
            case ArtifactEvent():
                url = self._tool_call.address(event.url)
                link = ArtifactLink(
                    artifact_id=event.artifact_id, kind=event.kind, title=event.title, url=url
                )
                self._artifacts.append(link)
            case HITLRequestEvent():
                call = WaitingCall(
                    request_id=event.request_id,
                    tool=event.action.name,
                    description=event.action.description,
                )
                self._requests[event.request_id] = call
            case ErrorEvent():
                await self._tool_call.report(event.error)
            case DoneEvent():
                self._figures = (event.metadata or {}).get("figures")
            case _:
                pass

    async def _is_waiting(self) -> bool:
        """Whether the run waits, and all its approval requests were read."""
        run = self._started.run
        view = await self._tool_call.container.core.runs.get(run.run_id, owner=run.user_id)
        pending = {approval.request_id for approval in view.pending}
        self._requests = {key: call for key, call in self._requests.items() if key in pending}
        return view.run.status == "waiting" and pending <= self._requests.keys()

    def _output(self, status: RunStatus) -> ToolOutput:
        run = self._started.run
        text = self._answer.text.encode()[:_MOST_TEXT].decode("utf-8", "ignore")
        is_cut = len(text) < len(self._answer.text)
        answer = AskAnswer(
            answer=text,
            status=status,
            session_id=run.session_id,
            run_id=run.run_id,
            figures=self._figures,
            artifacts=self._artifacts,
            waiting_for=list(self._requests.values()) if status == "waiting" else [],
            truncated=is_cut,
        )
        shown = "\n\n".join(part for part in (text, self._remark(status, is_cut=is_cut)) if part)
        links = tuple(_link(each) for each in self._artifacts)
        is_error = status in ("failed", "cancelled")
        return ToolOutput(shown or "(no text)", answer, links, is_error=is_error)

    def _remark(self, status: RunStatus, *, is_cut: bool) -> str:
        """A sentence for readers of the text alone: cut, waiting or failed."""
        run = self._started.run
        if is_cut:
            path = f"/api/v1/sessions/{run.session_id}/messages"
            return f"The answer was cut here; the full text is at {self._tool_call.address(path)}."
        if status == "waiting":
            calls = ", ".join(call.tool for call in self._requests.values())
            path = f"/api/v1/runs/{run.run_id}/decisions"
            return (
                f"A person must allow this first: {calls}. Decide in DataAgent, or at "
                f"{self._tool_call.address(path)}, then ask again in session {run.session_id}."
            )
        error = self._answer.error
        if error is not None:
            return str(error["message"])
        return "The run was cancelled." if status == "cancelled" else ""


def _link(artifact: ArtifactLink) -> wire.ResourceLink:
    return wire.ResourceLink(
        name=artifact.artifact_id, title=artifact.title, uri=artifact.url, description=artifact.kind
    )
