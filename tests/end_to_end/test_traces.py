"""One chat with a tool, an MCP call and a failing call, as the collectors were told of it."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import Server
from tests.requirements import requirement
from tests.standins.collector import Collector, attributes, collecting
from tests.standins.langsmith_runs import runs_of, tree
from tests.standins.langsmith_server import LangSmith, langsmith
from tests.standins.mcp_server import http_server

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = {
    "traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01",
    "baggage": "salary=private-baggage",
    "X-Request-Id": "asked-1",
}
SECRET = "hunter22-4f9a0c77"
KEYS = ["lsv2_pt_0123456789abcdef", "sk-lf-0123456789abcdef", "collector-0123456789"]
CHAT = f"""!tool think_tool {{"reflection": "private thought, password={SECRET}"}}
!tool site__add {{"a": 2, "b": 3}}
!tool sql_db_query {{"query": "SELECT COUNT(*) AS private_count FROM Customer"}}
!tool site__fail {{"why": "private reason"}}
!tool site__given {{}}
!echo A private answer."""


@dataclass
class Tracers:
    """Whoever is told: a collector, which an MCP server tells too, LangSmith, and Langfuse."""

    collector: Collector
    langsmith: LangSmith
    langfuse: Collector
    settings: dict[str, str] = field(default_factory=dict[str, str])

    def all_that_was_sent(self) -> bytes:
        return self.collector.raw + self.langsmith.raw + self.langfuse.raw


@pytest.fixture
def tracers(tmp_path: Path) -> Iterator[Tracers]:
    with (
        collecting() as collector,
        collecting() as langfuse,
        langsmith() as smith,
        http_server("--otlp", collector.url) as site,
    ):
        config = tmp_path / "mcp.json"
        entry = {
            "type": "http",
            "url": site.url,
            "read_only_tools": ["add", "fail", "given"],
        }
        config.write_text(json.dumps({"mcpServers": {"site": entry}}))
        yield Tracers(
            collector,
            smith,
            langfuse,
            {
                "DATAAGENT_MCP_CONFIG": str(config),
                "DATAAGENT_MCP_WAIT": "60",
                "DATAAGENT_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
                "DATAAGENT_SAMPLE_DATA": "true",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
                "OTEL_EXPORTER_OTLP_HEADERS": f"x-key={KEYS[2]}",
                "LANGSMITH_TRACING": "true",
                "LANGSMITH_ENDPOINT": smith.url,
                "LANGSMITH_API_KEY": KEYS[0],
                "LANGSMITH_PROJECT": "shop",
                "LANGFUSE_BASE_URL": langfuse.url,
                "LANGFUSE_PUBLIC_KEY": "pk-lf-public",
                "LANGFUSE_SECRET_KEY": KEYS[1],
            },
        )


async def chat(server: Server) -> dict[str, Any]:
    """Ask for it as a caller who traces, and end the server so that all is sent."""
    async with server.http() as http:
        asked = http.post("/api/v1/chat", json={"message": CHAT}, headers=CALLER)
        async with asked as answer:
            assert answer.status == 200, await answer.text()
            told = await answer.json()
    await server.signal(signal.SIGTERM)
    return told


WHOSE = ("dataagent.run_id", "dataagent.request_id", "user.id", "langfuse.environment")
EVERYWHERE = rf"^({'|'.join(WHOSE)}|session.id|gen_ai.conversation.id|jsonrpc.request.id)$"


SPANS = snapshot("""\
POST /api/v1/chat [dataagent server]
  . http.request.method = POST
  . http.response.status_code = 200
  . http.route = /api/v1/chat
  invoke_agent agent [dataagent internal]
    . gen_ai.agent.name = agent
    . gen_ai.operation.name = invoke_agent
    . gen_ai.usage.input_tokens = <count>
    . gen_ai.usage.output_tokens = <count>
    . langfuse.internal.as_root = True
    . langfuse.trace.name = invoke_agent agent
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>
    execute_tool think_tool [dataagent internal]
      . gen_ai.operation.name = execute_tool
      . gen_ai.tool.call.id = call_<hex>_0
      . gen_ai.tool.name = think_tool
      . gen_ai.tool.type = function
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>
    execute_tool site__add [dataagent internal]
      . gen_ai.operation.name = execute_tool
      . gen_ai.tool.call.id = call_<hex>_0
      . gen_ai.tool.name = site__add
      . gen_ai.tool.type = function
      tools/call add [dataagent client]
        . dataagent.mcp.attempts = 1
        . dataagent.mcp.call_id = <hex>
        . dataagent.mcp.input_valid = True
        . dataagent.mcp.schema_version = 1
        . dataagent.mcp.server_id = file:site
        . gen_ai.agent.id = general
        . gen_ai.operation.name = execute_tool
        . gen_ai.tool.name = add
        . mcp.method.name = tools/call
        . mcp.protocol.version = 2026-07-28
        tools/call add [standin server]
          . gen_ai.operation.name = execute_tool
          . gen_ai.tool.name = add
          . mcp.method.name = tools/call
          . mcp.protocol.version = 2026-07-28
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>
    execute_tool sql_db_query [dataagent internal]
      . gen_ai.operation.name = execute_tool
      . gen_ai.tool.call.id = call_<hex>_0
      . gen_ai.tool.name = sql_db_query
      . gen_ai.tool.type = function
      sql.query chinook [dataagent client]
        . db.namespace = chinook
        . db.response.returned_rows = 1
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>
    execute_tool site__fail [dataagent internal] FAILED
      . error.type = error
      . gen_ai.operation.name = execute_tool
      . gen_ai.tool.call.id = call_<hex>_0
      . gen_ai.tool.name = site__fail
      . gen_ai.tool.type = function
      tools/call fail [dataagent client] FAILED
        . dataagent.mcp.attempts = 1
        . dataagent.mcp.call_id = <hex>
        . dataagent.mcp.input_valid = True
        . dataagent.mcp.schema_version = 1
        . dataagent.mcp.server_id = file:site
        . error.type = MCP_TOOL_ERROR
        . gen_ai.agent.id = general
        . gen_ai.operation.name = execute_tool
        . gen_ai.tool.name = fail
        . mcp.method.name = tools/call
        . mcp.protocol.version = 2026-07-28
        tools/call fail [standin server] FAILED
          . error.type = tool_error
          . gen_ai.operation.name = execute_tool
          . gen_ai.tool.name = fail
          . mcp.method.name = tools/call
          . mcp.protocol.version = 2026-07-28
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>
    execute_tool site__given [dataagent internal]
      . gen_ai.operation.name = execute_tool
      . gen_ai.tool.call.id = call_<hex>_0
      . gen_ai.tool.name = site__given
      . gen_ai.tool.type = function
      tools/call given [dataagent client]
        . dataagent.mcp.attempts = 1
        . dataagent.mcp.call_id = <hex>
        . dataagent.mcp.input_valid = True
        . dataagent.mcp.schema_version = 1
        . dataagent.mcp.server_id = file:site
        . gen_ai.agent.id = general
        . gen_ai.operation.name = execute_tool
        . gen_ai.tool.name = given
        . mcp.method.name = tools/call
        . mcp.protocol.version = 2026-07-28
        tools/call given [standin server]
          . gen_ai.operation.name = execute_tool
          . gen_ai.tool.name = given
          . mcp.method.name = tools/call
          . mcp.protocol.version = 2026-07-28
    chat scripted [dataagent client]
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = scripted
      . gen_ai.request.model = scripted
      . gen_ai.usage.input_tokens = <count>
      . gen_ai.usage.output_tokens = <count>\
""")

LANGSMITH_RUNS = snapshot("""\
invoke_agent agent [chain]
  main [chain]
    model [chain]
      ScriptedChatModel [llm]
    tools [chain]
      think_tool [tool]
    model [chain]
      ScriptedChatModel [llm]
    tools [chain]
      site__add [tool]
    model [chain]
      ScriptedChatModel [llm]
    tools [chain]
      sql_db_query [tool]
    model [chain]
      ScriptedChatModel [llm]
    tools [chain]
      site__fail [tool] FAILED error
    model [chain]
      ScriptedChatModel [llm]
    tools [chain]
      site__given [tool]
    model [chain]
      ScriptedChatModel [llm]\
""")

LANGFUSE_SPANS = snapshot("""\
invoke_agent agent [dataagent internal]
  . langfuse.internal.as_root = True
  . langfuse.trace.name = invoke_agent agent
  chat scripted [dataagent client]
  execute_tool think_tool [dataagent internal]
  chat scripted [dataagent client]
  execute_tool site__add [dataagent internal]
    tools/call add [dataagent client]
  chat scripted [dataagent client]
  execute_tool sql_db_query [dataagent internal]
    sql.query chinook [dataagent client]
  chat scripted [dataagent client]
  execute_tool site__fail [dataagent internal] FAILED
    tools/call fail [dataagent client] FAILED
  chat scripted [dataagent client]
  execute_tool site__given [dataagent internal]
    tools/call given [dataagent client]
  chat scripted [dataagent client]\
""")


@requirement("R28.1", "R28.2", "R22.5")
async def test_one_chat_is_one_trace_at_every_tracer_and_the_mcp_server(
    tracers: Tracers, start_server: StartServer
) -> None:
    told = await chat(await start_server(**tracers.settings))
    ours = tracers.collector.of_trace(TRACE_ID)
    assert ours.tree(hidden=EVERYWHERE) == SPANS
    check_whose(ours, told)
    check_langsmith(tracers, told)
    check_langfuse(tracers)
    assert KEYS[2] in {headers.get("x-key") for headers in tracers.collector.headers}
    result = next(e for e in told["events"] if e["data"].get("result", "").endswith("traceparent"))
    assert "baggage" not in result["data"]["result"]
    for private in ("private", SECRET, *KEYS):
        assert private.encode() not in tracers.all_that_was_sent()


def check_whose(ours: Collector, told: dict[str, Any]) -> None:
    [request] = [span for span in ours.spans if span.parent_span_id.hex() == SPAN_ID]
    assert request.name == "POST /api/v1/chat"
    for span in ours.spans:
        if span is not request and ours.service_of[span.span_id] == "dataagent":
            whose = [attributes(span)[name] for name in WHOSE]
            assert whose == [told["run_id"], "asked-1", "alice", "default"]


def check_langsmith(tracers: Tracers, told: dict[str, Any]) -> None:
    runs = runs_of(tracers.langsmith)
    assert tree(runs) == LANGSMITH_RUNS
    [root] = [run for run in runs.values() if run.fields.get("parent_run_id") is None]
    assert root.fields["session_name"] == "shop"
    named = ("user_id", "run_id", "session_id", "trace_id")
    assert {name: root.metadata[name] for name in named} == {
        "user_id": "alice",
        "run_id": told["run_id"],
        "session_id": told["session_id"],
        "trace_id": TRACE_ID,
    }


def check_langfuse(tracers: Tracers) -> None:
    assert tracers.langfuse.paths == {"/api/public/otel/v1/traces"}
    assert tracers.langfuse.tree(hidden=r"^(?!langfuse.(trace|internal))") == LANGFUSE_SPANS
    key = base64.b64encode(f"pk-lf-public:{KEYS[1]}".encode()).decode()
    assert tracers.langfuse.headers[0]["authorization"] == f"Basic {key}"


@pytest.mark.slow
async def test_what_was_said_is_traced_on_demand_and_without_secrets(
    tracers: Tracers, start_server: StartServer
) -> None:
    await chat(await start_server(**tracers.settings, DATAAGENT_TRACE_CONTENT="true"))
    for sent in (tracers.collector, tracers.langsmith, tracers.langfuse):
        for said in ("private thought", "private_count", "A private answer."):
            assert said.encode() in sent.raw, said
    for secret in (SECRET, *KEYS, "private-baggage"):
        assert secret.encode() not in tracers.all_that_was_sent(), secret
    [run] = [span for span in tracers.collector.spans if span.name == "invoke_agent agent"]
    said = attributes(run)
    assert json.loads(said["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "A private answer."}]}
    ]
    [query] = [span for span in tracers.langfuse.spans if span.name == "sql.query chinook"]
    assert attributes(query)["db.query.text"] == (
        'SELECT COUNT(*) AS private_count FROM "Customer"'
    )
