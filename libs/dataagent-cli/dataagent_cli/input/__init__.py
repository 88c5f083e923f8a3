"""What a person types or pipes in."""

from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.input.history import open_history
from dataagent_cli.input.keyboard import Keyboard
from dataagent_cli.input.piped import NotText, read_piped

__all__ = ["Dialogs", "Keyboard", "LineCompleter", "NotText", "open_history", "read_piped"]
