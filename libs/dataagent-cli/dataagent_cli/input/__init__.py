"""What a person types or pipes in.

The keyboard (`keyboard.py` and what stands around it) is not here: it loads a library that one
question, asked in a script, does not need.
"""

from dataagent_cli.input.piped import NotText, read_piped

__all__ = ["NotText", "read_piped"]
