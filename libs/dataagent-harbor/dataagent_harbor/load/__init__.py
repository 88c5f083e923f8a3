"""Many users at one server, from one process: how much it carries, and whether it loses anything.

`user` is one of them, over WebSocket or REST; `crowd` lets them come, ask and think; `tally` counts
what they saw, `trend` says where it is going, `report` is for people. Nothing is graded here.
"""

from dataagent_harbor.load.virtual_users import Load, VirtualUsers

__all__ = ["Load", "VirtualUsers"]
