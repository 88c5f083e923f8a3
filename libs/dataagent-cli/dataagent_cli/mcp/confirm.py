"""Asks the person at the terminal whether a project's servers may be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from dataagent_cli.mcp.servers import Confirm
    from dataagent_cli.streams import Streams

_PROMPT = "Trust it? You are asked again when the file changes. [y/N] "


def confirm_prompt(
    streams: Streams, *, terminal_input: Input | None = None, terminal_output: Output | None = None
) -> Confirm:
    """A question on standard error; anything but a yes is a no."""

    async def ask(text: str) -> bool:
        from prompt_toolkit import PromptSession

        streams.say(text)
        session: PromptSession[str] = PromptSession(
            input=terminal_input,
            output=terminal_output or streams.questions(),
        )
        try:
            answer = await session.prompt_async(
                _PROMPT, handle_sigint=False, reserve_space_for_menu=0
            )
        except (KeyboardInterrupt, EOFError):
            return False
        return answer.strip().lower() in ("y", "yes")

    return ask
