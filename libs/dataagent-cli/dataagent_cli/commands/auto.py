"""`/auto`: whether calls run without asking."""

from __future__ import annotations

from dataagent_cli.commands.registry import Command, CommandContext, Outcome


async def _run(context: CommandContext, _: str) -> Outcome:
    is_on = context.conversation.state.toggle_auto_approve()
    context.view.note(
        "auto-approve is on: calls run unasked" if is_on else "auto-approve is off: calls ask first"
    )
    return Outcome()


AUTO = Command("auto", "switch auto-approval of calls on or off", _run)
