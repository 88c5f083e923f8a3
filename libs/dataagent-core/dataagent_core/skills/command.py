"""`/skill-name task`, as a user types it. Pure.

Only the beginning of a user's own message is looked at; nothing a tool, a file or a model says goes
through here.
"""

from __future__ import annotations

import re
from typing import Final

_COMMAND: Final = re.compile(r"/(?=[0-9-]*[A-Za-z])([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)(?=\s|$)")


def split_command(message: str) -> tuple[str, str] | None:
    """The skill a message names first, and the task behind it; None if it names none.

    A path (`/tmp/x`) or a number is no skill, and a message that begins with a space is not looked
    at.
    """
    found = _COMMAND.match(message)
    if found is None or len(found[1]) > 64:
        return None
    return found[1].lower(), message[found.end() :].strip()
