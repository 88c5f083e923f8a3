"""Users fill in what an administrator left open, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.errors import BadInput, Conflict, NotFound
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.servers.templates import (
    NewTemplate,
    Parameter,
    Template,
    TemplateStore,
    fill,
)
from dataagent_core.storage import Database

CANARY = "canary-7f1c-never-anywhere"
FILES = NewTemplate(
    name="Files",
    description="Reads a folder.",
    command="npx",
    args=("-y", "@acme/files@1.2.3", "--root", "/srv/{folder}", "{mode}"),
    env={"TOKEN": "{token}", "LOG": "quiet"},
    parameters=(
        Parameter("folder", "Which folder.", pattern="[a-z]+"),
        Parameter("mode", is_required=False),
        Parameter("token", is_secret=True),
    ),
)


@pytest.fixture
def templates(database: Database) -> TemplateStore:
    return TemplateStore(database)


async def test_a_template_is_read_back_by_id_and_by_name(templates: TemplateStore) -> None:
    made = await templates.create(FILES, by="root")

    assert await templates.get(made.template_id) == await templates.get("Files") == made
    assert made.parameters == FILES.parameters
    assert await templates.list() == [made]
    with pytest.raises(Conflict):
        await templates.create(FILES, by="root")
    await templates.delete(made.template_id)
    for wanted in (made.template_id, "Files", "", "\x00", "x" * 500):
        with pytest.raises(NotFound):
            await templates.get(wanted)


def test_values_fill_their_places_and_nothing_else() -> None:
    filled = fill(FILES, {"folder": "sales", "token": CANARY})

    assert filled["command"] == "npx"
    assert filled["args"] == ("-y", "@acme/files@1.2.3", "--root", "/srv/sales")
    assert filled["env"]["TOKEN"].get_secret_value() == CANARY
    assert filled["env"]["LOG"].get_secret_value() == "quiet"
    assert CANARY not in repr(filled)
    assert fill(FILES, {"folder": "a", "token": "t", "mode": "{folder} x"})["args"][-1] == (
        "{folder} x"  # a value is never read again
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"folder": "sales"},
        {"folder": "../etc", "token": "t"},
        {"folder": "sales\n", "token": "t"},
        {"folder": "a", "token": "t", "mode": "--eval"},
        {"folder": "a", "token": "t", "mode": "-c"},
        {"folder": "a", "token": "t", "mode": "\u200b-c"},
        {"folder": "a", "token": "t", "other": "x"},
        {"folder": "a", "token": f"{CANARY}\n"},
        {"folder": "a", "token": CANARY * 200},
        {"folder": "a" * 3000, "token": "t"},
    ],
)
def test_values_that_do_not_do_are_refused_and_not_repeated(values: dict[str, str]) -> None:
    with pytest.raises(BadInput) as refused:
        fill(FILES, values)
    assert CANARY not in f"{refused.value!r}"


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "{folder}"},
        {"command": " "},
        {"args": ("{unknown}",)},
        {"args": ("{token}",)},
        {"env": {}},
        {"parameters": (*FILES.parameters, Parameter("unused"))},
        {"parameters": (*FILES.parameters, Parameter("folder"))},
        {"parameters": (Parameter("a b"),)},
        {"parameters": (replace(FILES.parameters[0], pattern="(["), *FILES.parameters[1:])},
        {"parameters": (replace(FILES.parameters[0], pattern="(?=a)"), *FILES.parameters[1:])},
        {"name": ""},
        {"args": ("a\x00b",)},
    ],
)
async def test_a_template_that_leaves_too_much_open_is_refused(
    changes: dict[str, Any], templates: TemplateStore
) -> None:
    with pytest.raises(BadInput):
        await templates.create(replace(FILES, **changes), by="root")


async def _made_of(template: Template, servers: ServerStore) -> str:
    filled = fill(template, {"folder": "sales", "token": CANARY})
    new = NewServer(
        name="files", scope="user", user_id="alice", template_id=template.template_id, **filled
    )
    return (await servers.create(new, by="alice")).server_id


async def test_a_server_made_of_a_template_is_off_once_the_template_starts_something_else(
    templates: TemplateStore, servers: ServerStore
) -> None:
    made = await templates.create(FILES, by="root")
    server_id = await _made_of(made, servers)
    await templates.update(made.template_id, replace(FILES, description="Better."), by="root")
    assert (await servers.get(server_id)).disabled is False

    newer = replace(FILES, args=("-y", "@acme/files@2.0.0", "/srv/{folder}", "{mode}"))
    changed = await templates.update(made.template_id, newer, by="root")

    (spec,) = await servers.effective(user_id="alice", tenant_id=None)
    assert spec.disabled is True
    woken = await servers.update(server_id, {"disabled": False}, by="alice")
    assert woken.disabled is False
    assert (await servers.get(server_id)).disabled is True  # saying so is not filling it in
    filled = fill(changed, {"folder": "sales", "token": CANARY})
    await servers.update(server_id, {"template_id": changed.template_id, **filled}, by="alice")
    assert (await servers.get(server_id)).disabled is False
    await templates.delete(made.template_id)
    assert (await servers.get(server_id)).disabled is True


async def test_a_template_does_not_lend_its_name_to_another_program(
    templates: TemplateStore, servers: ServerStore
) -> None:
    made = await templates.create(FILES, by="root")
    for template_id, command in ((made.template_id, "sh"), ("none", "npx")):
        new = NewServer(
            name="x",
            scope="user",
            user_id="alice",
            command=command,
            template_id=template_id,
            env={"A": SecretStr("b")},
        )
        with pytest.raises(BadInput, match="template"):
            await servers.create(new, by="alice")
    server_id = await _made_of(made, servers)
    with pytest.raises(BadInput, match="template"):
        await servers.update(server_id, {"command": "sh"}, by="alice")
