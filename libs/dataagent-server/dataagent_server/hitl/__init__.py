"""Answers to approval requests, from the wire to the core.

The waiting itself is not here: approvals are kept by the runs (`dataagent_core.runs`), so that they
outlive sockets and restarts.
"""

from dataagent_server.hitl.decisions import decision_of

__all__ = ["decision_of"]
