"""The data skill's door: the next step for a question about data, found by walking again.

Nothing is kept between turns. Each turn walks over the tool results that the conversation already
holds; the first call without a result is the next step. Earlier questions are walked in the same
way when a follow-up needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from dataagent_core.models.rule_based import Call, Conversation, Exchange, Say, Turn
from dataagent_offline.data.pipeline import (
    AnsweredQuestion,
    QuestionOutcome,
    TextReply,
    answer_question,
)
from dataagent_offline.data.segmentation import LONGEST_QUESTION, roles_of
from dataagent_offline.data.words import atoms, has_han

_NEEDED: Final = frozenset({"sql_db_schema", "sql_db_query"})
_MOST_EARLIER: Final = 30
_SHORT: Final = 6
"""Words, or twice as many Chinese characters. `customers in Germany` asks without a word for it."""
_DATA_ROLES: Final = frozenset(
    {"count", "agg", "order", "take", "extreme", "by", "bucket", "trend", "list", "which",
     "people", "chart", "compare", "measure", "how_much", "table_format", "ask", "schema", "op",
     "trade"}
)  # fmt: skip
_FOLLOW_ROLES: Final = _DATA_ROLES | {"follow", "and", "period", "not", "with", "noise"}


def answer_from_data(conversation: Conversation) -> Turn | None:
    """Answer a plain question about data with the SQL tools; None if it is no such question."""
    if not conversation.tools.keys() >= _NEEDED:
        return None
    if not _may_be_data_question(conversation):
        return None
    match _replay(conversation):
        case Call() as call:
            return [call]
        case AnsweredQuestion(text=text) | TextReply(text=text):
            return [Say(text)]
        case None:
            return None


def sounds_like_data(question: str) -> bool:
    """Whether a question uses the words of one about data, whatever tools there are."""
    return bool(roles_of(question[:LONGEST_QUESTION]) & _DATA_ROLES)


def _may_be_data_question(conversation: Conversation) -> bool:
    """Whether the question may be one about data: by its words, or because it is short."""
    question = conversation.question[:LONGEST_QUESTION]
    length = sum(0.5 if has_han(atom.text) else 1 for atom in atoms(question))
    if 0 < length <= _SHORT:
        return True
    return bool(
        roles_of(question) & (_FOLLOW_ROLES if _has_data(conversation.earlier) else _DATA_ROLES)
    )


def _has_data(earlier: Sequence[Exchange]) -> bool:
    return any(result.name in _NEEDED for exchange in earlier for result in exchange.results)


def _replay(conversation: Conversation) -> Call | QuestionOutcome | None:
    """Walk as far as the results reach: the next call, the end, or None if they do not fit."""
    steps = answer_question(conversation, lambda: _previous_answer(conversation))
    try:
        call = next(steps)
        for result in conversation.results:
            if result.name not in {None, call.name}:
                return None
            call = steps.send(result)
    except StopIteration as end:
        outcome: QuestionOutcome = end.value
        return outcome
    return call


def _previous_answer(conversation: Conversation) -> AnsweredQuestion | None:
    """The last earlier question that was answered from data."""
    earlier = conversation.earlier
    for position in range(len(earlier) - 1, max(-1, len(earlier) - 1 - _MOST_EARLIER), -1):
        then = replace(
            conversation,
            question=earlier[position].question,
            results=earlier[position].results,
            earlier=earlier[:position],
        )
        outcome = _replay(then) if then.results else None
        if isinstance(outcome, AnsweredQuestion):
            return outcome
    return None
