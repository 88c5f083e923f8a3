"""Asks the person at the keyboard about a call, by the mode the conversation is in.

In mode manual a person answers; in auto, and for tools that were approved for good, the answer is
yes; in plan nothing is changed and the agent is told so. What somebody asks in the middle of a call
is a form, in every mode. Where there is nobody to ask, the answer is no. What a decision does to
the run is core's business. Above: `turn.py`. Below: `question.py`, `form.py`, `editing.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_cli.hitl.choices import Answer, choices_for
from dataagent_cli.hitl.form import filled
from dataagent_cli.hitl.lines import Lines
from dataagent_cli.input.editor import edited, is_chosen
from dataagent_core.config.state import SessionState
from dataagent_core.errors import BadDecision, BadInput
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType, EditedAction
from dataagent_core.identity.rules import PLANNED, matches

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from dataagent_cli.hitl.editing import Draft

NOBODY = "Nobody is at the terminal to approve this call."
REJECTED = "Rejected at the terminal."
DECLINED = "Not answered."
_REASON = "why not? (Enter alone stops the answer) ❯ "
_WITH_REASON = "The user rejected this call; it was not executed. They say: {reason}"
_INLINE = "Enter takes it · Alt-Enter begins a line · Esc goes back\n❯ "


class TerminalHITLHandler:
    """The terminal's `HITLHandler`. What was approved for good is in the conversation's state."""

    def __init__(
        self,
        state: SessionState,
        *,
        is_interactive: bool,
        allow: Sequence[str] = (),
        note: Callable[[str], None] | None = None,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        """`allow` names tools that run unasked; `note` says something above the question."""
        self._state = state
        self._is_interactive = is_interactive
        self._allow = tuple(allow)
        self._note = note or _nothing
        self._input = terminal_input
        self._output = terminal_output
        self._lines = Lines(terminal_input, terminal_output)
        self._asking = asyncio.Lock()

    async def request_approval(
        self,
        action_request: ActionRequest,
        session_id: str,
        allowed: Collection[DecisionType] = ALL_DECISIONS,
    ) -> Decision:
        """The person's decision; one question at a time, however many are waiting.

        Raises:
            Interrupted: Ctrl-C instead of an answer.
        """
        del session_id  # one terminal, one conversation
        async with self._asking:
            if action_request.is_question:
                return await self._filled(action_request)
            decision = self._by_mode(action_request, allowed)
            if decision is not None:
                return decision
            return await self._decided(action_request, allowed)

    def approves(self, action: ActionRequest) -> bool:
        """Whether the answer is yes without anyone being asked."""
        if action.is_question or self._state.mode == "plan":
            return False
        is_known = action.name in self._state.approved_tools or matches(action.name, self._allow)
        return self._state.mode == "auto" or is_known

    def _by_mode(self, action: ActionRequest, allowed: Collection[DecisionType]) -> Decision | None:
        """The answer that needs nobody."""
        if self._state.mode == "plan":
            is_told = "respond" in allowed
            return Decision("respond", PLANNED) if is_told else Decision("reject", PLANNED)
        if self.approves(action):
            return Decision("approve")
        return None if self._is_interactive else Decision("reject", NOBODY)

    async def _decided(self, action: ActionRequest, allowed: Collection[DecisionType]) -> Decision:
        note = ""
        while True:
            match await self._asked(action, allowed, note):
                case "approve":
                    return Decision("approve")
                case "approve_kind":
                    self._state.approved_tools.add(action.name)
                    return Decision("approve")
                case "approve_all":
                    self._state.switch("auto")
                    return Decision("approve")
                case "stop":
                    return Decision("reject", REJECTED)
                case "reject":
                    decision, note = await self._rejected(allowed), ""
                case "edit":
                    decision, note = await self._edited(action)
            if decision is not None:
                return decision

    async def _asked(
        self, action: ActionRequest, allowed: Collection[DecisionType], note: str
    ) -> Answer:
        from prompt_toolkit.utils import is_dumb_terminal

        from dataagent_cli.hitl.plain import ask_plainly
        from dataagent_cli.hitl.question import Question

        choices = choices_for(action.name, allowed)
        if self._input is None and is_dumb_terminal():
            return await ask_plainly(action, choices, self._lines, self._note)
        return await Question(action, choices, self._state, note).ask(self._input, self._output)

    async def _rejected(self, allowed: Collection[DecisionType]) -> Decision | None:
        """A rejection; one with a reason lets the agent go on. None: back to the question."""
        if "respond" not in allowed:
            return Decision("reject", REJECTED)
        reason = await self._lines.read(_REASON)
        if reason is None:
            return None
        if not reason.strip():
            return Decision("reject", REJECTED)
        return Decision("respond", _WITH_REASON.format(reason=reason.strip()))

    async def _edited(self, action: ActionRequest) -> tuple[Decision | None, str]:
        """The call as it was edited, or why the question is asked again."""
        from dataagent_cli.hitl.editing import draft, redrafted

        given = draft(action)
        text = given.text
        while True:
            try:
                typed = await self._typed(replace(given, text=text))
            except BadInput as error:
                return None, str(error)
            if typed is None or typed.rstrip("\n") == given.text.rstrip("\n"):
                return None, "Nothing was changed."
            try:
                made = redrafted(action, replace(given, text=typed))
            except BadDecision as error:
                self._note(str(error))
                text = typed
                continue
            return Decision("edit", edited_action=made), ""

    async def _typed(self, given: Draft) -> str | None:
        """A text in the person's editor, if they have named one, or here.

        Raises:
            BadInput: the editor could not be used.
        """
        if not is_chosen():
            return await self._lines.read(_INLINE, given.text.rstrip("\n"), is_long=True)
        from prompt_toolkit.application.current import get_app_session

        keyboard = self._input or get_app_session().input
        with keyboard.detach(), keyboard.cooked_mode():
            return await edited(given.text, suffix=given.suffix)

    async def _filled(self, action: ActionRequest) -> Decision:
        """The answer to what is asked in the middle of a call."""
        if not self._is_interactive:
            return Decision("reject", NOBODY)
        values = await filled(action, self._lines, self._note)
        if values is None:
            return Decision("reject", DECLINED)
        return Decision("edit", edited_action=EditedAction(action.name, values))


def _nothing(_: str) -> None:
    """Where nothing can be said."""
