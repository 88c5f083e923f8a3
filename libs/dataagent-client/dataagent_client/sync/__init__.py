"""The client for code without `await`: `portal.py`, and twins that `make sync-client` writes."""

from dataagent_client.sync.client import SyncDataAgentClient

__all__ = ["SyncDataAgentClient"]
