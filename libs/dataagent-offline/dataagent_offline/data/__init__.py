"""Questions about data: plain words → SQL tools → the number, with its SQL.

No language model and no guess. A question goes through `words` (atoms) → `lexicon` (what the
schema calls things) → `reading` (which words mean what) → `parse` (what is asked) → `link` (which
columns, which joins) → `sql` → the tools → `answer`. A step that cannot account for a word ends
with a `Trouble`, and the user is told what was not understood. `skill` runs the steps.
"""

from dataagent_offline.data.pipeline import answer_from_data, sounds_like_data

__all__ = ["answer_from_data", "sounds_like_data"]
