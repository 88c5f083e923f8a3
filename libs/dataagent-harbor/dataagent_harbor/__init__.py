"""Question sets for DataAgent servers: what to ask, what a good answer is, and how it went."""

from dataagent_harbor.questions import BadQuestionSet, Difficulty, Question, load_questions
from dataagent_harbor.scoring import Verdict, score

__all__ = ["BadQuestionSet", "Difficulty", "Question", "Verdict", "load_questions", "score"]
