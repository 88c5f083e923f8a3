"""Tab after a slash: the commands and skills that begin so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dataagent_cli.commands import Commands

if TYPE_CHECKING:
    from dataagent_core.skills import SkillEntry


class CommandCompleter(Completer):
    """Completes the name of a command or a skill at the start of a line."""

    def __init__(self, commands: Commands, skills: Iterable[SkillEntry] = ()) -> None:
        """The skills are those there are when the sitting begins."""
        self._summaries = {each.name: each.summary for each in commands.all()}
        for skill in skills:
            self._summaries.setdefault(skill.name, skill.description)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Those whose name begins with what stands before the cursor; commands come first."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed or "\n" in typed:
            return
        for name, summary in self._summaries.items():
            if f"/{name}".startswith(typed):
                yield Completion(f"/{name}", -len(typed), display_meta=summary)
