"""A running core from settings: every part opened, connected and closed in one place."""

from dataagent_core.app.assembly import Core, open_core

__all__ = ["Core", "open_core"]
