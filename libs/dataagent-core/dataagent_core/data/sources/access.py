"""Who sees a data source. Pure.

Grants add up: one that fits is enough. A grant to an agent lets everyone who speaks through that
agent read the source there, and nowhere else. Administrators read all sources, because they could
grant themselves any; policies bind them all the same. Through an agent they have their own and
those granted to them, so that an answer does not rest on another user's upload.
"""

from __future__ import annotations

from typing import assert_never

from dataagent_core.data.sources.types import Grant, Source
from dataagent_core.data.types import Reader


def visible_to(source: Source, reader: Reader) -> bool:
    """Whether the reader may know of the source and query it."""
    is_administering = reader.is_admin and reader.agent_id is None
    if is_administering or (source.owner_id is not None and source.owner_id == reader.user_id):
        return True
    return any(_fits(grant, reader) for grant in source.grants)


def _fits(grant: Grant, reader: Reader) -> bool:
    match grant.subject_kind:
        case "everyone":
            return True
        case "user":
            return grant.subject_id == reader.user_id
        case "tenant":
            return grant.subject_id == reader.tenant_id
        case "agent":
            return grant.subject_id == reader.agent_id
        case _:
            assert_never(grant.subject_kind)
