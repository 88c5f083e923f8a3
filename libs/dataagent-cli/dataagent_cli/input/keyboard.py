"""The line a person types: history, completion, pasted paragraphs.

Enter sends; Alt-Enter or Ctrl-J begins a new line; a paste of many lines stays one message.
"""

from __future__ import annotations

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output

PROMPT = "❯ "
_CONTINUED = "  "


class Keyboard:
    """Reads one message after another."""

    def __init__(
        self,
        history: History,
        completer: Completer,
        *,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            history=history,
            completer=completer,
            complete_while_typing=True,
            enable_history_search=False,
            multiline=True,
            prompt_continuation=_CONTINUED,
            key_bindings=_keys(),
            input=terminal_input,
            output=terminal_output,
        )

    async def read(self) -> str:
        """The next message, without white space around it; a space before a slash stays.

        Raises:
            EOFError: Ctrl-D, or the terminal is gone.
            KeyboardInterrupt: Ctrl-C.
        """
        typed = await self._session.prompt_async()
        message = typed.strip()
        is_text = typed[:1].isspace() and message.startswith("/")  # and neither command nor skill
        return f" {message}" if is_text else message


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction] a binding
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction] a binding
        event.current_buffer.insert_text("\n")

    return keys
