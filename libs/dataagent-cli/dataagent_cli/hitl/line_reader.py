"""One line, or a few, typed as the answer to something: a reason, a field, edited text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataagent_cli.hitl.choices import PromptInterrupted

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import Output

    from dataagent_cli.hitl.approval_prompt import Binding

_ESCAPE_SECONDS = 0.05


class LineReader:
    """Reads what is typed. Esc and Ctrl-D take nothing."""

    def __init__(self, keyboard: Input, screen: Output | None) -> None:
        self._keyboard = keyboard
        self._screen = screen

    async def read(self, prompt: str, text: str = "", *, is_long: bool = False) -> str | None:
        """What was typed, beginning with `text`; None if the person would rather not.

        A long text has lines: Alt-Enter or Ctrl-J begins one.

        Raises:
            Interrupted: Ctrl-C.
        """
        from prompt_toolkit import PromptSession

        session: PromptSession[str | None] = PromptSession(
            prompt,
            multiline=is_long,
            key_bindings=_keys(),
            prompt_continuation="  ",
            erase_when_done=True,
            input=self._keyboard,
            output=self._screen,
        )
        session.app.ttimeoutlen = session.app.timeoutlen = _ESCAPE_SECONDS
        try:
            return await session.prompt_async(
                default=text, handle_sigint=False, reserve_space_for_menu=0
            )
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise PromptInterrupted from None


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bound: dict[tuple[str, ...], Binding] = {
        ("enter",): lambda event: event.current_buffer.validate_and_handle(),
        ("escape",): lambda event: event.app.exit(result=None),
        ("c-j",): lambda event: event.current_buffer.insert_text("\n"),
        ("escape", "enter"): lambda event: event.current_buffer.insert_text("\n"),
    }
    keys = KeyBindings()
    for names, binding in bound.items():
        keys.add(*names)(binding)
    return keys
