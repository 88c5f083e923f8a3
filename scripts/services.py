"""Starts the servers the tests need: PostgreSQL, MariaDB and Redis on loopback.

A server that answers, in its own protocol with the credentials of the tests, is left alone. One
that does not is installed from Debian's packages and started, as root; otherwise the command that
starts all three is printed. Nothing is skipped: if one is unavailable, this fails. A server of your
own, named in `DATAAGENT_TEST_POSTGRES_URL`,
`DATAAGENT_TEST_MYSQL_URL` or `DATAAGENT_TEST_REDIS_URL`, is not checked. Run as `python -m
scripts.services`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pymysql
import redis

_COMPOSE = "docker compose -f infra/compose.tests.yaml up -d"
_START_SECONDS = 60.0
_HBA_LINES = "# tests of DataAgent: anyone on this machine\nhost all all 127.0.0.1/32 trust\n"
_MARIADB_ROOT = """\
ALTER USER 'root'@'localhost'
    IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('');
CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
"""


class CannotStart(Exception):
    """A server cannot be started; the message says what to do."""


@dataclass(frozen=True)
class Service:
    """A server: how to check, install, configure and start it."""

    name: str
    variable: str
    package: str
    program: str
    ask: Callable[[], None]
    start: Callable[[], None]
    open_for_tests: Callable[[], None]


# -- checking --


def ask_postgres() -> None:
    """Log in as the tests do and see that their database exists."""
    address = "host=127.0.0.1 port=5432 user=postgres connect_timeout=5 dbname="
    with psycopg.connect(address + "postgres", autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = 'test'").fetchone()
        if found is None:
            connection.execute("CREATE DATABASE test")


def ask_mariadb() -> None:
    """Log in as the tests do and see that their database exists."""
    connection = pymysql.connect(host="127.0.0.1", port=3306, user="root", connect_timeout=5)
    with connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES LIKE 'test'")
        if cursor.fetchone() is None:
            cursor.execute("CREATE DATABASE test")


def ask_redis() -> None:
    """PING, and expect its PONG."""
    with redis.Redis(host="127.0.0.1", port=6379, socket_timeout=5) as client:
        client.ping()  # pyright: ignore[reportUnknownMemberType] the stub leaves the reply open


def answer(service: Service) -> str | None:
    """None if the service answers, else the reason on one line."""
    try:
        service.ask()
    except (psycopg.Error, pymysql.Error, redis.RedisError, OSError) as error:
        return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
    return None


# -- starting, the Debian way, with or without systemd --


def run(*command: str, text: str | None = None) -> str:
    """Run a command and return what it printed.

    Raises:
        CannotStart: it failed; the message ends with its output.
    """
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        output = (result.stderr or result.stdout).strip()[-800:]
        raise CannotStart(f"`{' '.join(command)}` failed: {output}")
    return result.stdout


def postgres_cluster() -> tuple[str, str]:
    """Version and name of the cluster on port 5432; made if the machine has none."""
    clusters = [line.split() for line in run("pg_lsclusters", "-h").splitlines()]
    for version, name, port, *_ in clusters:
        if port == "5432":
            return version, name
    if clusters:
        raise CannotStart("PostgreSQL has clusters, but none on port 5432 (see pg_lsclusters).")
    version = max((path.name for path in Path("/usr/lib/postgresql").iterdir()), key=float)
    run("pg_createcluster", version, "main", "--port", "5432")
    return version, "main"


def start_postgres() -> None:
    """Start the cluster, or have a running one reload its rules."""
    version, name = postgres_cluster()
    status = run("pg_lsclusters", "-h")
    is_running = any(
        line.split()[:2] == [version, name] and "online" in line for line in status.splitlines()
    )
    action = "reload" if is_running else "start"
    run("pg_ctlcluster", "--skip-systemctl-redirect", version, name, action)


def open_postgres() -> None:
    """Allow connections from loopback without a password (the first rule that fits wins)."""
    version, name = postgres_cluster()
    rules = Path(f"/etc/postgresql/{version}/{name}/pg_hba.conf")
    present = rules.read_text(encoding="utf-8")
    if not present.startswith(_HBA_LINES):
        rules.write_text(_HBA_LINES + present, encoding="utf-8")


def start_mariadb() -> None:
    """Start the server as its own user, in the background, unless it runs already."""
    if Path("/run/mysqld/mysqld.sock").exists() and _mariadb_is_up():
        return
    run("install", "-d", "-o", "mysql", "-g", "mysql", "/run/mysqld")
    program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    run("start-stop-daemon", "--start", "--oknodo", "--background", "--exec", program, "--",
        "--user=mysql", "--bind-address=127.0.0.1")  # fmt: skip
    deadline = time.monotonic() + _START_SECONDS
    while not _mariadb_is_up():
        if time.monotonic() > deadline:
            raise CannotStart("MariaDB does not come up; see /var/log/mysql/error.log.")
        time.sleep(0.2)


def _mariadb_is_up() -> bool:
    check = subprocess.run(
        ["mariadb-admin", "--user=root", "ping"],
        capture_output=True,
        check=False,
    )
    return check.returncode == 0


def open_mariadb() -> None:
    """Allow root from loopback without a password."""
    start_mariadb()
    run("mariadb", "--user=root", text=_MARIADB_ROOT)


def start_redis() -> None:
    """Start a server that keeps nothing on disk."""
    folder = "/tmp"  # noqa: S108 it writes nothing
    run("redis-server", "--daemonize", "yes", "--bind", "127.0.0.1", "--port", "6379",
        "--save", "", "--appendonly", "no", "--dir", folder)  # fmt: skip


SERVICES = [
    Service(
        name="PostgreSQL",
        variable="DATAAGENT_TEST_POSTGRES_URL",
        package="postgresql",
        program="pg_ctlcluster",
        ask=ask_postgres,
        start=start_postgres,
        open_for_tests=open_postgres,
    ),
    Service(
        name="MariaDB",
        variable="DATAAGENT_TEST_MYSQL_URL",
        package="mariadb-server",
        program="mariadbd",
        ask=ask_mariadb,
        start=start_mariadb,
        open_for_tests=open_mariadb,
    ),
    Service(
        name="Redis",
        variable="DATAAGENT_TEST_REDIS_URL",
        package="redis-server",
        program="redis-server",
        ask=ask_redis,
        start=start_redis,
        open_for_tests=lambda: None,
    ),
]


# -- installing --


def install(service: Service) -> None:
    """Install the service's package and open it for the tests."""
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    with suppress(CannotStart):  # an old list may still know the package
        run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", service.package)
    service.open_for_tests()


def bring_up(service: Service) -> None:
    """Make the service answer.

    Raises:
        CannotStart: it does not; the message says why.
    """
    if shutil.which(service.program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        print(f"{service.name}: installing {service.package}", flush=True)
        install(service)
    service.start()
    deadline = time.monotonic() + _START_SECONDS
    while (reason := answer(service)) is not None:
        if time.monotonic() > deadline:
            raise CannotStart(f"it was started but refuses the tests: {reason}")
        time.sleep(0.2)


def main() -> int:
    """Start the servers that do not answer; 1 if one still does not."""
    ours = [service for service in SERVICES if not os.environ.get(service.variable)]
    missing = [service for service in ours if answer(service) is not None]
    if missing and (os.geteuid() != 0 or shutil.which("apt-get") is None):
        names = ", ".join(service.name for service in missing)
        print(f"Not reachable on 127.0.0.1: {names}.\nhint: {_COMPOSE}", file=sys.stderr)
        return 1
    for service in missing:
        try:
            bring_up(service)
        except CannotStart as error:
            print(f"{service.name}: {error}\nhint: {_COMPOSE}", file=sys.stderr)
            return 1
        print(f"{service.name}: started", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
