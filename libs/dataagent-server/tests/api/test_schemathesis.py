"""schemathesis asks every operation of the OpenAPI document what it can think of.

No 5xx, no status that is not documented, no answer of another shape, nothing taken that the
document forbids. Once as an administrator, once as a user; always the same requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from schemathesis.engine import Status, events, from_schema

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

pytestmark = pytest.mark.slow

KEYS = {"root": "root-key-55aa33", "alice": "alice-key-4f9a0c"}
STATEFUL = {"max-steps": 6, "link-calibration": False, "generation": {"max-examples": 8}}
PHASES = {  # every shape there is, once: what a body may be does not depend on who sends it
    "root": {"stateful": STATEFUL},
    "alice": {"coverage": {"enabled": False}, "stateful": STATEFUL},
}
ENDLESS = ["session_events", "web_chat_events"]  # a conversation's stream waits for what comes
UNDER_AN_ID = ["upload_file", "upload_data_source"]  # `upload` is what other methods take as an id
NEED_A_SOURCE = [  # the document's examples name a database that is not there: 503
    *("create_data_source", "update_data_source", "get_catalogue", "refresh_catalogue"),
    "list_tables",
    *("check_query", "run_query", "create_policy", "replace_policy"),
]
ASK_FOR_SENSE = [  # of the right shape, and still refused: bytes, SQL, names, passwords, decisions
    *("upload_file", "upload_data_source", "preview_file", "download_named_file"),
    *("check_query", "run_query", "get_catalogue", "get_artifact"),
    *("create_data_source", "update_data_source", "set_data_source_grants", "set_user_attributes"),
    *("create_policy", "replace_policy", "create_user", "reset_password", "change_password"),
    *("chat", "web_chat", "decide", "create_session", "write_memory", "read_memory"),
    *("session_events", "run_events", "web_chat_events", "list_usage"),
    *("create_agent", "update_agent"),  # names that are reserved
    *("put_skill", "erase_one_memory", "create_api_key"),
    *("add_user_mcp_server", "update_user_mcp_server", "set_user_mcp_credentials"),
    *("create_mcp_server", "update_mcp_server", "create_mcp_template", "replace_mcp_template"),
    *("get_mcp_allowlist", "replace_mcp_allowlist"),  # an address, places, one subject
    *("create_tenant", "replace_tenant"),  # 5.0 is an integer for JSON Schema, and none here
    "put_tenant_user",  # ids in the body must be those of the address
]
SETTINGS: dict[str, Any] = {
    "seed": 4,
    "continue-on-failure": True,
    "max-stream-events": 3,
    "request-timeout": 60,  # a machine may stand still for a while
    "generation": {"deterministic": True, "max-examples": 2, "no-shrink": True},
    "checks": {"enabled": True},
    "operations": [
        {"include-operation-id": ENDLESS, "request-timeout": 0.5},
        {
            "include-operation-id": NEED_A_SOURCE,
            "checks": {
                "not_a_server_error": {"expected-statuses": ["2xx", "4xx", 503]},
            },
        },
        {
            "include-operation-id": ASK_FOR_SENSE,
            "checks": {"positive_data_acceptance": {"enabled": False}},
        },
        {
            "include-operation-id": UNDER_AN_ID,
            "checks": {"allow_header_conformance": {"enabled": False}},
        },
    ],
}


def label_of(node: Any) -> str:
    """Method and path of a request; what holds it leaves its types open."""
    return node.value.operation.label


def failures(event: events.ScenarioFinished) -> Iterator[str]:
    """What a scenario found: which check, where, how to see it again."""
    for case_id, checks in event.recorder.checks.items():
        where = label_of(event.recorder.cases[case_id])
        for check in checks:
            if check.status == Status.FAILURE and check.failure_info is not None:
                failure = check.failure_info.failure
                yield f"{check.name} {where}: {failure.title} {failure.message}"
                yield check.failure_info.code_sample


@pytest.mark.parametrize("user", KEYS)
@requirement("R16.2", "R16.3", "R16.4", "P24", "P25")
def test_every_operation_keeps_its_word(start_server: Callable[..., LiveServer], user: str) -> None:
    live = start_server(multi_tenant=True, mcp_stdio="off")  # no program of any name is started
    own = {"headers": {"X-API-Key": KEYS[user]}, "phases": PHASES[user]}
    # takes any dict
    config = schemathesis.Config.from_dict(  # pyright: ignore[reportUnknownMemberType]
        {**SETTINGS, **own}
    )
    schema = schemathesis.openapi.from_url(f"{live.url}/openapi.json", config=config)
    found: list[str] = []
    asked: dict[str, int] = {}
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                found += failures(event)
                for node in event.recorder.cases.values():
                    asked[label_of(node)] = asked.get(label_of(node), 0) + 1
            case events.NonFatalError():
                found.append(f"{event.label}: {event.info.title} {event.info.message}")
            case events.FatalError():
                raise event.exception
            case _:
                pass
    assert not found, "\n".join(dict.fromkeys(found))
    assert len(asked) >= 70
    assert sum(asked.values()) > (2000 if user == "root" else 200)
