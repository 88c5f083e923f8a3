"""`sources`, `schema`, `sql`, `export`: data from the shell, and after a slash.

Only the words are exported, so that `--help` stays quick; `dispatch.py` has what they lead to.
"""

from dataagent_cli.data.arguments import DataOptions, add_data_commands

__all__ = ["DataOptions", "add_data_commands"]
