"""DataAgent, whole: installing this brings the terminal and the server with its web app.

It has no code of its own. `dataagent_cli` is the terminal, `dataagent_server` the server.
"""

from __future__ import annotations

__all__: list[str] = []
