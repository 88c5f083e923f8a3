"""What a person answers to a call that waits: from the page's fields to a `Decision`. Pure.

A request from inside a call is a question: its answer is a set of values, so that editing is the
way to say yes. Above: `answer.py`.
"""

from __future__ import annotations

import json
from typing import Any

from dataagent_client import ActionRequest, Decision, EditedAction


class BadAnswer(ValueError):
    """What was typed is no answer; the message says why."""


def arguments_text(action: ActionRequest) -> str:
    """The arguments as a person edits them."""
    return json.dumps(action.args, indent=2, ensure_ascii=False)


def edit_decision(action: ActionRequest, text: str) -> Decision:
    """Yes, with these arguments; the same arguments are a plain yes, except to a question.

    Raises:
        BadAnswer: the text is not a JSON object.
    """
    try:
        args: Any = json.loads(text)
    except ValueError as error:
        raise BadAnswer(f"参数不是 JSON：{error}") from error
    if not isinstance(args, dict):
        raise BadAnswer('参数应为 JSON 对象，例如 {"path": "/a.txt"}。')
    if args == action.args and not action.is_question:
        return Decision("approve")
    # JSON
    return Decision(
        "edit",
        edited_action=EditedAction(action.name, args),  # pyright: ignore[reportUnknownArgumentType]
    )


def respond_decision(text: str) -> Decision:
    """Not that call: the assistant goes on with these words instead.

    Raises:
        BadAnswer: there are none.
    """
    if not text.strip():
        raise BadAnswer("请填写助手应该怎么做。")
    return Decision("respond", message=text.strip())
