"""How the server is."""

from __future__ import annotations

from typing import Literal

from dataagent_server.models.fields import ResponseModel


class Health(ResponseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str
    uptime: float


class Readiness(ResponseModel):
    """The process can do its work, and what was looked at."""

    status: Literal["ready"]
    checks: dict[str, Literal["ok"]]
