"""Who sees a source: the whole matrix, and what the store then gives."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from dataagent_core.data.sources import EVERYONE, Grant, NewSource, SourceStore
from dataagent_core.data.types import Reader
from dataagent_core.errors import SourceNotFound

URL = SecretStr("sqlite:////data/shop.db")
GRANTS: dict[str, tuple[Grant, ...]] = {
    "closed": (),
    "everyone": (EVERYONE,),
    "to-dora": (Grant("user", "dora"),),
    "to-north": (Grant("tenant", "north"),),
    "to-agent": (Grant("agent", "sql"),),
    "to-two": (Grant("user", "nobody"), Grant("tenant", "north")),
    "same-word": (Grant("tenant", "dora"), Grant("agent", "north"), Grant("user", "sql")),
}
READERS: dict[str, tuple[Reader, set[str]]] = {
    "a stranger": (Reader("zoe"), {"everyone"}),
    "a named user": (Reader("dora"), {"everyone", "to-dora"}),
    "one of a tenant": (
        Reader("zoe", tenant_id="north"),
        {"everyone", "to-north", "to-two"},
    ),
    "one of another tenant": (Reader("zoe", tenant_id="south"), {"everyone"}),
    "through an agent": (Reader("zoe", agent_id="sql"), {"everyone", "to-agent"}),
    "through another agent": (Reader("zoe", agent_id="research"), {"everyone"}),
    "the owner": (Reader("olga"), {"everyone", "owned"}),
    "another case": (Reader("Dora", tenant_id="North"), {"everyone"}),
    "nobody": (Reader(""), {"everyone"}),
    "an administrator": (Reader("root", role="admin"), {*GRANTS, "owned"}),
}


@pytest.mark.parametrize("who", READERS)
async def test_a_reader_sees_what_is_granted_and_nothing_else(
    sources: SourceStore, who: str
) -> None:
    reader, seen = READERS[who]
    made = [await sources.create(NewSource(n, url=URL, grants=g)) for n, g in GRANTS.items()]
    made.append(await sources.create(NewSource("owned", url=URL), owner_id="olga"))
    assert {source.name for source in await sources.list_for(reader)} == seen
    for source in made:
        for wanted in (source.source_id, source.name):
            if source.name in seen:
                assert await sources.get_for(wanted, reader) == source
            else:
                with pytest.raises(SourceNotFound) as hidden:
                    await sources.get_for(wanted, reader)
                with pytest.raises(SourceNotFound) as absent:
                    await sources.get_for("no-such", reader)
                told = hidden.value.message.replace(wanted, "no-such")
                assert told == absent.value.message  # hidden and absent look the same


@pytest.mark.parametrize("wanted", ["", "\x00", "\ud800", "x" * 10_000, "' OR 1=1 --"])
async def test_nonsense_is_not_found(sources: SourceStore, wanted: str) -> None:
    with pytest.raises(SourceNotFound):
        await sources.get_for(wanted, Reader("root", role="admin"))
