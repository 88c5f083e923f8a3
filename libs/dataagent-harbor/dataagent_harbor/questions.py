"""A question set: what is asked and what a good answer is; `question_files.py` reads the files.

A question may expect words, a pattern, a figure, the rows of a statement, a tool, or a refusal;
all that it expects must hold. `follow_ups` are asked in the same conversation, one after another,
and graded each for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Difficulty = Literal["easy", "medium", "hard"]


class BadQuestionSet(ValueError):
    """The file is not a question set; the message says where and what is wrong."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with what its answer must contain. `extra` holds fields that are yours."""

    question: str
    id: str
    expected_keywords: tuple[str, ...] = ()
    expected_pattern: str | None = None
    expected_answer: str | float | None = None
    """A figure that the answer must name, give or take `tolerance`, or a text it must contain."""
    tolerance: float = 0.0
    expected_sql: str | None = None
    """The answer's table must hold the rows of this statement, asked of `source`."""
    source: str | None = None
    expected_tool: str | None = None
    must_refuse: bool = False
    category: str = "general"
    difficulty: Difficulty = "medium"
    follow_ups: tuple[Question, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse what could not be asked or graded."""
        if not self.question.strip():
            raise BadQuestionSet("'question' is empty")
        if self.difficulty not in get_args(Difficulty):
            allowed = ", ".join(get_args(Difficulty))
            raise BadQuestionSet(f"'difficulty' is {self.difficulty!r}; use one of: {allowed}")
        if self.tolerance < 0:
            raise BadQuestionSet(f"'tolerance' is {self.tolerance}; it cannot be below zero")
        if self.expected_pattern is not None:
            try:
                re.compile(self.expected_pattern)
            except re.error as error:
                raise BadQuestionSet(
                    f"'expected_pattern' is no regular expression: {error}"
                ) from error

    @property
    def in_order(self) -> tuple[Question, ...]:
        """The question and its follow-ups, as they are asked."""
        return (self, *self.follow_ups)
