"""Completion by Tab: commands, skills and their arguments, files and tables after `@`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dataagent_core.errors import DataAgentError

if TYPE_CHECKING:
    from dataagent_cli.commands import Commands
    from dataagent_cli.conversation import Conversation
    from dataagent_cli.input.mentions import Mentions

_MENTION = re.compile(r"""(?:^|(?<=[\s(]))@((?:[^\s"@]*"[^"\n]*|[^\s"@]*))$""")


class LineCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(
        self,
        commands: Commands,
        conversation: Conversation | None = None,
        mentions: Mentions | None = None,
    ) -> None:
        """Without a conversation only the names of commands are known."""
        self._commands = commands
        self._conversation = conversation
        self._mentions = mentions

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """The names of commands, which are known at once."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed or "\n" in typed:
            return
        for each in self._commands.all():
            if f"/{each.name}".startswith(typed):
                yield Completion(f"/{each.name}", -len(typed), display_meta=each.summary)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """All completions, commands first; a source that fails offers none."""
        for each in self.get_completions(document, complete_event):
            yield each
        typed = document.text_before_cursor
        try:
            completions = await self._completions(typed)
        except DataAgentError:
            return
        for text, start, meaning in completions:
            yield Completion(text, start, display_meta=meaning)

    async def _completions(self, typed: str) -> list[tuple[str, int, str]]:
        mention = _MENTION.search(typed)
        if mention is not None and self._mentions is not None:
            found = await self._mentions.completions(mention[1])
            return [(f"@{name}", -len(mention[0]), kind) for name, kind in found]
        if not typed.startswith("/") or "\n" in typed or self._conversation is None:
            return []
        name, space, rest = typed.partition(" ")
        if not space:
            return await self._skills(self._conversation, typed)
        return await self._words(self._conversation, name, rest)

    async def _skills(self, conversation: Conversation, typed: str) -> list[tuple[str, int, str]]:
        skills = await conversation.skills()
        return [
            (f"/{each.name}", -len(typed), each.description)
            for each in skills.known
            if f"/{each.name}".startswith(typed) and self._commands.find(each.name) is None
        ]

    async def _words(
        self, conversation: Conversation, name: str, rest: str
    ) -> list[tuple[str, int, str]]:
        command = self._commands.find(name.removeprefix("/"))
        if command is None or command.words is None or " " in rest:
            return []
        return [
            (word, -len(rest), meaning)
            for word, meaning in await command.words(conversation)
            if word.lower().startswith(rest.lower())
        ]
