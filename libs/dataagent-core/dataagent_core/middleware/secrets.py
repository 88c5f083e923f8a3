"""Asks before a project's file with keys or passwords is shown to the model.

By the name of the file alone (`workspace/secret_files.py`); the backend sees to it that such a file
is reached under its own name only, and leaves it out of searches that do not name it. Writing one
asks anyway. Above: `engine/`. Below: `approvals.py`.
"""

from __future__ import annotations

from typing import Final

from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import ToolCallRequest

from dataagent_core.middleware.approvals import ApprovalsMiddleware, needs_approval
from dataagent_core.workspace.secret_files import is_secret

_ASKED: Final = {
    "read_file": "Show the agent a file that holds keys or passwords.",
    "grep": "Show the agent lines of a file that holds keys or passwords.",
}


class SecretsMiddleware(ApprovalsMiddleware):
    """Approvals of reading, for files with secrets and no others."""

    def __init__(self) -> None:
        super().__init__(
            {
                name: InterruptOnConfig(
                    allowed_decisions=["approve", "edit", "reject", "respond"],
                    description=text,
                    when=shows_secrets,
                )
                for name, text in _ASKED.items()
            }
        )


def shows_secrets(request: ToolCallRequest) -> bool:
    """Whether the call reads a file with secrets and the run asks about it."""
    arguments = request.tool_call["args"]
    path = str(arguments.get("file_path") or arguments.get("path") or "")
    steps = [step for step in path.replace("\\", "/").split("/") if step not in ("", ".")]
    return is_secret(steps) and needs_approval(request)
