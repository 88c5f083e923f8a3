"""Question sets for DataAgent servers: what to ask and what a good answer contains."""

from dataagent_harbor.questions import BadQuestionSet, Difficulty, Question, load_questions

__all__ = ["BadQuestionSet", "Difficulty", "Question", "load_questions"]
