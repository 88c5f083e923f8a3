"""The offline model's data skill: a question in plain words → SQL tools → the number, with its SQL.

No language model and no guess. A question walks one way: `words` (atoms) → `lexicon` (what the
schema calls things) → `reading` (which words mean what) → `parse` (what is asked) → `link` (which
columns, which joins) → `sql` → the tools → `answer`. Whatever a step cannot account for ends the
walk with a `Trouble`, and the user is told what was not understood. `skill` leads the walk. Above:
`offline.py`; below: `conversation.py` and `steps.py`. It knows the data tools by name only.
"""
