"""Seed 003: which agents there are, what each can do, and which one a message goes to."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import dataagent_core.agents
from dataagent_core.agents import get_all_tools, register_agent
from dataagent_core.agents.registration import unregister_agent
from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Endpoint,
    Json,
    Sent,
    Web,
    call,
    chat,
    conversation,
    endpoint,
    items,
    named,
    offered,
    ok,
    outputs,
    running,
    text,
    words_of,
)
from tests.end_to_end.server import Server
from tests.programs import programs
from tests.source import ROOT
from tests.standins.openai_server import text as said

PYTHON = call("execute_python", code="print(6 * 7)")
TABLES = call("sql_db_list_tables")
PACKAGED = "You write haiku about ships."
AS_WORD = "You are the second package. Answer in one word."


class Tavily(BaseHTTPRequestHandler):
    """Stands for the search service and for the page it finds."""

    searches: ClassVar[list[Json]] = []
    score: ClassVar[float] = 0.1
    has_pages: ClassVar[bool] = True

    def do_POST(self) -> None:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.searches.append({**body, "path": self.path, "key": self.headers["Authorization"]})
        host = f"http://{self.headers['Host']}" if self.has_pages else "http://127.0.0.1:1"
        number = len(self.searches)
        found = [
            {"title": f"Ships {each}", "url": f"{host}/page{number}{each}", "content": "Ships."}
            | {"score": self.score}
            for each in "abc"
        ]
        self._answer(json.dumps({"results": found}), "application/json")

    def do_GET(self) -> None:
        page = "<html><body><h1>All ships</h1><p>They <b>sail</b>.</p></body></html>"
        self._answer(page, "text/html; charset=utf-8")

    def _answer(self, content: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its own name
        """Nothing."""


@contextmanager
def tavily() -> Generator[str]:
    """The address of such a service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tavily)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    folder = tmp_path_factory.mktemp("agents")
    packages = folder / "packages"
    for name, prompt in (("my-agent", PACKAGED), ("second-agent", AS_WORD)):
        (packages / name).mkdir(parents=True)
        (packages / name / "AGENTS.md").write_text(prompt, encoding="utf-8")
    skill = packages / "my-agent" / "skills" / "haiku-form"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: haiku-form\ndescription: When a haiku is asked for.\n---\n# Form\n\n5-7-5.\n",
        encoding="utf-8",
    )
    with tavily() as address:
        settings = {
            "DATAAGENT_SAMPLE_DATA": "true",
            "DATAAGENT_PACKAGES_DIRS": str(packages),
            "TAVILY_API_KEY": "tvly-key",
            "TAVILY_BASE_URL": address,
        }
        with running(folder / "server", **settings) as started:
            yield started


@pytest.fixture(scope="module")
def recording_model(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Web, Endpoint]]:
    """A server whose model remembers what it was told and which tools it was offered."""
    settings = {"TAVILY_API_KEY": "tvly-key", "DATAAGENT_SAMPLE_DATA": "true"}
    with endpoint(said("Fine.")) as model:
        folder = tmp_path_factory.mktemp("told") / "server"
        with running(folder, **model.settings, **settings) as started:
            yield started, model


def asked_of(recording_model: tuple[Web, Endpoint], message: str, **fields: Any) -> Json:
    """The first request that a message makes to the model."""
    web, model = recording_model
    before = len(model.requests)
    chat(web.admin, message, **fields)
    return model.seen[before]


def is_of(events: list[Sent], tool: str) -> bool:
    """Whether the agent that answered has a tool that it called, and it worked."""
    return {each["status"] for each in outputs(events, tool)} == {"success"}


# -- 3.4, 2.2.2: the registry ---------------------------------------------------------------


@states("003 §3.4", "GET /api/agents 列出已注册 Agent")
@states("003 §2.2.2", "AgentEntry.name", "AgentEntry.description", "AgentEntry.icon (前端图标)")
def test_the_agents_are_listed(web: Web) -> None:
    found = {each["name"]: each for each in items(web.stranger.get("/api/agents"))}
    assert {"general", "research", "sql", "content-writer"} <= found.keys()
    for each in found.values():
        assert each["description"]
        assert each["icon"]


@states("003 §2.2.2", "AgentEntry.show_in_selector 是否在 UI 选择器中显示")
def test_an_agent_that_is_not_shown_is_not_in_the_selector(web: Web) -> None:
    body = {"name": "back-office", "description": "Hidden.", "show_in_selector": False}
    made = ok(web.admin.post("/api/v1/agents", json=body))
    assert made["show_in_selector"] is False
    for client in (web.admin, web.person("dora")):
        assert "back-office" not in [each["name"] for each in items(client.get("/api/agents"))]
    shown = {**body, "name": "front-office", "show_in_selector": True}
    ok(web.admin.post("/api/v1/agents", json=shown))
    assert "front-office" in [each["name"] for each in items(web.admin.get("/api/agents"))]


@states("003 §2.2.2", "general Agent 必须最后构建（收集所有其他 Agent 的工具）")
def test_general_is_the_last_agent(web: Web) -> None:
    assert [each["name"] for each in items(web.stranger.get("/api/agents"))][-1] == "general"


@states(
    "003 §2.2.2",
    "@dataclass AgentEntry(name, description, graph, tools, icon, show_in_selector)",
)
def test_an_agent_entry_has_these_fields() -> None:
    entry: Any = getattr(dataagent_core.agents, "AgentEntry", None)
    assert dataclasses.is_dataclass(entry)
    assert [each.name for each in dataclasses.fields(entry)][:6] == [
        *("name", "description", "graph", "tools", "icon", "show_in_selector"),
    ]


@states("003 §8.1", "register_agent(name=, description=, graph=, tools=, icon=)")
def test_register_agent_takes_these_arguments() -> None:
    register: Any = getattr(dataagent_core.agents, "register_agent", None)
    assert callable(register)
    parameters = inspect.signature(register).parameters
    assert {"name", "description", "graph", "tools", "icon"} <= parameters.keys()
    others = parameters.keys() - {"name", "description", "graph", "tools", "icon"}
    assert all(parameters[each].default is not inspect.Parameter.empty for each in others)


@states("003 §2.2.3", "get_all_tools(): the tools of the agents that were registered")
def test_get_all_tools_collects_the_tools_of_registered_agents() -> None:
    def tell_tide(port: str) -> str:
        """The tide of a port."""
        return f"High in {port}."

    register_agent("harbour", "Knows harbours.", graph=object(), tools=[tell_tide], icon="ship")
    try:
        [tide] = [each for each in get_all_tools() if each.name == "tell_tide"]
        assert tide.invoke({"port": "Genoa"}) == "High in Genoa."
    finally:
        unregister_agent("harbour")


REGISTERING = '''
"""A program that adds an agent and starts the server."""
import itertools
import runpy
import sys

from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from dataagent_core.agents import register_agent


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self


@tool
def tell_weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


_agent = create_deep_agent(
    model=Model(messages=(AIMessage("I am the weather agent.") for _ in itertools.count())),
    tools=[tell_weather],
    system_prompt="You know the weather.",
    name="weather",
)

register_agent(
    name="weather",
    description="Knows the weather.",
    graph=_agent,
    tools=[tell_weather],
    icon="sun",
)
sys.argv = ["dataagent-server", "serve"]
runpy.run_module("dataagent_server", run_name="__main__", alter_sys=True)
'''


class Extended(Server):
    """A server that is started by a program of the user's own."""

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        program = self.home / "weather.py"
        program.write_text(REGISTERING, encoding="utf-8")
        env = {**os.environ, **self._env}
        self._program = programs().start(["python", str(program)], env=env, log=self.log)
        await self.wait_ready()


@states(
    "003 §2.2.2",
    "各 Agent 模块导入时调用 register_agent()",
    "AgentEntry.graph: LangGraph 编译图 answers when the agent is chosen",
    "AgentEntry.tools: collected by general",
)
@states(
    "003 §8.1",
    "a registered agent is listed with its icon and shown in the selector by default",
    "loaded before general is built: general has its tools",
)
@states("003 §8.4", "使用 @tool 装饰器定义工具", "注册 Agent 时添加到 tools 列表")
def test_a_program_registers_an_agent_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "server"
    home.mkdir()
    web = Web(Extended(home, ADMIN_USERNAME="chief", ADMIN_PASSWORD="correct horse"))
    try:
        web.start()
        listed = items(web.stranger.get("/api/agents"))
        [weather] = [each for each in listed if each["name"] == "weather"]
        assert (weather["description"], weather["icon"]) == ("Knows the weather.", "sun")
        assert listed[-1]["name"] == "general"
        assert text(chat(web.admin, "hello", agent="weather")) == "I am the weather agent."
        routed = chat(web.admin, call("route", agent_name="weather", task_description="x"))
        assert text(routed) == "I am the weather agent."
        [result] = outputs(
            chat(web.admin, call("tell_weather", city="Rome"), agent="general"), "tell_weather"
        )
        assert "Sunny in Rome." in str(result["output"])
    finally:
        web.close()


# -- 2.2.1: the rules -----------------------------------------------------------------------


@states("003 §2.2.1", "规则 1：消息包含 [ROUTE_TO: agent_name] → 立即路由到指定 Agent")
def test_route_to_names_the_agent(web: Web) -> None:
    for message in (f"[ROUTE_TO: sql]\n{TABLES}", f"{TABLES}\nplease [ROUTE_TO: sql] now"):
        events = chat(web.person("dora"), message)
        [result] = outputs(events, "sql_db_list_tables")
        assert result["status"] == "success"
    events = chat(web.person("dora"), f"[ROUTE_TO: research]\n{TABLES}")
    assert not is_of(events, "sql_db_list_tables")  # research has no such tool


@states("003 §2.2.1", "按优先级：规则 1 before 规则 2 and 规则 3")
def test_a_named_agent_comes_before_files_and_skills(web: Web) -> None:
    message = f"[SKILL: x] [用户上传了以下文件] [ROUTE_TO: sql]\n{PYTHON}\n{TABLES}"
    events = chat(web.person("dora"), message)
    assert not is_of(events, "execute_python")  # sql has no such tool
    assert is_of(events, "sql_db_list_tables")


@states("003 §2.2.1", '规则 2：消息包含 [用户上传了以下文件] → "general"')
def test_a_message_with_files_goes_to_general(web: Web) -> None:
    events = chat(web.person("dora"), f"look [用户上传了以下文件] a.txt\n{PYTHON}")
    assert "general" in str(named(events, "thinking"))
    assert is_of(events, "execute_python")


@states("003 §2.2.1", '规则 3：消息以 [SKILL:] 开头 → "general"')
def test_a_message_that_begins_with_a_skill_goes_to_general(web: Web) -> None:
    for mark in ("[SKILL:]", "[SKILL: sql-review]", "[SKILL:sql-review]"):
        events = chat(web.person("dora"), f"{mark} do it\n{PYTHON}")
        assert "general" in str(named(events, "thinking"))
        assert is_of(events, "execute_python")
    assert named(chat(web.person("dora"), "do it [SKILL:]"), "thinking") == []


@states(
    "003 §2.2.1",
    "规则 4：简单问题 → Supervisor 直接回答",
    "直接回答 — 简单问候、常识问题、数学计算",
)
@states("003 §5.1", "直接回答 → 流式文本")
def test_a_simple_question_is_answered_directly(web: Web) -> None:
    events = chat(web.person("dora"), "!echo Four.")
    assert text(events) == "Four."
    assert {each.event for each in events} == {"text_delta", "done"}


@states(
    "003 §2.2.1",
    "规则 5：任务明确匹配某个专业 Agent → 路由到该 Agent",
    "route() 工具跳转到对应子图",
)
@states("003 §5.1", "route() → 专业 Agent")
def test_route_hands_over_to_a_specialist(web: Web) -> None:
    handing = call("route", agent_name="sql", task_description="list the tables")
    events = chat(web.person("dora"), f"{handing}\n{TABLES}")
    [result] = outputs(events, "sql_db_list_tables")
    assert result["status"] == "success"
    assert not is_of(chat(web.person("dora"), f"{handing}\n{PYTHON}"), "execute_python")


@states("003 §2.2.1", '规则 6：复杂/跨域任务 → 路由到 "general"（编排器）')
def test_route_hands_over_to_general(web: Web) -> None:
    handing = call("route", agent_name="general", task_description="several things")
    assert is_of(chat(web.person("dora"), f"{handing}\n{PYTHON}"), "execute_python")


@states("003 §2.2.1", "规则 7：模糊请求 → 向用户澄清 (the model is told so)")
def test_the_model_is_instructed_to_ask_what_is_meant(
    recording_model: tuple[Web, Endpoint],
) -> None:
    prompt = words_of(asked_of(recording_model, "Do the thing."), "system")
    assert re.search(r"could mean different things.*: ask the user what is meant", prompt)


@states(
    "003 §2.2.1",
    "规则 4、5、6 (the model is told so): answer, a specialist, general for what is complex",
)
def test_the_model_is_instructed_when_to_answer_and_when_to_route(
    recording_model: tuple[Web, Endpoint],
) -> None:
    prompt = " ".join(words_of(asked_of(recording_model, "Do the thing."), "system").split())
    assert re.search(r"greeting, .*common knowledge or simple arithmetic: answer yourself", prompt)
    assert re.search(r"clearly fits one of the agents below: call `route` with its name", prompt)
    assert re.search(r"complex, needs several of them.*: route to `general`", prompt)


@states("003 §2.2.1", "route(agent_name: str, task_description: str)")
@states("003 §2.2.2", "description 能力描述（用于路由决策）: the model reads each agent's")
def test_the_model_is_offered_route_with_the_agents(
    recording_model: tuple[Web, Endpoint],
) -> None:
    body = asked_of(recording_model, "Do the thing.")
    parameters = offered(body)["route"]["parameters"]
    assert parameters["properties"]["agent_name"]["type"] == "string"
    assert parameters["properties"]["task_description"]["type"] == "string"
    assert set(parameters["required"]) == {"agent_name", "task_description"}
    known = json.dumps(body, ensure_ascii=False)
    for agent in items(recording_model[0].stranger.get("/api/agents")):
        assert agent["name"] in known
        assert json.dumps(agent["description"], ensure_ascii=False).strip('"') in known


@states("003 §5.1", "events of a routed agent say which agent speaks")
def test_events_of_a_routed_agent_carry_its_name(web: Web) -> None:
    handing = call("route", agent_name="sql", task_description="list the tables")
    for message in (f"{handing}\n{TABLES}\n!echo Done.", f"[ROUTE_TO: sql]\n{TABLES}"):
        events = chat(web.person("dora"), message)
        spoken = [*named(events, "tool_call_start"), *named(events, "text_delta")]
        assert {each.get("agent") for each in spoken} == {"sql"}


# -- 2.2.3: general -------------------------------------------------------------------------


@states(
    "003 §2.2.3",
    "工具 activate_skill",
    "工具 execute_python",
    "工具 execute_python_with_file",
    "工具 read_uploaded_file",
    "委托执行 — task() 工具",
)
def test_general_has_these_tools(recording_model: tuple[Web, Endpoint]) -> None:
    tools = offered(asked_of(recording_model, "hello", agent="general"))
    assert {
        *("activate_skill", "execute_python", "execute_python_with_file"),
        *("read_uploaded_file", "task"),
    } <= tools.keys()


@states("003 §2.2.3", "所有其他 Agent 的工具 (get_all_tools())", "可调用所有其他 Agent 的工具")
def test_general_has_the_tools_of_all_others(recording_model: tuple[Web, Endpoint]) -> None:
    general = offered(asked_of(recording_model, "hello", agent="general")).keys()
    others = [each["name"] for each in items(recording_model[0].admin.get("/api/agents"))]
    for agent in set(others) - {"general"}:
        its = offered(asked_of(recording_model, "hello", agent=agent)).keys()
        assert its <= general, agent


@states("003 §2.2.3", "可委托子任务给专业 Agent", "直接执行 — 使用工具处理简单子任务")
def test_general_delegates_to_a_specialist(web: Web) -> None:
    given = call("task", description=TABLES, subagent_type="sql")
    events = chat(web.person("dora"), f"{PYTHON}\n{given}", agent="general")
    assert [each["name"] for each in named(events, "tool_call_start")] == [
        *("execute_python", "task", "sql_db_list_tables"),
    ]
    assert all(each["status"] == "success" for each in named(events, "tool_call_result"))


# -- 2.2.4, 8.2: agents as packages ---------------------------------------------------------


@states(
    "003 §2.2.4",
    "packages/content-writer/AGENTS.md",
    "packages/content-writer/skills/blog-post/SKILL.md",
    "packages/content-writer/skills/social-media/SKILL.md",
)
def test_the_content_writer_is_a_package_of_these_files() -> None:
    package = ROOT / "packages" / "content-writer"
    assert (package / "AGENTS.md").is_file()
    for skill in ("blog-post", "social-media"):
        assert (package / "skills" / skill / "SKILL.md").is_file()


@states(
    "003 §2.2.4",
    "从 packages/ 目录自动加载 Agent 包",
    "AGENTS.md 是系统提示",
    "skills/ 目录：the package's own skills",
)
def test_the_content_writer_is_loaded_with_its_prompt_and_skills(web: Web) -> None:
    agent = ok(web.admin.get("/api/v1/agents/content-writer"))
    prompt = (ROOT / "packages/content-writer/AGENTS.md").read_text(encoding="utf-8")
    last = prompt.strip().splitlines()[-1].strip()
    assert last in agent["system_prompt"]
    skills = items(web.person("dora").get("/api/skills", params={"agent": "content-writer"}))
    assert {"blog-post", "social-media"} <= {each["name"] for each in skills}


@states(
    "003 §8.2",
    "packages/my-agent/AGENTS.md (plain text) 启动时自动加载",
    "可选 packages/my-agent/skills/<skill>/SKILL.md",
)
@states("003 §2.2.4", "skills/ 目录可选")
def test_a_folder_with_agents_md_is_an_agent(web: Web) -> None:
    client = web.person("dora")
    found = [each["name"] for each in items(client.get("/api/agents"))]
    assert {"my-agent", "second-agent"} <= set(found)
    for name, prompt in (("my-agent", PACKAGED), ("second-agent", AS_WORD)):
        assert prompt in ok(web.admin.get(f"/api/v1/agents/{name}"))["system_prompt"]
        assert text(chat(client, "!echo I am here.", agent=name)) == "I am here."
    skills = items(client.get("/api/skills", params={"agent": "my-agent"}))
    assert "haiku-form" in [each["name"] for each in skills]
    others = items(client.get("/api/skills", params={"agent": "second-agent"}))
    assert "haiku-form" not in [each["name"] for each in others]


# -- 2.2.5.1: research ----------------------------------------------------------------------


@states("003 §2.2.5.1", "工具 tavily_search", "工具 think_tool")
def test_research_has_these_tools(recording_model: tuple[Web, Endpoint]) -> None:
    assert {"tavily_search", "think_tool"} <= offered(
        asked_of(recording_model, "hello", agent="research")
    ).keys()


@states("003 §2.2.5.1", "tavily_search：Tavily API 搜索 + 网页内容抓取转 Markdown")
@states("003 §9.1", "TAVILY_API_KEY Tavily 搜索 API 密钥")
def test_tavily_search_searches_and_reads_the_pages(web: Web) -> None:
    Tavily.searches.clear()
    Tavily.has_pages = True
    events = chat(web.person("dora"), call("tavily_search", query="ships"), agent="research")
    [result] = outputs(events, "tavily_search")
    [search] = Tavily.searches
    assert (search["path"], search["query"]) == ("/search", "ships")
    assert search["key"] == "Bearer tvly-key"
    assert "# All ships" in result["output"]
    assert "They **sail**." in result["output"]


@states("003 §2.2.5.1", "think_tool：研究过程反思工具")
def test_think_tool_takes_a_reflection(web: Web) -> None:
    events = chat(web.person("dora"), call("think_tool", reflection="one gap"), agent="research")
    assert "one gap" in str(named(events, "thinking"))
    assert named(events, "error") == []


def searches(web: Web, *arguments: Json, score: float = 0.1) -> int:
    """How many of these searches reach the service."""
    Tavily.searches.clear()
    Tavily.score, Tavily.has_pages = score, False
    message = "\n".join(call("tavily_search", **each) for each in arguments)
    chat(web.person("dora"), message, agent="research")
    return len(Tavily.searches)


@states("003 §2.2.5.1", "简单查询：最多 2-3 次搜索")
def test_a_simple_question_has_three_searches(web: Web) -> None:
    assert searches(web, *({"query": f"ships {each}"} for each in range(5))) == 3


@states("003 §2.2.5.1", "复杂查询：最多 5 次搜索")
def test_a_complex_question_has_five_searches(web: Web) -> None:
    parts = ({"query": f"ships {each}", "aspect": f"part {each}"} for each in range(7))
    assert searches(web, *parts) == 5


@states("003 §2.2.5.1", "找到 3+ 相关来源后停止")
def test_three_relevant_sources_are_enough(web: Web) -> None:
    assert searches(web, *({"query": f"ships {each}"} for each in range(3)), score=0.9) == 1


@states(
    "003 §2.2.5.1", "生成带引用的研究报告", "当前事件和主题比较 / 网页搜索: said in its description"
)
def test_research_is_instructed_to_cite(recording_model: tuple[Web, Endpoint]) -> None:
    prompt = words_of(asked_of(recording_model, "hello", agent="research"), "system")
    assert "[1]" in prompt
    assert "sources" in prompt
    agents = {each["name"]: each for each in items(recording_model[0].admin.get("/api/agents"))}
    for word in ("web", "compare", "sources"):
        assert word in agents["research"]["description"].lower()


@states("003 §2.2.5.1", "绑定 Skills：pdf, web-scraping")
def test_research_has_the_skills_pdf_and_web_scraping(web: Web) -> None:
    skills = items(web.person("dora").get("/api/skills", params={"agent": "research"}))
    assert {"pdf", "web-scraping"} <= {each["name"] for each in skills}


# -- 2.2.5.2: SQL ---------------------------------------------------------------------------


@states("003 §2.2.5.2", "Chinook 支持表：artists, albums, tracks, customers, invoices, employees")
@states("003 §1", "Chinook SQLite（示例数据）")
def test_the_sample_database_is_chinook(web: Web) -> None:
    [result] = outputs(chat(web.person("dora"), TABLES, agent="sql"), "sql_db_list_tables")
    assert result["status"] == "success"
    for table in ("Artist", "Album", "Track", "Customer", "Invoice", "Employee"):
        assert re.search(rf"\b{table}s?\b", result["output"], re.IGNORECASE)


@states(
    "003 §2.2.5.2",
    "工具 sql_db_list_tables",
    "工具 sql_db_schema",
    "工具 sql_db_query",
    "工具 sql_db_query_checker",
)
def test_sql_has_the_standard_tools(recording_model: tuple[Web, Endpoint]) -> None:
    assert {
        *("sql_db_list_tables", "sql_db_schema", "sql_db_query", "sql_db_query_checker"),
    } <= offered(asked_of(recording_model, "hello", agent="sql")).keys()


@states("003 §2.2.5.2", "sql_db_list_tables(tool_input=“”) as in the standard toolkit")
def test_list_tables_takes_the_toolkits_argument(web: Web) -> None:
    events = chat(web.person("dora"), call("sql_db_list_tables", tool_input=""), agent="sql")
    [result] = outputs(events, "sql_db_list_tables")
    assert result["status"] == "success"
    assert "Artist" in result["output"]


@states("003 §2.2.5.2", "sql_db_schema(table_names: comma-separated) as in the standard toolkit")
def test_schema_takes_the_toolkits_argument(web: Web) -> None:
    message = call("sql_db_schema", table_names="Artist, Album")
    [result] = outputs(chat(web.person("dora"), message, agent="sql"), "sql_db_schema")
    assert result["status"] == "success"
    assert "ArtistId" in result["output"]
    assert "AlbumId" in result["output"]


@states(
    "003 §2.2.5.2", "sql_db_query(query) as in the standard toolkit", "查询 Chinook 音乐商店数据库"
)
def test_query_takes_the_toolkits_argument(web: Web) -> None:
    message = call("sql_db_query", query="SELECT count(*) AS n FROM Artist")
    [result] = outputs(chat(web.person("dora"), message, agent="sql"), "sql_db_query")
    assert result["status"] == "success"
    assert "275" in result["output"]


@states("003 §2.2.5.2", "sql_db_query_checker(query) as in the standard toolkit")
def test_query_checker_takes_the_toolkits_argument(web: Web) -> None:
    message = call("sql_db_query_checker", query="SELECT Name FROM Artist")
    [result] = outputs(chat(web.person("dora"), message, agent="sql"), "sql_db_query_checker")
    assert result["status"] == "success"


@states("003 §2.2.5.2 (departs)", "SQLDatabaseToolkit's names over the guarded path: reads only")
def test_the_toolkits_query_only_reads(web: Web) -> None:
    for argument in ("query", "sql"):
        message = call("sql_db_query", **{argument: "DELETE FROM Artist"})
        [result] = outputs(chat(web.person("dora"), message, agent="sql"), "sql_db_query")
        assert result["status"] != "success"
    again = chat(web.person("dora"), TABLES, agent="sql")
    assert "Artist" in outputs(again, "sql_db_list_tables")[0]["output"]


# -- 1, 9.1: the model ----------------------------------------------------------------------


@states("003 §1", "LLM：claude-sonnet-4-5-20250929（通过 Anthropic API）")
@states("003 §9.1", "ANTHROPIC_API_KEY Anthropic API 密钥")
def test_with_an_anthropic_key_the_model_is_claude_sonnet(tmp_path: Path) -> None:
    settings = {"DATAAGENT_MODEL": "", "ANTHROPIC_API_KEY": "not-a-key"}
    with running(tmp_path / "server", **settings) as web:
        info = ok(web.admin.get("/api/info"))
        assert info["is_offline"] is False
        assert info["model"] == "anthropic:claude-sonnet-4-5-20250929"


@states("003 §9.1", "OPENAI_API_KEY OpenAI API 密钥（可选）")
def test_with_an_openai_key_the_model_is_asked_with_it(
    recording_model: tuple[Web, Endpoint],
) -> None:
    asked_of(recording_model, "hello")
    _, model = recording_model
    assert {each.headers["Authorization"] for each in model.requests} == {"Bearer not-checked"}


@states("003 §9.1 (departs)", "with no key at all the model is `offline`: nothing has to be set")
def test_with_no_key_the_model_is_offline(tmp_path: Path) -> None:
    with running(tmp_path / "server", DATAAGENT_MODEL="") as web:
        assert ok(web.admin.get("/api/info"))["is_offline"] is True
        made = conversation(web.admin)
        assert text(chat(web.admin, "hello", made["thread_id"]))
