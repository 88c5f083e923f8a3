"""Tab after a slash: the commands that begin so."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dataagent_cli.commands import Commands


class CommandCompleter(Completer):
    """Completes the name of a command at the start of a line."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """The commands whose name begins with what stands before the cursor."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed or "\n" in typed:
            return
        for command in self._commands.all():
            name = f"/{command.name}"
            if name.startswith(typed):
                yield Completion(name, -len(typed), display_meta=command.summary)
