"""A call's arguments as a text to edit, and back. Pure.

A call that is about one text (a command, a statement, code, the content of a file) is edited as
that text; any other as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import orjson

from dataagent_cli.hitl.preview import text_argument
from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest, EditedAction, check_arguments

_SUFFIXES = {"command": ".sh", "code": ".py", "sql": ".sql", "query": ".sql"}
_CONTENT = "content"


@dataclass(frozen=True, slots=True)
class CallDraft:
    """What is edited: the text, the ending of its file, and the argument it is; None: all."""

    text: str
    suffix: str
    argument: str | None


def draft_call(action: ActionRequest) -> CallDraft:
    """A call as a text to edit."""
    argument = _argument(action)
    if argument is None:
        return CallDraft(_json(action.args), ".json", None)
    return CallDraft(str(action.args[argument]), _suffix(action, argument), argument)


def apply_draft(action: ActionRequest, edited: CallDraft) -> EditedAction:
    """The call that was made of a draft.

    Raises:
        BadDecision: it is not JSON, or does not fit the tool; says why.
    """
    args = action.args
    if edited.argument is None:
        args = _parsed(edited.text)
    else:
        args = {**args, edited.argument: _keep_line_end(edited.text, str(args[edited.argument]))}
    check_arguments(action, args)
    return EditedAction(action.name, args)


def _argument(action: ActionRequest) -> str | None:
    if isinstance(action.args.get(_CONTENT), str):
        return _CONTENT
    found = text_argument(action)
    if found is None and len(action.args) == 1:
        ((found, value),) = action.args.items()
        return found if isinstance(value, str) else None
    return found


def _suffix(action: ActionRequest, argument: str) -> str:
    if argument == _CONTENT:
        return PurePosixPath(str(action.args.get("file_path", ""))).suffix or ".txt"
    return _SUFFIXES.get(argument, ".txt")


def _keep_line_end(text: str, before: str) -> str:
    """Without the line end that editors add, if there was none."""
    return text if before.endswith("\n") else text.removesuffix("\n")


def _json(args: dict[str, Any]) -> str:
    try:
        return orjson.dumps(args, option=orjson.OPT_INDENT_2).decode() + "\n"
    except TypeError:  # an integer beyond 64 bits, a lone surrogate
        import json

        return json.dumps(args, indent=2) + "\n"


def _parsed(text: str) -> dict[str, Any]:
    import json  # keeps integers of any size

    try:
        args: object = json.loads(text)
    except ValueError as error:
        raise BadDecision(f"This is not JSON: {error}.") from error
    if not isinstance(args, dict):
        raise BadDecision("The arguments are a JSON object: { … }.")
    return args  # pyright: ignore[reportUnknownVariableType] JSON
