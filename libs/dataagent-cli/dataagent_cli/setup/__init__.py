"""`init`, `doctor`, `completion`: making the program ready on this machine.

Only the words are exported, so that `--help` stays quick; `dispatch.py` has what they lead to.
"""

from dataagent_cli.setup.arguments import SETUP_COMMANDS, SetupOptions, add_setup_commands

__all__ = ["SETUP_COMMANDS", "SetupOptions", "add_setup_commands"]
