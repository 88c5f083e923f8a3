"""Answers questions about data: plain words → SQL tools → the number, with its SQL.

No language model and no guess. A question goes through `vocabulary` (atoms) → `lexicon` (what the
schema calls things) → `segmentation` (which words mean what) → `parse` (the intent) → `planner`
(which columns, which joins) → `sql` → the tools → `answer`. A step that cannot account for a word
raises a `QuestionError`, and the answer says what was not understood. `pipeline` runs the steps.
"""

from dataagent_offline.data.pipeline import answer_from_data, sounds_like_data

__all__ = ["answer_from_data", "sounds_like_data"]
