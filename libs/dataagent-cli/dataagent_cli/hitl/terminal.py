"""Decides on calls at the terminal, by the conversation's mode.

In mode manual the user is asked; in auto, and for kinds approved before, the answer is yes; in plan
the call is refused and the agent gets the reason. A question from inside a call is a form, in every
mode. Without a terminal the answer is no. An approval that covers more than the call is confirmed
twice.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_cli.external_programs import edit_text, has_editor
from dataagent_cli.hitl.choices import (
    CONFIRMATIONS,
    ApprovalAnswer,
    ApprovalChoice,
    choices_for,
    kind_text,
)
from dataagent_cli.hitl.typed_answers import LineReader, fill_form
from dataagent_core.config.state import SessionState
from dataagent_core.errors import BadDecision, BadInput
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType, EditedAction
from dataagent_core.identity.context import PLANNED, matches

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from dataagent_cli.hitl.approval_prompt import GuardedInput
    from dataagent_cli.hitl.call_preview import CallDraft

NO_APPROVER = "No one is at the terminal to approve this call."
REJECTED = "Rejected at the terminal."
DECLINED = "Not answered."
_QUESTION = "Allow this?"
_REASON = "Why not? (leave empty to stop the answer) ❯ "
_WITH_REASON = "The user rejected this call; it was not executed. They say: {reason}"
_INLINE = "Enter saves · Alt-Enter starts a new line · Esc goes back\n❯ "
_CONFIRM_KIND = "Approve every {kind} in this conversation without asking?"
_CONFIRM_ALL = "Approve everything from now on without asking (mode auto)?"


class TerminalHITLHandler:
    """The terminal's `HITLHandler`. Kinds approved for good are in the conversation's state."""

    def __init__(
        self,
        state: SessionState | None = None,
        *,
        is_interactive: bool | None = None,
        allow: Sequence[str] = (),
        note: Callable[[str], None] | None = None,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
        pause_seconds: float | None = None,
    ) -> None:
        """Without a state nothing is approved beforehand; `allow` names tools that never ask.

        `is_interactive` is whether a user can be asked; by default, whether keys come from a
        terminal. `note` prints a line above the question. A question accepts keys once nothing
        was typed for `pause_seconds`; by default keys of a program count at once.
        """
        self._state = SessionState() if state is None else state
        self._is_interactive = is_interactive
        self._allow = tuple(allow)
        self._note = note or _ignore
        self._input = terminal_input
        self._output = terminal_output
        self._pause_seconds = pause_seconds
        self._asking = asyncio.Lock()

    async def request_approval(
        self,
        action_request: ActionRequest,
        session_id: str,
        allowed: Collection[DecisionType] = ALL_DECISIONS,
    ) -> Decision:
        """The user's decision; one question at a time, however many are waiting.

        Raises:
            PromptInterrupted: Ctrl-C instead of an answer.
        """
        del session_id  # one terminal, one conversation
        async with self._asking:
            decision = self._automatic_decision(action_request, allowed)
            if decision is not None:
                return decision
            with self._guarded_input() as keys:
                if action_request.is_question:
                    return await self._fill_form(action_request, keys)
                return await self._ask_decision(action_request, allowed, keys)

    def _guarded_input(self) -> GuardedInput:
        from prompt_toolkit.input import PipeInput

        from dataagent_cli.hitl.approval_prompt import PAUSE_SECONDS, GuardedInput

        keyboard, pause = self._keyboard(), self._pause_seconds
        if pause is None:
            pause = 0 if isinstance(keyboard, PipeInput) else PAUSE_SECONDS
        return GuardedInput(keyboard, pause)

    def _keyboard(self) -> Input:
        from prompt_toolkit.application.current import get_app_session

        return self._input or get_app_session().input

    @property
    def _can_ask(self) -> bool:
        """Whether a user can be asked."""
        if self._is_interactive is not None:
            return self._is_interactive
        from prompt_toolkit.input import DummyInput, PipeInput

        keyboard = self._keyboard()
        if isinstance(keyboard, DummyInput | PipeInput):
            return isinstance(keyboard, PipeInput)
        return os.isatty(keyboard.fileno())

    def approves(self, action: ActionRequest) -> bool:
        """Whether the call is approved without asking."""
        if action.is_question or self._state.mode == "plan":
            return False
        is_known = action.kind in self._state.approved_kinds or matches(action.name, self._allow)
        return self._state.mode == "auto" or is_known

    def _automatic_decision(
        self, action: ActionRequest, allowed: Collection[DecisionType]
    ) -> Decision | None:
        """The decision without asking; None if the user is asked."""
        if self._state.mode == "plan" and not action.is_question:
            return Decision("respond" if "respond" in allowed else "reject", PLANNED)
        if self.approves(action):
            return Decision("approve")
        return None if self._can_ask else Decision("reject", NO_APPROVER)

    async def _ask_decision(
        self, action: ActionRequest, allowed: Collection[DecisionType], keys: GuardedInput
    ) -> Decision:
        note = ""
        while True:
            decision: Decision | None = None
            question = f"{note}\n{_QUESTION}" if note else _QUESTION
            match await self._ask_choice(action, choices_for(action, allowed), keys, question):
                case "approve":
                    return Decision("approve")
                case "approve_kind":
                    question = _CONFIRM_KIND.format(kind=kind_text(action))
                    if action.kind and await self._confirm(action, question, keys):
                        self._state.approved_kinds.add(action.kind)
                        return Decision("approve")
                case "approve_all":
                    if await self._confirm(action, _CONFIRM_ALL, keys):
                        self._state.switch("auto")
                        return Decision("approve")
                case "stop":
                    return Decision("reject", REJECTED)
                case "reject":
                    decision, note = await self._ask_rejection(allowed, keys), ""
                case "edit":
                    decision, note = await self._edit_call(action, keys)
                case "confirm" | "back":
                    pass  # answers to the second step
            if decision is not None:
                return decision

    async def _confirm(self, action: ActionRequest, question: str, keys: GuardedInput) -> bool:
        """Whether the user confirms it; the marked answer is no."""
        keys.guard()
        return await self._ask_choice(action, CONFIRMATIONS, keys, question, "back") == "confirm"

    async def _ask_choice(
        self,
        action: ActionRequest,
        choices: Sequence[ApprovalChoice],
        keys: GuardedInput,
        question: str,
        escape: ApprovalAnswer = "stop",
    ) -> ApprovalAnswer:
        from prompt_toolkit.utils import is_dumb_terminal

        from dataagent_cli.hitl.approval_prompt import ApprovalPrompt, ask_in_text

        if self._input is None and is_dumb_terminal():
            lines = LineReader(keys, self._output)
            return await ask_in_text(action, choices, lines, self._note, question, escape=escape)
        prompt = ApprovalPrompt(action, choices, self._state, question, escape=escape)
        return await prompt.ask(keys, self._output)

    async def _ask_rejection(
        self, allowed: Collection[DecisionType], keys: GuardedInput
    ) -> Decision | None:
        """A rejection; with a reason the agent continues. None: back to the question."""
        if "respond" not in allowed:
            return Decision("reject", REJECTED)
        reason = await LineReader(keys, self._output).read(_REASON)
        if reason is None:
            return None
        if not reason.strip():
            return Decision("reject", REJECTED)
        return Decision("respond", _WITH_REASON.format(reason=reason.strip()))

    async def _edit_call(
        self, action: ActionRequest, keys: GuardedInput
    ) -> tuple[Decision | None, str]:
        """The edited call, or why the question is asked again."""
        from dataagent_cli.hitl.call_preview import apply_draft, draft_call

        given = draft_call(action)
        text = given.text
        while True:
            try:
                typed = await self._edit_inline(replace(given, text=text), keys)
            except BadInput as error:
                return None, str(error)
            if typed is None or typed.rstrip("\n") == given.text.rstrip("\n"):
                return None, "Nothing was changed."
            try:
                made = apply_draft(action, replace(given, text=typed))
            except BadDecision as error:
                self._note(str(error))
                text = typed
                continue
            return Decision("edit", edited_action=made), ""

    async def _edit_inline(self, given: CallDraft, keys: GuardedInput) -> str | None:
        """The text after editing: in the user's editor if one is configured, else here.

        Raises:
            BadInput: the editor could not be used.
        """
        if not has_editor():
            lines = LineReader(keys, self._output)
            return await lines.read(_INLINE, given.text.rstrip("\n"), is_long=True)
        keyboard = self._keyboard()
        with keyboard.detach(), keyboard.cooked_mode():
            return await edit_text(given.text, suffix=given.suffix)

    async def _fill_form(self, action: ActionRequest, keys: GuardedInput) -> Decision:
        """The answer to a question from inside a call."""
        values = await fill_form(action, LineReader(keys, self._output), self._note)
        if values is None:
            return Decision("reject", DECLINED)
        return Decision("edit", edited_action=EditedAction(action.name, values))


def _ignore(_: str) -> None:
    """Drop a note."""
