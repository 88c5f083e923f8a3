"""Settings, per-session state and chat models by name."""

from dataagent_core.config.settings import Prices, SessionStoreKind, Settings, split_commas
from dataagent_core.config.state import SessionState

__all__ = ["Prices", "SessionState", "SessionStoreKind", "Settings", "split_commas"]
