"""Policies of a source and attributes of a user, on every SQL database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.data.sources import NewSource, SourceStore
from dataagent_core.errors import BadInput, NotFound, SourceNotFound

LITE = SecretStr("sqlite:////data/shop.db")

# -- policies -------------------------------------------------------------------------------

RULES: dict[str, Any] = {"name": "区域", "tables": {"orders": {"where": "region = :user.region"}}}


async def test_policies_are_kept_replaced_and_removed(sources: SourceStore) -> None:
    source = await sources.create(NewSource("sales", url=LITE))
    made = await sources.policies.put(source.source_id, "区域", RULES)
    assert (made.name, made.rules, made.is_from_config) == ("区域", RULES, False)
    changed = await sources.policies.put(
        source.source_id, "region", {"x": [1, 2.5, None]}, policy_id=made.policy_id
    )
    assert await sources.policies.list(source.source_id) == [changed]
    assert (changed.rules, changed.created_at) == ({"x": [1, 2.5, None]}, made.created_at)
    await sources.policies.delete(source.source_id, made.policy_id)
    assert await sources.policies.list(source.source_id) == []


async def test_a_policy_belongs_to_one_source(sources: SourceStore) -> None:
    one = await sources.create(NewSource("one", url=LITE))
    two = await sources.create(NewSource("two", url=LITE))
    made = await sources.policies.put(one.source_id, "p", RULES)
    with pytest.raises(NotFound):
        await sources.policies.put(two.source_id, "p", {}, policy_id=made.policy_id)
    with pytest.raises(NotFound):
        await sources.policies.delete(two.source_id, made.policy_id)
    with pytest.raises(SourceNotFound):
        await sources.policies.put("no such", "p", RULES)
    assert (await sources.policies.list(one.source_id))[0].rules == RULES


@pytest.mark.parametrize(
    ("name", "rules"),
    [("", {}), (" ", {}), ("n" * 201, {}), ("n", {"a": float("nan")}), ("n", {"a": "\x00"})],
)
async def test_a_policy_that_cannot_be_kept_is_refused(
    sources: SourceStore, name: str, rules: dict[str, Any]
) -> None:
    source = await sources.create(NewSource("sales", url=LITE))
    with pytest.raises(BadInput):
        await sources.policies.put(source.source_id, name, rules)


# -- attributes -----------------------------------------------------------------------------


async def test_attributes_of_a_user_are_set_one_by_one(sources: SourceStore) -> None:
    attributes = sources.attributes
    assert await attributes.get("dora") == {}
    await attributes.set("dora", {"region": "华东", "level": 3, "is_lead": True})
    await attributes.set("dora", {"region": ["华东", "华南"], "share": 0.5})
    await attributes.set("emil", {"region": "west"})
    assert await attributes.get("dora") == {
        "is_lead": True,
        "level": 3,
        "region": ["华东", "华南"],
        "share": 0.5,
    }
    await attributes.delete("dora", "level")
    with pytest.raises(NotFound):
        await attributes.delete("dora", "level")
    await attributes.clear("dora")
    assert await attributes.get("dora") == {}
    assert await attributes.get("emil") == {"region": "west"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "x") for name in ("", "1a", "a-b", "a" * 65, "a.b", "ä")],
        *[("a", value) for value in (None, {"x": 1}, [["x"]], float("inf"), "\x00", [None])],
    ],
)
async def test_an_attribute_that_no_filter_could_use_is_refused(
    sources: SourceStore, name: str, value: Any
) -> None:
    with pytest.raises(BadInput):
        await sources.attributes.set("dora", {name: value})
    assert await sources.attributes.get("dora") == {}


async def test_the_same_attribute_may_be_set_at_the_same_moment(sources: SourceStore) -> None:
    setting = [sources.attributes.set("dora", {"region": number}) for number in range(4)]
    await asyncio.gather(*setting)
    assert (await sources.attributes.get("dora"))["region"] in range(4)
