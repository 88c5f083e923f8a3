"""Every test runs cut off from the user's settings and from the network.

Provider keys and DataAgent's own variables are removed from the environment, the home directory is
an empty one, and a connection to anything but this machine raises. `DATAAGENT_TEST_*` is left: it
says where the test databases are. `tests/tiers.py` chooses which tests run, `tests/times.py`
measures them. The garbage collector is off during collection, where it would take a
quarter of the time.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import re
import sys
import tempfile
from pathlib import Path

import certifi
import pytest

from tests.open_connections import OpenConnections
from tests.requirements import UnprovenRequirements

pytest_plugins = ["tests.tiers", "tests.times"]

_SETTINGS = re.compile(
    r"(DATAAGENT_(?!TEST_)|OTEL_|LANGSMITH_|LANGCHAIN_|LANGFUSE_|OPENAI_|ANTHROPIC_|TAVILY_)"
)
_ALSO = {
    "DATABASE_URL",
    "ADMIN_USERNAME",
    "ADMIN_PASSWORD",
    "GOOGLE_API_KEY",
    "JWT_SECRET_KEY",
    "JWT_EXPIRATION",
}
_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class OutsideNetwork(RuntimeError):
    """A test tried to reach another machine."""


def pytest_configure(config: pytest.Config) -> None:
    """Cut off the environment before any test module is imported."""
    gc.disable()
    for name in [name for name in os.environ if _SETTINGS.match(name) or name in _ALSO]:
        del os.environ[name]
    home = tempfile.TemporaryDirectory(prefix="dataagent-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    os.environ["HOME"] = home.name
    # No test reaches an address with TLS, and reading every certificate takes 36 ms a client.
    os.environ["SSL_CERT_FILE"] = one_certificate(home.name)
    sys.addaudithook(refuse_other_machines)
    connections = OpenConnections()
    connections.watch()
    config.pluginmanager.register(connections)
    config.pluginmanager.register(UnprovenRequirements())


def pytest_collection_finish() -> None:
    """Exclude what was loaded from garbage collection, and switch it on again."""
    gc.freeze()
    gc.enable()


def one_certificate(folder: str) -> str:
    """A file with the first certificate of those that are trusted, for clients that want some."""
    text, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERT")
    path = Path(folder, "certificate.pem")
    path.write_text(f"{text}{end}IFICATE-----\n", encoding="utf-8")
    return str(path)


def refuse_other_machines(
    event: str, arguments: tuple[object, ...], connecting: frozenset[str] = _CONNECTING
) -> None:
    """Raise when a socket is about to reach an address that is not loopback.

    It is called to the very end of the process, when the names of this module are gone.
    """
    if event not in connecting or len(arguments) < 2:
        return
    address = arguments[1]
    if not isinstance(address, tuple) or not address:
        return
    host = str(address[0])  # pyright: ignore[reportUnknownArgumentType] it is (host, port, …)
    if not is_loopback(host):
        raise OutsideNetwork(f"A test may reach this machine only, not {host}.")


def is_loopback(host: str) -> bool:
    """Whether a host, as given to `connect`, is this machine."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in {"localhost", ""}
