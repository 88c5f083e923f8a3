"""One turn: a message becomes a run, its events are shown, its approvals answered."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dataagent_cli import exit_codes
from dataagent_cli.hitl import NO_APPROVER, PromptInterrupted
from dataagent_cli.interrupts import Interrupts, Stopped
from dataagent_core.errors import BadInput, Conflict, NotFound, RunNotFound
from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    HITLRequestEvent,
    TodoUpdateEvent,
)
from dataagent_core.hitl import ActionRequest, Decision

if TYPE_CHECKING:
    from dataagent_cli.hitl import TerminalHITLHandler
    from dataagent_cli.hosts import Host
    from dataagent_cli.ui import View
    from dataagent_core.config.settings import Prices
    from dataagent_core.config.state import SessionState
    from dataagent_core.runs.types import Run, RunOptions, StartedRun


_LAST_MOMENT_SECONDS = 2.0  # for a message that is being sent when Ctrl-C is pressed


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended."""

    done: DoneEvent
    is_interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The exit status of the program."""
        if self.is_interrupted:
            return exit_codes.INTERRUPTED
        match self.done.reason:
            case "completed":
                return exit_codes.OK
            case "user_cancelled" | "rejected":
                return exit_codes.CANCELLED
            case "failed" | "timeout" | "shutdown" | "budget":
                return exit_codes.FAILED
            case _:
                assert_never(self.done.reason)


@dataclass(frozen=True, slots=True)
class TurnRules:
    """What the command line sets for every turn; tools are named by patterns."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_tokens: int | None = None


ChartDisplay = Callable[[ArtifactEvent], Awaitable[None]]
"""Shows a chart that a run has made."""


class TurnRunner:
    """Runs turns through one view and one handler of approvals."""

    def __init__(
        self,
        host: Host,
        *,
        view: View,
        handler: TerminalHITLHandler,
        state: SessionState,
        rules: TurnRules | None = None,
        show_chart: ChartDisplay | None = None,
        is_interactive: bool = False,
    ) -> None:
        """If `is_interactive`, the mode may change in a run: calls ask, and mode auto answers."""
        self._is_interactive = is_interactive
        self._host = host
        self._view = view
        self._handler = handler
        self._state = state
        self._rules = rules or TurnRules()
        self._show_chart = show_chart

    async def take(
        self, session_id: str, message: str, *, agent: str, model: str | None = None
    ) -> TurnEnd:
        """Send a message and show its run to the end; Ctrl-C cancels the run.

        Raises:
            SessionNotFound, SessionBusy, BadInput: the message was not accepted.
            Stopped: Ctrl-C was pressed before it was accepted.
        """
        options = self._options(model)
        return await self._show_run(
            self._host.start(session_id, message, agent=agent, options=options)
        )

    async def compact(self, session_id: str, keep: str, *, model: str | None = None) -> TurnEnd:
        """Summarise the older part of a conversation and show the summary.

        Raises:
            SessionBusy: a run is under way.
        """
        options = self._options(model)
        return await self._show_run(self._host.compact(session_id, keep, options=options))

    async def follow(self, run: Run) -> TurnEnd:
        """Show a run that was started before, from its beginning to its end."""
        return await self._show_run(_started_run(run))

    async def _show_run(self, starting: Awaitable[StartedRun]) -> TurnEnd:
        with Interrupts() as interrupts:
            self._view.begin()
            try:
                return await self._watch(await _await_start(starting, interrupts), interrupts)
            finally:
                self._view.pause()

    def _options(self, model: str | None) -> RunOptions:
        from dataagent_core.runs.types import RunOptions

        return RunOptions(
            auto_approve=self._state.auto_approve and not self._is_interactive,
            is_plan=self._state.is_planning,
            allow=self._rules.allow,
            deny=self._rules.deny,
            max_tokens=self._rules.max_tokens,
            model=model,
        )

    async def _watch(self, started: StartedRun, interrupts: Interrupts) -> TurnEnd:
        run = started.run
        stopping = asyncio.create_task(self._cancel_when(interrupts, run.run_id))
        try:
            async for entry in self._host.read(run.run_id, after=started.after):
                if await self._is_approved(run, entry.event):
                    continue
                self._view.show(entry)
                match entry.event:
                    case HITLRequestEvent() as request:
                        await self._answer(run, request, interrupts)
                        self._view.resume()
                    case ArtifactEvent(kind="chart") as chart if self._show_chart is not None:
                        self._view.pause()
                        await self._show_chart(chart)
                        self._view.resume()
                    case TodoUpdateEvent(todos=todos):
                        self._state.current_todos = todos
                    case DoneEvent() as done:
                        self._state.count(done.token_usage or {})
                        return TurnEnd(done, interrupts.is_interrupted)
                    case _:
                        pass
        except BaseException:  # no reader: its output failed, or it was interrupted twice
            with suppress(Conflict, NotFound, TimeoutError):
                await self._host.cancel(run.run_id)
            raise
        finally:
            stopping.cancel()
        raise RunNotFound(f"Run {run.run_id!r} ended without a `done` event. Ask again.")

    async def _cancel_when(self, interrupts: Interrupts, run_id: str) -> None:
        await interrupts.wait()
        with suppress(Conflict, NotFound, TimeoutError):  # it has ended, or ends slowly
            await self._host.cancel(run_id)

    async def _is_approved(self, run: Run, event: AnyEvent) -> bool:
        """Approve a call that needs no question by the conversation's mode and approvals."""
        if not (self._is_interactive and isinstance(event, HITLRequestEvent)):
            return False
        if not self._handler.approves(event.action):
            return False
        with suppress(Conflict):  # it has an answer, or has expired
            await self._host.decide(run.run_id, event.request_id, Decision("approve"))
        return True

    async def _answer(self, run: Run, request: HITLRequestEvent, interrupts: Interrupts) -> None:
        """Ask until the request expires; core rejects an expired request by itself."""
        self._view.pause()
        limit = None if request.expires_at is None else max(request.expires_at - time.time(), 0)
        try:
            async with asyncio.timeout(limit):
                decision = await self._handler.request_approval(
                    request.action, run.session_id, request.allowed
                )
        except TimeoutError:
            self._view.note(f"? {request.action.name}: no answer in time")
            return
        except PromptInterrupted:
            interrupts.interrupt()
            return
        self._view.note(_decision_text(request.action, decision))
        with suppress(Conflict):  # answered elsewhere, or expired meanwhile
            await self._host.decide(run.run_id, request.request_id, decision)


async def _await_start(starting: Awaitable[StartedRun], interrupts: Interrupts) -> StartedRun:
    """The started run; after Ctrl-C, a host that does not answer is not awaited."""
    sending = asyncio.ensure_future(starting)
    waiting = asyncio.create_task(interrupts.wait())
    try:
        await asyncio.wait({sending, waiting}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({sending}, timeout=_LAST_MOMENT_SECONDS)
        if sending.done():
            return sending.result()
    finally:
        for task in (sending, waiting):
            task.cancel()
        await asyncio.wait({sending})
    raise Stopped(
        "Stopped before the message was accepted; it may have arrived.",
        details={"hint": "check the conversation before you send it again."},
    )


async def _started_run(run: Run) -> StartedRun:
    from dataagent_core.runs.types import StartedRun

    return StartedRun(run, 0, is_new=False)


def _decision_text(action: ActionRequest, decision: Decision) -> str:
    name = action.name
    match decision.type:
        case "approve":
            return f"  {name}: approved"
        case "edit":
            return f"  {name}: {'answered' if action.is_question else 'approved as edited'}"
        case "respond":
            return f"  {name}: not called; the agent continues"
        case "reject":
            pass
    hint = (
        "\nhint: --auto-approve runs such calls without asking."
        if decision.message == NO_APPROVER
        else ""
    )
    return f"  {name}: rejected. {decision.message or ''}".rstrip() + hint


_TOKENS = re.compile(r"([0-9][0-9_,]*)t")
_MONEY = re.compile(r"[$€£¥]?([0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_MILLION = 1_000_000


def max_tokens(amount: str, prices: Prices | None) -> int:
    """The tokens of a `--max-budget` in tokens (`20000t`) or money, at the higher of the prices.

    Raises:
        BadInput: it is neither tokens nor money, no price is set, or it is less than a token.
    """
    if found := _TOKENS.fullmatch(amount.strip()):
        return _at_least_one(int(re.sub("[_,]", "", found[1])))
    found = _MONEY.fullmatch(amount.strip())
    if found is None:
        raise BadInput(f"{amount!r} is not a budget. Write tokens as 20000t, or money as 0.50.")
    price = 0.0 if prices is None else max(prices.input, prices.output)
    if price <= 0:
        raise BadInput(
            "A budget in money needs prices.",
            details={"hint": "set DATAAGENT_PRICE_INPUT and _OUTPUT, or write tokens: 20000t."},
        )
    return _at_least_one(int(float(found[1]) * _MILLION / price))


def _at_least_one(tokens: int) -> int:
    if tokens < 1:
        raise BadInput("The budget must be at least one token.")
    return tokens
