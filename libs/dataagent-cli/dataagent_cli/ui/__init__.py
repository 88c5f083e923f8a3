"""What a person or a program sees of a run: a drawn screen, plain text, or JSON lines."""

from dataagent_cli.ui.events import EventRenderer
from dataagent_cli.ui.jsonl import JsonView
from dataagent_cli.ui.plain import PlainRenderer
from dataagent_cli.ui.renderer import TerminalRenderer
from dataagent_cli.ui.view import View

__all__ = ["EventRenderer", "JsonView", "PlainRenderer", "TerminalRenderer", "View"]
