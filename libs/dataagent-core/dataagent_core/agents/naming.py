"""What agents may be called. Pure.

A custom agent's id is made by us and has a form nothing else has: so that one that is gone is known
to be gone, where any other unknown name may be just a place for memories.
"""

from __future__ import annotations

import re
from uuid import uuid4

from dataagent_core.agents.types import GENERAL_ALIAS, SUPERVISOR
from dataagent_core.errors import BadInput

NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAME = re.compile(NAME_PATTERN)
_ID = re.compile(r"agent_[0-9a-f]{32}")
RESERVED = frozenset({GENERAL_ALIAS, SUPERVISOR, "general-purpose", "main"})
"""Names with a meaning of their own, which no agent gets."""


def new_agent_id() -> str:
    """An id for an agent that someone creates."""
    return f"agent_{uuid4().hex}"


def is_generated_id(name: str) -> bool:
    """Whether the name has the form of an id of a created agent."""
    return _ID.fullmatch(name) is not None


def check_name(name: str) -> str:
    """The name, if an agent can have it.

    Raises:
        BadInput: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name[:80]!r} cannot be an agent's name: 1 to 64 of a-z, 0-9, '-' and '_', beginning "
            "with a letter or digit."
        )
    if name in RESERVED or is_generated_id(name):
        raise BadInput(f"The name {name!r} is reserved. Choose another.")
    return name
