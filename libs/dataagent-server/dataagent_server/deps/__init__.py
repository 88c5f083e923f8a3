"""What the doors are given: the container and the providers that read from it."""

from dataagent_server.deps.connections import Capacity
from dataagent_server.deps.container import Container, open_container

__all__ = ["Capacity", "Container", "open_container"]
