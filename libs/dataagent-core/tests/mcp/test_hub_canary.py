"""Secrets and arguments of calls leave no trace where others read."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Generator

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.audit import AuditFilter
from dataagent_core.config import Settings
from dataagent_core.events import AnyEvent, ErrorEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.telemetry import configure_logging
from tests.requirements import requirement
from tests.standins.collector import attributes, collecting
from tests.standins.langsmith_server import langsmith

from .hub.shop import Program, Shop, Talk, told

IN_ENV = "canary-env-3a81f0"
IN_HEADER = "canary-header-77b1c2"
IN_URL = "canary-url-5e0c93"
IN_ARGUMENT = "canary-argument-90dd4e"
SECRETS = (IN_ENV, IN_HEADER, IN_URL)
ALL = (*SECRETS, IN_ARGUMENT)
CALLS = (
    told("program__env"),
    told("program__fail", text=IN_ARGUMENT),
    told("program__slow", seconds=IN_ARGUMENT),
    told("site__fail", text=IN_ARGUMENT),
    told("site__mall4j_product_search", text=IN_ARGUMENT),
    told("program__die", text=IN_ARGUMENT),
    told("program__mall4j_product_search", text=IN_ARGUMENT),
    told("nobody__knows", text=IN_ARGUMENT),
)


@pytest.fixture
def logged() -> Generator[io.StringIO]:
    """All that the process logs, down to the last detail."""
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure_logging(Settings(log_level="DEBUG"), stream=stream)
    yield stream
    root.handlers[:] = kept
    root.setLevel(level)


async def everything_written(shop: Shop) -> str:
    """What administrators can read afterwards."""
    audit = shop.core.observers.audit
    await audit.flush()
    rows, _ = await audit.list(AuditFilter(), limit=1000)
    return repr(rows) + repr(await shop.calls())


async def planted(shop: Shop, mall: Program) -> Talk:
    """A talk of someone who may use two servers that hold secrets."""
    program = await shop.add("program", env={"SHOP_TOKEN": IN_ENV})
    site = await shop.add(
        "site",
        url=f"{mall.url}?key={IN_URL}",
        transport="streamable_http",
        headers={"Authorization": f"Bearer {IN_HEADER}"},
    )
    for spec in (program, site):
        tools = shop.core.mcp.catalogue.tools_of(spec.server_id)
        await shop.bind(spec, *(tool.name for tool in tools))
    return await shop.talk()


def results_of(events: list[AnyEvent]) -> list[str]:
    return [str(event.result) for event in events if isinstance(event, ToolResultEvent)]


@pytest.mark.slow
@requirement("M5.4", "M5.3")
async def test_secrets_and_arguments_are_in_no_log_no_audit_no_error_and_no_trace(
    mall: Program, make_settings: Callable[..., Settings], logged: io.StringIO
) -> None:
    with collecting() as collector:
        settings = make_settings(otel_exporter_otlp_endpoint=collector.url)
        async with open_core(settings, grace_seconds=2) as core:
            shop = Shop(core)
            talk = await planted(shop, mall)
            events = await talk.ask("\n".join(CALLS))
            await approved(talk, told("site__order_cancel", orderId=IN_ARGUMENT))
            written = await everything_written(shop)
    results = results_of(events)
    assert len(results) == len(CALLS)
    assert "SHOP_TOKEN=••••" in results[0]
    assert not [secret for secret in SECRETS if secret in "".join(results)]
    errors = repr([event for event in events if isinstance(event, ErrorEvent)])
    assert "program__fail" in written
    assert "order.cancel" in written
    assert "'orderId': 'string (22)'" in written  # what kind of argument, and how long
    named = [attributes(span) for span in collector.spans]
    calls = [each for each in named if "dataagent.mcp.call_id" in each]
    assert len(calls) == len(CALLS)  # one is no tool's, one was approved
    for canary in ALL:
        assert canary not in written
        assert canary not in errors
        assert canary not in logged.getvalue()
        assert canary.encode() not in collector.raw


@pytest.mark.slow
@requirement("M5.4")
@pytest.mark.parametrize("has_content", [False, True])
async def test_secrets_are_not_in_what_langsmith_is_sent(
    mall: Program, make_settings: Callable[..., Settings], has_content: bool
) -> None:
    """Whoever wants content sends it what is said, arguments too, and no server's secret."""
    with langsmith() as found:
        settings = make_settings(
            langsmith_tracing=True,
            langsmith_api_key="lsv2_pt_0123456789",
            langsmith_endpoint=found.url,
            trace_content=has_content,
        )
        async with open_core(settings, grace_seconds=2) as core:
            talk = await planted(Shop(core), mall)
            events = await talk.ask("\n".join(CALLS))
    assert len(results_of(events)) == len(CALLS)
    assert b"program__fail" in found.raw
    assert (IN_ARGUMENT.encode() in found.raw) is has_content
    assert not [secret for secret in SECRETS if secret.encode() in found.raw]


async def approved(talk: Talk, message: str) -> None:
    run = await talk.start(message, auto_approve=False)
    request = await talk.request(run)
    await talk.decide(run, request.request_id, Decision("approve"))
    await talk.events(run)
