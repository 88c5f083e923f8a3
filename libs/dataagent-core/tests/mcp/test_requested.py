"""Masks keep what is stored, and a server is reached in one way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from dataagent_core.errors import BadInput
from dataagent_core.identity.sealing import MASK
from dataagent_core.mcp.servers.registration import ServerFields
from dataagent_core.mcp.servers.server_views import (
    apply_fields,
    changes_connection,
    complete_fields,
    mask_secrets,
    mask_url,
)
from dataagent_core.mcp.types import ServerSpec
from tests.requirements import requirement

WEB = ServerSpec(
    server_id="s1",
    scope="user",
    name="orders",
    alias="orders",
    url="https://mcp.example.com/mcp?region=north",
    headers={"Authorization": SecretStr("Bearer one"), "X-Team": SecretStr("sales")},
    user_id="ann",
)
PROGRAM = ServerSpec(
    server_id="s2",
    scope="user",
    name="files",
    alias="files",
    transport="stdio",
    command="serve",
    args=("--all",),
    env={"TOKEN": SecretStr("two")},
    template_id="tpl",
    user_id="ann",
)


def secrets(values: dict[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in values.items()}


@requirement("R30.2")
def test_a_mask_keeps_the_stored_value_and_names_left_out_are_dropped() -> None:
    sent = ServerFields(headers={"Authorization": SecretStr(MASK), "X-New": SecretStr("n")})
    found = complete_fields(sent, WEB)
    assert secrets(dict(found.get("headers", {}))) == {"Authorization": "Bearer one", "X-New": "n"}


@pytest.mark.parametrize("stored", [None, WEB])
def test_a_mask_without_a_stored_value_is_refused(stored: ServerSpec | None) -> None:
    with pytest.raises(BadInput, match="X-Other"):
        complete_fields({"headers": {"X-Other": SecretStr(MASK)}}, stored)


def test_a_masked_address_keeps_the_stored_one_when_sent_back() -> None:
    shown = mask_url(WEB.url)
    assert shown == f"https://mcp.example.com/mcp?region={MASK}"
    assert complete_fields({"url": shown}, WEB) == {"url": WEB.url}
    for wrong in (f"https://other.example.com/mcp?region={MASK}", f"https://x/{MASK}"):
        with pytest.raises(BadInput):
            complete_fields({"url": wrong}, WEB)
    assert mask_url("http://u:p@h:1/x?a&b=c#d") == f"http://{MASK}@h:1/x?a&b={MASK}"
    assert mask_url(None) is None
    assert mask_url("http://[::1") == MASK


@requirement("M5.4")
@given(st.text(min_size=5).filter(lambda s: s not in MASK), st.sampled_from(["query", "login"]))
def test_no_secret_of_an_address_is_shown(secret: str, place: str) -> None:
    canary = "".join(f"{ord(c):x}" for c in secret)[:40] + "zq"
    url = f"https://{canary}:{canary}@h/x" if place == "login" else f"https://h/x?k={canary}"
    assert canary not in str(mask_url(url))


def test_who_names_an_address_gives_up_the_command_and_the_other_way_round() -> None:
    changed = apply_fields(PROGRAM, complete_fields({"url": "https://h/mcp"}, PROGRAM))
    assert (changed.command, changed.args, dict(changed.env)) == (None, (), {})
    assert (changed.transport, changed.template_id) == ("auto", None)
    back = apply_fields(WEB, complete_fields({"command": "serve"}, WEB))
    assert (back.url, dict(back.headers), back.transport) == (None, {}, "stdio")


def test_changes_of_the_connection_are_distinguished_from_others() -> None:
    for fields, is_other in (
        (ServerFields(disabled=True), False),
        (ServerFields(call_timeout_seconds=5.0), False),
        (ServerFields(args=("--one",)), True),
        (ServerFields(env={"TOKEN": SecretStr("three")}), True),
        (ServerFields(env={"TOKEN": SecretStr(MASK)}), False),
    ):
        new = apply_fields(PROGRAM, complete_fields(fields, PROGRAM))
        assert changes_connection(PROGRAM, new) is is_other, fields


def test_only_names_of_secrets_are_shown() -> None:
    assert mask_secrets(PROGRAM.env) == {"TOKEN": MASK}
    assert "two" not in repr(PROGRAM)
