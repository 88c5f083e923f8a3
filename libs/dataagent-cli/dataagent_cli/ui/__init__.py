"""What a person or a program sees of a run: a drawn screen, plain text, or JSON lines.

The drawn screen (`renderer.py`) is not here: it loads much that plain text does not need.
"""

from dataagent_cli.ui.events import EventRenderer
from dataagent_cli.ui.jsonl import JsonView
from dataagent_cli.ui.kept import KeptView
from dataagent_cli.ui.plain import PlainRenderer
from dataagent_cli.ui.view import View

__all__ = ["EventRenderer", "JsonView", "KeptView", "PlainRenderer", "View"]
