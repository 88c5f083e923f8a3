"""Seed 003: code in the sandbox, and files that users attach or get."""

from __future__ import annotations

import json
import re
import threading
import tomllib
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import httpx
import pytest

from tests.acceptance.states import states
from tests.acceptance.web_server import (
    Endpoint,
    Json,
    Web,
    call,
    chat,
    conversation,
    endpoint,
    named,
    ok,
    outputs,
    running,
    wait_until,
    words_of,
)
from tests.documents import old_slides, old_word, old_workbook, pdf, sheet, slides, word
from tests.source import ROOT
from tests.standins.openai_server import text as said
from tests.waiting import WAIT_SECONDS

MEBI = 1024 * 1024
PACKAGES = {
    "python-pptx": "pptx",
    "python-docx": "docx",
    "openpyxl": "openpyxl",
    "pandas": "pandas",
    "numpy": "numpy",
    "Pillow": "PIL",
    "matplotlib": "matplotlib",
    "pypdf": "pypdf",
    "pdfplumber": "pdfplumber",
    "reportlab": "reportlab",
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Generator[Web]:
    with running(tmp_path_factory.mktemp("files") / "server") as started:
        yield started


@pytest.fixture(scope="module")
def recording_model(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Web, Endpoint]]:
    """A server whose model remembers what it was told."""
    with endpoint(said("Fine.")) as model:
        folder = tmp_path_factory.mktemp("told") / "server"
        with running(folder, **model.settings) as started:
            yield started, model


def run(web: Web, tool: str, thread_id: str | None = None, **arguments: Any) -> Json:
    """What came of one call of a tool of `general`."""
    events = chat(web.person("dora"), call(tool, **arguments), thread_id, agent="general")
    [result] = outputs(events, tool)
    return result


def python(web: Web, code: str, thread_id: str | None = None) -> str:
    """What a program that runs well prints, as the model reads it."""
    result = run(web, "execute_python", thread_id, code=code)
    assert result["status"] == "success", result["output"]
    return result["output"]


def upload(client: httpx.Client, name: str, content: bytes) -> httpx.Response:
    return client.post("/api/files/upload", files={"file": (name, content)})


def read(web: Web, name: str, content: bytes) -> str:
    """An upload as the model reads it."""
    file_id = ok(upload(web.person("dora"), name, content))["file_id"]
    result = run(web, "read_uploaded_file", file_id=file_id)
    assert result["status"] == "success", result["output"]
    return result["output"]


# -- 2.4.1: the tools -----------------------------------------------------------------------


@states("003 §2.4.1", "execute_python(code)：执行 Python 代码，返回 stdout/stderr")
@states("003 §2.2.3", "execute_python：沙箱中执行 Python 代码")
def test_execute_python_returns_the_output(web: Web) -> None:
    code = "import sys\nprint(6 * 7)\nprint('careful', file=sys.stderr)"
    printed = python(web, code)
    assert "42" in printed
    assert "careful" in printed


@states(
    "003 §2.4.1",
    "execute_python_with_file(code, filename)：执行代码并提取生成文件，返回下载链接",
)
@states("003 §2.2.3", "execute_python_with_file：执行代码并生成可下载文件")
@states(
    "003 §5.3",
    "在容器中执行代码：代码保存文件到 /output/",
    "从容器提取文件，生成下载链接",
    "返回 Markdown 链接给用户",
)
@states("003 §3.6", "GET /api/files/{id}/{filename} 下载沙箱生成的文件")
def test_a_file_that_code_makes_is_downloaded_from_a_markdown_link(web: Web) -> None:
    code = "with open('/output/ships.csv', 'w') as file:\n    file.write('name\\nEver Given\\n')"
    result = run(web, "execute_python_with_file", code=code, filename="ships.csv")
    assert result["status"] == "success"
    link = re.search(r"\[[^\]]*\]\((/api/files/([^/)]+)/ships\.csv)\)", result["output"])
    assert link is not None, result["output"]
    answer = web.person("dora").get(link[1])
    assert (answer.status_code, answer.text) == (200, "name\nEver Given\n")
    assert web.person("eve").get(link[1]).status_code == 404
    assert web.person("dora").get(f"/api/files/{link[2]}/other.csv").status_code == 404


@states(
    "003 §2.4.1",
    "预装包 python-pptx, python-docx, openpyxl",
    "预装包 pandas, numpy",
    "预装包 Pillow, matplotlib",
    "预装包 pypdf, pdfplumber, reportlab",
)
def test_the_packages_are_installed_in_the_sandbox(web: Web) -> None:
    modules = sorted(PACKAGES.values())
    code = (
        f"from importlib.util import find_spec\nprint([n for n in {modules} if not find_spec(n)])"
    )
    assert "[]" in python(web, code)


@states("003 §2.4.1", "预装包: the container's image installs all of them")
def test_the_image_installs_the_packages() -> None:
    made = tomllib.loads((ROOT / "libs/dataagent-core/pyproject.toml").read_text())
    extra = made["project"]["optional-dependencies"]["sandbox"]
    installed = {re.split(r"[<>=\[ ]", each)[0].lower() for each in extra}
    assert {each.lower() for each in PACKAGES} <= installed
    assert "['sandbox']" in (ROOT / "infra/sandbox/Dockerfile").read_text()


@states("003 §2.4.1", "禁用网络访问")
@states("003 §10.3", "网络隔离：容器无法访问网络")
def test_code_reaches_no_network(web: Web) -> None:
    port = web.server.port
    code = (
        "import socket\n"
        f"for host in ('127.0.0.1', '1.1.1.1'):\n"
        "    try:\n"
        f"        socket.create_connection((host, {port}), timeout=20)\n"
        "        print('reached', host)\n"
        "    except OSError:\n"
        "        print('cut off')\n"
    )
    printed = python(web, code)
    assert "reached" not in printed
    assert printed.count("cut off") == 2


@states("003 §2.4.1", "移除所有 Linux capabilities", "禁止提权")
@states("003 §10.3", "权限最小化：移除所有 Linux capabilities")
def test_code_has_no_capabilities_and_gets_none(web: Web) -> None:
    printed = python(web, "print(open('/proc/self/status').read())")
    assert re.search(r"CapEff:\s*0+\b", printed)
    assert re.search(r"CapPrm:\s*0+\b", printed)
    assert re.search(r"CapBnd:\s*0+\b", printed)
    assert re.search(r"NoNewPrivs:\s*1\b", printed)


@states("003 §10.3", "资源限制：内存 512MB")
def test_code_has_512_mebibytes(web: Web) -> None:
    assert "it fits" in python(web, f"x = bytearray({256 * MEBI}); print('it', 'fits')")
    result = run(web, "execute_python", code=f"x = bytearray({640 * MEBI}); print('it', 'fits')")
    assert "it fits" not in str(result["output"])


@states("003 §2.4.1", "pool_size 默认 5 预热容器数量")
@states("003 §5.3", "从容器池获取容器")
def test_five_sandboxes_are_warm(web: Web) -> None:
    python(web, "print(1)")
    wait_until(lambda: ok(web.admin.get("/api/v1/system"))["sandbox"]["ready"] == 5)


@pytest.mark.slow
@states("003 §2.4.1", "max_uses_per_container 默认 100 单容器最大使用次数")
@states("003 §10.3", "使用次数限制：单容器 100 次后销毁重建")
def test_a_sandbox_is_replaced_after_a_hundred_uses(web: Web) -> None:
    thread_id = conversation(web.person("dora"))["thread_id"]
    mark = "import os; print('there', os.path.exists('/tmp/mark')); open('/tmp/mark', 'w')"
    seen: list[bool] = []
    for _ in range(4):
        message = "\n".join([call("execute_python", code=mark)] * 26)
        events = chat(web.person("dora"), message, thread_id, agent="general")
        seen += ["there True" in each["output"] for each in outputs(events, "execute_python")]
    assert seen[:100] == [False, *[True] * 99]
    assert seen[100] is False
    assert all(seen[101:])


# -- 2.4.1: what is asked of Docker ---------------------------------------------------------


class Engine(BaseHTTPRequestHandler):
    """Stands for a Docker engine: it notes what is to be made, and makes nothing."""

    protocol_version = "HTTP/1.1"
    made: ClassVar[list[Json]] = []
    was_asked: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        if self.path.endswith("/_ping"):
            self._answer(b"OK")
        elif self.path.endswith("/version"):
            self._answer({"Version": "28.0.0", "ApiVersion": "1.47", "MinAPIVersion": "1.24"})
        elif "/images/" in self.path:
            self._answer([{"Id": "sha256:0", "RepoTags": ["dataagent-sandbox:latest"]}])
        else:
            self._answer([])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/containers/create" in self.path:
            self.made.append(json.loads(body))
            self.was_asked.set()
        self._answer({"message": "A stand-in makes no containers."}, 500)

    def do_DELETE(self) -> None:
        self._answer({"message": "no such container"}, 404)

    def _answer(self, content: Any, status: int = 200) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Api-Version", "1.47")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 its own name
        """Nothing."""


@contextmanager
def engine() -> Generator[str]:
    """The address of such an engine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What the product asks a Docker engine to make, when nothing is set but that it is Docker."""
    folder = tmp_path_factory.mktemp("docker") / "server"
    with engine() as url:
        settings = {"DATAAGENT_SANDBOX": "docker", "DATAAGENT_SANDBOX_DOCKER_URL": url}
        with running(folder, **settings) as web:
            run(web, "execute_python", code="print(1)")
            assert Engine.was_asked.wait(WAIT_SECONDS), web.log()
    return Engine.made[0]


@states("003 §2.4.1", "mem_limit 默认 512m")
def test_a_container_has_512_mebibytes(container: Json) -> None:
    assert container["HostConfig"]["Memory"] == 512 * MEBI


@states("003 §2.4.1", "cpu_quota 默认 100000 CPU 配额（1 CPU）")
@states("003 §10.3", "资源限制：CPU 配额受限")
def test_a_container_has_one_cpu(container: Json) -> None:
    host = container["HostConfig"]
    assert (host["CpuQuota"], host.get("CpuPeriod") or 100_000) == (100_000, 100_000)


@states("003 §2.4.1", "network_disabled=True")
def test_a_container_has_no_network(container: Json) -> None:
    assert container["NetworkDisabled"] is True


@states("003 §2.4.1", 'cap_drop=["ALL"]')
def test_a_container_has_no_capabilities(container: Json) -> None:
    assert container["HostConfig"]["CapDrop"] == ["ALL"]
    assert not container["HostConfig"].get("CapAdd")
    assert not container["HostConfig"].get("Privileged")


@states("003 §2.4.1", 'security_opt=["no-new-privileges"]')
def test_a_container_gets_no_new_privileges(container: Json) -> None:
    assert "no-new-privileges" in container["HostConfig"]["SecurityOpt"]


# -- 2.4.2, 3.6: uploads --------------------------------------------------------------------

UPLOADS = {
    ".txt": b"plain words",
    ".md": b"# Heading",
    ".json": b'{"ships": 2}',
    ".csv": b"name,ships\nRotterdam,2\n",
    ".pdf": pdf(["one page"]),
    ".doc": old_word(),
    ".docx": word(["A paragraph."]),
    ".ppt": old_slides([("Title", "Text")]),
    ".pptx": slides(["Title"]),
    ".xls": old_workbook(),
    ".xlsx": sheet("Ports", [["name"], ["Rotterdam"]]),
}


@states(
    "003 §2.4.2",
    "允许格式 .txt, .md, .json, .csv",
    "允许格式 .pdf",
    "允许格式 .doc, .docx",
    "允许格式 .ppt, .pptx",
    "允许格式 .xls, .xlsx",
)
def test_files_of_these_kinds_are_taken(web: Web) -> None:
    for extension, content in UPLOADS.items():
        answer = upload(web.person("dora"), f"file{extension}", content)
        assert answer.status_code in {200, 201}, f"{extension}: {answer.text}"
        assert ok(answer)["filename"] == f"file{extension}"


@states("003 §10.4", "扩展名白名单")
def test_files_of_other_kinds_are_refused(web: Web) -> None:
    for name in ("a.exe", "a.sh", "a.py", "a.html", "a.svg", "a.zip", "a", "a.txt.exe", ".txt"):
        answer = upload(web.person("dora"), name, b"#!/bin/sh\n")
        assert 400 <= answer.status_code < 500, name


@states("003 §3.6", "POST /api/files/upload 上传文件（最大 10MB）")
@states("003 §2.4.2", "最大文件大小 10MB")
@states("003 §10.4", "文件大小限制：10MB")
def test_a_file_has_at_most_ten_megabytes(web: Web) -> None:
    client = web.person("dora")
    most = b"a" * (10 * MEBI)
    assert ok(upload(client, "most.txt", most))["size"] == 10 * MEBI
    answer = upload(client, "more.txt", most + b"a")
    assert answer.status_code == 413


@states("003 §5.2", "POST /api/files/upload 返回 file_id")
@states("003 §10.5", "文件 ID 使用 UUID 前缀，难以猜测")
def test_an_upload_has_an_id_that_cannot_be_guessed(web: Web) -> None:
    found = [ok(upload(web.person("dora"), "a.txt", b"a"))["file_id"] for _ in range(2)]
    assert len(set(found)) == 2
    for file_id in found:
        start = re.match(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", file_id)
        assert start is not None
        assert uuid.UUID(start[0]).version == 4


@states("003 §3.6", "GET /api/files/{id}/download 下载上传的文件")
def test_an_upload_is_downloaded_as_it_was(web: Web) -> None:
    client = web.person("dora")
    for name, content in (("a.pdf", pdf(["x"])), ("数据.csv", "名,数\n".encode())):
        file_id = ok(upload(client, name, content))["file_id"]
        answer = client.get(f"/api/files/{file_id}/download")
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["content-disposition"].startswith("attachment")
    assert client.get(f"/api/files/{uuid.uuid4().hex}/download").status_code == 404


@states("003 §3.6", "GET /api/files/{id}/content 预览文本文件内容")
def test_a_text_file_has_a_preview(web: Web) -> None:
    client = web.person("dora")
    file_id = ok(upload(client, "note.md", "# 标题\nwords".encode()))["file_id"]
    assert ok(client.get(f"/api/files/{file_id}/content"))["content"] == "# 标题\nwords"
    binary = ok(upload(client, "a.pdf", pdf(["x"])))["file_id"]
    assert 400 <= client.get(f"/api/files/{binary}/content").status_code < 500


@states("003 §10.4", "用户隔离：文件与用户关联")
def test_a_file_is_its_owners_alone(web: Web) -> None:
    file_id = ok(upload(web.person("dora"), "mine.txt", b"private"))["file_id"]
    for client in (web.person("eve"), web.admin):
        for end in ("download", "content", "mine.txt"):
            assert client.get(f"/api/files/{file_id}/{end}").status_code == 404
    theirs = chat(web.person("eve"), call("read_uploaded_file", file_id=file_id), agent="general")
    [result] = outputs(theirs, "read_uploaded_file")
    assert result["status"] == "error"
    assert "private" not in result["output"]


@states("003 §6.1", "表 files 上传文件元数据")
def test_an_upload_is_a_row_of_files(web: Web) -> None:
    client = web.person("dora")
    made = ok(upload(client, "kept.txt", b"kept"))
    me = ok(client.get("/api/auth/me"))["id"]
    row = web.select("SELECT user_id, filename FROM files WHERE file_id = ?", made["file_id"])
    assert row == [(me, "kept.txt")]


@states("003 §5.2 (departs)", "保存到 the owner's uploads/, not /tmp/sunnyagent_files/{file_id}/")
@states("003 §10.4 (departs)", "临时存储：the owner's workspace, for 000 R33.2 and R33.6")
def test_an_upload_lies_in_its_owners_uploads(web: Web) -> None:
    client = web.person("dora")
    ok(upload(client, "here.txt", b"here, and of dora"))
    me = ok(client.get("/api/auth/me"))["id"]
    found = [each for each in web.home.rglob(f"{me}/uploads/*") if each.is_file()]
    assert b"here, and of dora" in {each.read_bytes() for each in found}


# -- 2.4.2: reading -------------------------------------------------------------------------


@states("003 §2.4.2", "read_uploaded_file(file_id)", "文本文件：直接读取")
@states("003 §2.2.3", "read_uploaded_file：读取用户上传的文件", "文件读取和处理")
@states("003 §5.2", "调用 read_uploaded_file(file_id) 读取并解析文件内容")
def test_a_text_is_read_as_it_is(web: Web) -> None:
    assert "plain words, 字" in read(web, "a.txt", "plain words, 字".encode())


@states("003 §2.4.2", "文本截断 50KB")
def test_a_long_text_is_cut_at_50_kilobytes(web: Web) -> None:
    content = "".join(f"{number:07d}\n" for number in range(10_000))  # 80 000 bytes
    recording_model = read(web, "long.txt", content.encode())
    found = [int(each) for each in re.findall(r"^(\d{7})$", recording_model, re.MULTILINE)]
    assert found == list(range(len(found)))
    assert 49 * 1024 <= len(found) * 8 <= 50 * 1024
    assert re.search(r"cut|truncat|截断", recording_model, re.IGNORECASE)


@states("003 §2.4.2", "PDF：使用 pypdf 提取文本", "PDF 最大页数 20 页")
def test_a_pdf_is_read_to_page_20(web: Web) -> None:
    recording_model = read(web, "book.pdf", pdf([f"This is sheet {n} of it" for n in range(1, 24)]))
    assert [int(n) for n in re.findall(r"sheet (\d+) of it", recording_model)] == list(range(1, 21))
    assert "23" in recording_model  # it says how many there are


@states("003 §2.4.2", "Word：使用 python-docx 提取段落")
def test_word_paragraphs_are_read(web: Web) -> None:
    recording_model = read(web, "a.docx", word(["First paragraph.", "Second paragraph."]))
    assert recording_model.index("First paragraph.") < recording_model.index("Second paragraph.")


@states("003 §2.4.2", "Excel：使用 openpyxl 读取表格", "Excel 最大行数 500 行")
def test_a_sheet_is_read_to_row_500(web: Web) -> None:
    rows: list[list[Any]] = [["port"], *([f"port{n}"] for n in range(1, 700))]
    recording_model = read(web, "a.xlsx", sheet("Ports", rows))
    found = [int(n) for n in re.findall(r"\bport(\d+)\b", recording_model)]
    assert found == list(range(1, len(found) + 1))
    assert len(found) in {499, 500}


@states("003 §2.4.2 (departs)", "tables are queried in full: the limits hold for text alone")
def test_a_long_sheet_is_counted_in_full(web: Web) -> None:
    rows: list[list[Any]] = [["port"], *([f"port{n}"] for n in range(1, 700))]
    recording_model = read(web, "ports.xlsx", sheet("Ports", rows))
    assert "699" in recording_model
    source = re.search(r'source="([^"]+)"', recording_model)
    table = re.search(r'^- "([^"]+)"', recording_model, re.MULTILINE)
    assert source is not None
    assert table is not None
    statement = f'SELECT count(*) AS n FROM "{table[1]}"'
    for argument in ("query", "sql"):
        result = run(web, "sql_db_query", **{argument: statement, "source": source[1]})
        if result["status"] == "success":
            break
    assert "699" in result["output"]


@states("003 §2.4.2", "PowerPoint：使用 python-pptx 提取幻灯片文本")
def test_slides_are_read(web: Web) -> None:
    recording_model = read(web, "a.pptx", slides(["First title", "Second"]))
    for words in ("First title", "body of First title", "Second", "body of Second"):
        assert words in recording_model


@states("003 §2.4.2", ".doc, .ppt and .xls are read, too")
def test_old_documents_are_read(web: Web) -> None:
    assert "Old title" in read(web, "a.ppt", old_slides([("Old title", "Old text")]))
    assert len(read(web, "a.doc", old_word())) > 500
    assert "amount" in read(web, "a.xls", old_workbook())


# -- 5.1, 5.2: files of a message -----------------------------------------------------------


@states("003 §5.2", "chat() 注入文件元数据到消息: file_id and file name", "发送消息时附带 file_ids")
@states("003 §5.1", "注入文件元数据: into the message the model gets")
def test_the_message_names_the_files(recording_model: tuple[Web, Endpoint]) -> None:
    web, model = recording_model
    client = web.person("dora")
    file_id = ok(upload(client, "harbour.txt", b"two ships"))["file_id"]
    before = len(model.requests)
    chat(client, "Count them.", file_ids=[file_id])
    user = words_of(model.seen[before], "user")
    assert "Count them." in user
    assert "harbour.txt" in user
    assert file_id in user


@states("003 §5.1", "文件元数据 begins with the marker [用户上传了以下文件]")
def test_the_message_has_the_marker_of_files(recording_model: tuple[Web, Endpoint]) -> None:
    web, model = recording_model
    client = web.person("dora")
    file_id = ok(upload(client, "harbour.txt", b"two ships"))["file_id"]
    before = len(model.requests)
    chat(client, "Count them.", file_ids=[file_id])
    assert "[用户上传了以下文件]" in words_of(model.seen[before], "user")


@states("003 §5.2", "a message with file_ids 路由到 general Agent")
def test_a_message_with_file_ids_goes_to_general(web: Web) -> None:
    client = web.person("dora")
    file_id = ok(upload(client, "a.txt", b"a"))["file_id"]
    events = chat(client, call("execute_python", code="print(1)"), file_ids=[file_id])
    assert "general" in str(named(events, "thinking"))
    assert outputs(events, "execute_python")[0]["status"] == "success"
