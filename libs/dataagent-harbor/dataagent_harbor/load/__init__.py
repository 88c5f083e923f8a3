"""Load of many users from one process: how much a server serves, and whether it loses events."""

from dataagent_harbor.load.virtual_users import Load, VirtualUsers

__all__ = ["Load", "VirtualUsers"]
