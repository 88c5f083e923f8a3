"""The question where nothing can be drawn (`TERM=dumb`): text above, an answer in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataagent_cli.hitl.choices import ApprovalAnswer, ApprovalChoice
from dataagent_cli.hitl.line_reader import LineReader
from dataagent_cli.hitl.preview import preview, title
from dataagent_cli.ui.clean import printable
from dataagent_core.hitl import ActionRequest


async def ask_in_text(
    action: ActionRequest,
    choices: Sequence[ApprovalChoice],
    lines: LineReader,
    note: Callable[[str], None],
    *,
    question: str = "",
    escape: ApprovalAnswer = "stop",
) -> ApprovalAnswer:
    """The answer that was typed: a letter, a number or the word; `escape` for none.

    Raises:
        Interrupted: Ctrl-C.
    """
    call = ["".join(text for _, text in line) for line in preview(action)]
    listed = [f"{number}. {each.label} ({each.key})" for number, each in enumerate(choices, 1)]
    said = [title(action), printable(action.description), *(f"  {line}" for line in call), question]
    note("\n".join(line for line in [*said, *listed] if line))
    known: dict[str, ApprovalAnswer] = {}
    for number, each in enumerate(choices, 1):
        known |= {each.key: each.answer, str(number): each.answer, each.answer: each.answer}
    while True:
        typed = await lines.read(f"answer [{'/'.join(each.key for each in choices)}]: ")
        if typed is None:
            return escape
        if (answer := known.get(typed.strip().lower())) is not None:
            return answer
