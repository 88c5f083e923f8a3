"""What a person types or pipes in."""

from dataagent_cli.input.completion import CommandCompleter
from dataagent_cli.input.history import open_history
from dataagent_cli.input.keyboard import Keyboard
from dataagent_cli.input.piped import NotText, read_piped

__all__ = ["CommandCompleter", "Keyboard", "NotText", "open_history", "read_piped"]
