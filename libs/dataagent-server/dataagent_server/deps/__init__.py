"""The container, and what routes of several transports share."""

from dataagent_server.deps.connections import Capacity
from dataagent_server.deps.container import Container, open_container

__all__ = ["Capacity", "Container", "open_container"]
