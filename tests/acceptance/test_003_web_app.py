"""Seed 003: the pages, in a browser. Needs the built web application (`make web`)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

import dataagent_server
from tests.acceptance.browser import FIELD, Page, browser, exactly
from tests.acceptance.states import states
from tests.acceptance.web_server import (
    ADMIN,
    PASSWORD,
    Web,
    call,
    chat,
    conversation,
    items,
    ok,
    running,
    wait_until,
)

pytestmark = pytest.mark.slow

MINE = "/api/conversations"
QUESTION = "Your question"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    built = Path(dataagent_server.__file__).parent / "web" / "index.html"
    assert built.is_file(), "The web application is not built: make web"
    folder = tmp_path_factory.mktemp("pages") / "server"
    with running(folder, DATAAGENT_SAMPLE_DATA="true") as started:
        yield started


@pytest.fixture
def page(web: Web) -> Generator[Page]:
    """A browser in which nobody is logged in."""
    with browser(web.url) as opened:
        yield opened


def sign_in(page: Page, username: str, password: str = PASSWORD) -> None:
    page.go("/")
    page.fill("User name", username)
    page.fill("Password", password)
    page.click(exactly("Sign in"))
    page.find(QUESTION, FIELD)


def ask(page: Page, message: str) -> None:
    page.fill(QUESTION, message)
    page.enter()


def conversations(web: Web, username: str) -> list[str]:
    """The titles of a user's conversations."""
    return [each["title"] for each in items(web.person(username).get(MINE))]


# -- 7.4, 7.1: who is logged in sees what ---------------------------------------------------


@states("003 §7.1", "LoginPage (未认证)：登录表单")
@states("003 §7.4", "访问页面 isAuthenticated false → 重定向到 LoginPage")
def test_who_is_not_logged_in_is_led_to_the_login(page: Page) -> None:
    for path in ("/", "/admin/users", "/chat/8d4d5a4e-9a8e-4a52-b2cf-1f8f9d3a9d3a"):
        page.go(path)
        page.find("User name", FIELD)
        page.find("Password", FIELD)
        page.find(exactly("Sign in"))
        assert not page.has(QUESTION, FIELD)


@states(
    "003 §7.1",
    "MainLayout (已认证)",
    "Sidebar（左侧导航）",
    "SidebarHeader（新建对话按钮）",
    "InputBar",
)
@states("003 §7.3", "登录：表单登录，Cookie 自动管理")
@states("003 §7.4", "true → 渲染 MainLayout")
@states("003 §7.2", "useAuth: login(username, password), user")
def test_a_login_shows_the_main_layout(web: Web, page: Page) -> None:
    web.person("dora")
    sign_in(page, "dora")
    page.find("New chat")
    page.find(exactly("dora"))
    page.go("/")
    page.find(QUESTION, FIELD)  # still logged in
    assert page.value("document.cookie") == ""  # scripts do not see it


@states("003 §7.3", "登录 with a wrong password says so and stays")
def test_a_wrong_password_is_said(page: Page) -> None:
    page.go("/")
    page.fill("User name", ADMIN)
    page.fill("Password", "wrong")
    page.click(exactly("Sign in"))
    page.shows("wrong")
    assert not page.has(QUESTION, FIELD)


@states("003 §7.1", "UserMenu（退出登录）")
@states("003 §7.3", "登出")
@states("003 §7.2", "useAuth: logout()")
def test_a_user_logs_out(web: Web, page: Page) -> None:
    web.person("leaver")
    sign_in(page, "leaver")
    page.click(exactly("leaver"))
    page.click(exactly("Sign out"))
    page.find("Password", FIELD)
    page.go("/")
    page.find("Password", FIELD)


# -- 7.1, 7.3: conversations ----------------------------------------------------------------


@states("003 §7.1", "ConversationList（对话历史列表）", "MessageList, MessageBubble")
@states("003 §7.3", "对话切换：点击左侧对话项切换，自动加载历史")
@states("003 §7.2", "useConversations: conversations, select", "useChat: messages, loadHistory")
def test_a_conversation_that_is_clicked_is_shown_with_its_history(web: Web, page: Page) -> None:
    client = web.person("switcher")
    for title, words in (("About ships", "seven ships"), ("About trains", "nine trains")):
        chat(client, f"!echo {words}", conversation(client, title=title)["thread_id"])
    sign_in(page, "switcher")
    page.click(exactly("About ships"))
    page.shows("Answered.", "seven ships")
    page.click(exactly("About trains"))
    page.shows("Answered.", "nine trains")
    assert "seven ships" not in page.text
    assert page.path.startswith("/chat/")


@states("003 §7.1", "ConversationItem（单个对话项，支持编辑/删除）")
@states("003 §7.3", "对话管理：重命名、删除对话")
@states("003 §7.2", "useConversations: update(id, title), remove(id)")
def test_a_conversation_is_renamed_and_deleted(web: Web, page: Page) -> None:
    conversation(web.person("keeper"), title="Before")
    sign_in(page, "keeper")
    page.click("More for Before")
    page.click(exactly("Rename"))
    page.fill("Title", "After")
    page.click(exactly("Save"))
    page.find(exactly("After"))
    assert conversations(web, "keeper") == ["After"]
    page.click("More for After")
    page.click(exactly("Delete"))
    wait_until(lambda: conversations(web, "keeper") == [])
    wait_until(lambda: not page.has(exactly("After")))


@states("003 §7.1", "新建对话按钮 begins another conversation")
@states("003 §7.2", "useConversations: create(), currentId", "useChat: threadId")
def test_a_new_chat_is_another_conversation(web: Web, page: Page) -> None:
    web.person("beginner")
    sign_in(page, "beginner")
    ask(page, "!echo the first answer")
    page.shows("Answered.")
    wait_until(lambda: page.path.startswith("/chat/"))
    first = page.path
    page.click("New chat")
    wait_until(lambda: page.path == "/")
    ask(page, "!echo the second answer")
    page.shows("Answered.")
    wait_until(lambda: page.path.startswith("/chat/"))
    assert page.path != first
    assert len(conversations(web, "beginner")) == 2


# -- 7.1, 7.3: the chat ---------------------------------------------------------------------


@states("003 §7.1", "ThinkingBubble", "ToolCallCard", "FileCard")
@states("003 §5.1", "解析事件 → 更新 React 状态 → UI 渲染")
@states("003 §7.2", "useChat: sendMessage(text)", "useChat: isStreaming")
def test_an_answer_shows_thinking_tool_calls_and_files(web: Web, page: Page) -> None:
    web.person("watcher")
    sign_in(page, "watcher")
    page.click(exactly("General"))
    code = "open('/output/harbour.csv', 'w').write('ships')"
    made = call("execute_python_with_file", code=code, filename="harbour.csv")
    ask(page, f"!think first the harbour\n{call('ls', path='/')}\n{made}\n!echo All is done.")
    page.shows("Answered.", "harbour.csv", "List files")
    page.click("Thought")
    page.shows("first the harbour")


@states("003 §7.3", "Agent 选择：点击芯片直接路由到指定 Agent")
@states("003 §7.2", "useChat: sendMessage(text, agent)")
def test_a_chip_chooses_the_agent(web: Web, page: Page) -> None:
    client = web.person("chooser")
    sign_in(page, "chooser")
    page.click(exactly("SQL"))
    ask(page, f"{call('sql_db_list_tables')}\n!echo These are they.")
    page.shows("Answered.")
    [made] = items(client.get(MINE))
    history = ok(client.get(f"/api/threads/{made['thread_id']}/history"))
    results = [
        each["data"]["status"]
        for each in history["messages"][1]["events"]
        if each["event_type"] == "tool_result"
    ]
    assert results == ["success"]


@states("003 §7.3", "技能调用：输入 /skill-name 或点击技能选择器")
def test_a_skill_is_picked_and_used(web: Web, page: Page) -> None:
    web.person("skilled")
    sign_in(page, "skilled")
    page.fill(QUESTION, "/sql-rev")
    page.click("^sql-review")
    page.shows("sql-review")
    ask(page, "!echo with a skill")
    page.shows("Answered.", "/sql-review")


@states("003 §7.3", "文件上传：点击 + 按钮选择本地文件")
@states("003 §5.2", "用户选择文件 → InputBar 文件上传 → 前端保存 file_id")
@states("003 §7.2", "useChat: sendMessage(text, agent, files)")
def test_a_file_is_chosen_and_sent(web: Web, page: Page, tmp_path: Path) -> None:
    client = web.person("sender")
    file = tmp_path / "harbour.txt"
    file.write_text("two ships")
    sign_in(page, "sender")
    page.find(r"[Aa]ttach|[Ff]iles?|\+", "main button,main label")
    page.attach(file)
    page.find("Remove harbour.txt")
    wait_until(lambda: items(client.get("/api/files")))
    ask(page, "!echo it is with you")
    page.shows("Answered.", "harbour.txt")


@states("003 §7.3", "点击停止按钮 stops the answer on the page")
def test_the_stop_button_ends_an_answer(web: Web, page: Page) -> None:
    client = web.person("stopper")
    sign_in(page, "stopper")
    ask(page, "!slow 100000 20")
    page.shows("chunk0")
    page.click("Stop the answer")
    page.find(QUESTION, FIELD)
    wait_until(lambda: not page.has("Stop the answer"))
    [made] = items(client.get(MINE))
    history = ok(client.get(f"/api/threads/{made['thread_id']}/history"))
    assert history["messages"][1]["status"] == "cancelled"


# -- 7.1, 7.3, 7.4: administration ----------------------------------------------------------


@states("003 §7.1", "AdminMenu（仅管理员可见）：用户管理入口", "UserManagement：用户列表")
@states("003 §7.3", "管理员功能仅管理员可见")
@states("003 §7.4", "/admin/* 且管理员 → 正常渲染")
def test_an_administrator_reaches_the_users(web: Web, page: Page) -> None:
    web.person("listed")
    sign_in(page, ADMIN)
    page.click("Administration")
    page.click("^Users")
    page.shows("listed")
    assert page.path == "/admin/users"


@states("003 §7.4", "/admin/* 且非管理员 → 显示无权限")
@states("003 §7.1", "AdminMenu is not there for others")
def test_other_users_are_refused(web: Web, page: Page) -> None:
    web.person("plain")
    sign_in(page, "plain")
    assert not page.has("Administration")
    for path in ("/admin/users", "/admin/agents"):
        page.go(path)
        page.shows("administrators")
        assert not page.has("Add user")


@states("003 §7.1", "UserForm（创建用户表单）")
@states("003 §7.3", "创建/禁用/删除用户")
def test_an_administrator_creates_disables_and_deletes_a_user(web: Web, page: Page) -> None:
    def status() -> list[str]:
        found = items(web.admin.get("/api/users", params={"limit": 1000}))
        return [each["status"] for each in found if each["username"] == "on_the_page"]

    sign_in(page, ADMIN)
    page.go("/admin/users")
    page.click(exactly("Add user"))
    page.fill("User name", "on_the_page", f"[role=dialog] {FIELD.replace(',', ',[role=dialog] ')}")
    page.click(exactly("Add user"), "[role=dialog] button")
    wait_until(lambda: status() == ["active"])
    page.go("/admin/users")
    page.click("Actions for on_the_page")
    page.click(exactly("Disable"), "[role=menuitem]")
    page.click(exactly("Disable"), "[role=dialog] button")
    wait_until(lambda: status() == ["disabled"])
    page.go("/admin/users")
    page.click("Actions for on_the_page")
    page.click(exactly("Delete user"), "[role=menuitem]")
    page.fill(".*", "on_the_page", "[role=dialog] input")
    page.click(exactly("Delete user"), "[role=dialog] button")
    wait_until(lambda: status() == [])
