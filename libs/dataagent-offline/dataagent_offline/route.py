"""The offline model as supervisor: who gets the question, by its words.

Greetings it answers itself, what sounds like a question about data or is SQL goes to `sql`, all
else to `general`, which has every tool. It asks back nothing: it could not read the answer.
"""

from __future__ import annotations

from typing import Final

from dataagent_core.models.rule_based import HAND_OVER, Call, Conversation, Turn
from dataagent_offline.blocks import fenced
from dataagent_offline.data import sounds_like_data
from dataagent_offline.files import list_files, read_a_file, write_a_file
from dataagent_offline.talk import greet

_SQL: Final = "sql"
_GENERAL: Final = "general"


def hand_over(conversation: Conversation) -> Turn | None:
    """Pass the question on, if there is anyone to pass it to."""
    if not conversation.agents:
        return None
    if hello := greet(conversation):
        return hello
    wanted = _SQL if _is_about_data(conversation) else _GENERAL
    agent = wanted if wanted in conversation.agents else conversation.agents[-1]
    return [Call(HAND_OVER, {"agent_name": agent, "task_description": conversation.question})]


def _is_about_data(conversation: Conversation) -> bool:
    languages = {language for language, _ in fenced(conversation.question)}
    if languages:
        return languages == {_SQL}
    if any(skill(conversation) for skill in (write_a_file, read_a_file, list_files)):
        return False
    return sounds_like_data(conversation.question)
