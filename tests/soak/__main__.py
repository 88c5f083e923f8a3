"""`python -m tests.soak`: a site is used and broken for a while, then its books are looked at."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.end_to_end.server import KEY, Server
from tests.end_to_end.topology import Topology, topology
from tests.soak.chaos import Chaos
from tests.soak.checks import (
    Watch,
    told,
    wrong_with,
    wrong_with_memory,
    wrong_with_the_audit,
    wrong_with_the_ends,
    wrong_with_the_quota,
)
from tests.soak.users import ALL_USERS, SoakUser
from tests.standins.mcp_server import HttpServer, http_server

ADMIN_KEY = "soak-admin-key"
_SETTINGS = {
    "DATAAGENT_API_KEYS": KEY,
    "DATAAGENT_ADMIN_API_KEYS": ADMIN_KEY,
    "DATAAGENT_RATE_LIMIT_PER_MINUTE": "0",
    "DATAAGENT_MAX_CONNECTIONS": "1000",
    "DATAAGENT_MAX_CONNECTIONS_PER_USER": "0",
    "DATAAGENT_SANDBOX": "bwrap",
    "DATAAGENT_SESSION_TIMEOUT": "60",  # a day is short: what idle sessions hold is released in it
}


async def soak(given: argparse.Namespace, folder: Path) -> list[str]:
    """One day; what was wrong with it."""
    with http_server() as site:
        async with topology(given.database, folder, lease_seconds=2.0, **_SETTINGS) as many:
            return await _day(given, many, site)


async def _day(given: argparse.Namespace, many: Topology, site: HttpServer) -> list[str]:
    await _offer(many.web[0], site)
    people = [
        kind(many.web, f"user{number}", given.seed * 1000 + number)
        for number, kind in enumerate(ALL_USERS * given.users)
    ]
    chaos = Chaos(many, site, given.seed)
    watch = Watch({"web": many.web[1].pid, "worker": many.workers[1].pid})
    is_over = asyncio.Event()
    tasks = [asyncio.create_task(person.run(is_over)) for person in people]
    tasks += [asyncio.create_task(watch.keep(is_over))]
    if not given.calm:
        tasks += [asyncio.create_task(chaos.run(is_over))]
    await _pass(given.minutes, people, chaos, tasks)
    is_over.set()
    await asyncio.gather(*tasks)
    return await _books(given, many, people, chaos, watch)


async def _pass(
    minutes: float, people: list[SoakUser], chaos: Chaos, tasks: list[asyncio.Task[None]]
) -> None:
    """Let the time pass, saying now and then how it goes; a task that breaks ends it."""
    deadline = asyncio.get_running_loop().time() + minutes * 60
    while (left := deadline - asyncio.get_running_loop().time()) > 0:
        done, _ = await asyncio.wait(
            tasks, timeout=min(left, 15.0), return_when=asyncio.FIRST_EXCEPTION
        )
        for task in done:
            task.result()
        print(f"{left / 60:5.1f} min left: {told(people)}; {sum(chaos.done.values())} faults")


async def _books(
    given: argparse.Namespace,
    many: Topology,
    people: list[SoakUser],
    chaos: Chaos,
    watch: Watch,
) -> list[str]:
    await many.is_ready()
    server = many.web[1]
    if given.folder is not None:
        watch.write(given.folder / "memory.csv")
    workspaces = many.shared.home / "workspaces"
    found = await asyncio.gather(
        *(wrong_with(person, server) for person in people),
        *(wrong_with_the_quota(server, person.user_id, workspaces) for person in people),
    )
    wrong = [one for each in found for one in each]
    wrong += await wrong_with_the_audit(server, ADMIN_KEY)
    wrong += wrong_with_the_ends(many)
    wrong += wrong_with_memory(watch, given.minutes)
    print(f"\n{told(people)}; {dict(chaos.done)}")
    heard = (notes.told for person in people for notes in person.all_notes)
    print(f"heard: {dict(sum(heard, Counter[str]()))}")
    for name in watch.pids:
        slope, noise, last = watch.growth(name)
        print(f"memory of {name}: {last:.0f} MiB, {slope:+.2f} MiB a minute, noise {noise:.1f}")
    return wrong


async def _offer(server: Server, site: HttpServer) -> None:
    """Let every agent use the MCP server."""
    body = {"name": "site", "transport": "streamable_http", "url": site.url, "scope": "global"}
    async with (
        server.http(ADMIN_KEY) as http,
        http.post("/api/v1/mcp/servers", json=body) as answer,
    ):
        assert answer.status == 201, await answer.text()


def main() -> int:
    """Run it; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--users", type=int, default=2, help="of each kind")
    parser.add_argument("--database", choices=["postgres", "mysql"], default="postgres")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true", help="nothing is killed")
    parser.add_argument("--folder", type=Path, help="keep logs and files there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dataagent-soak-") as made:
        folder = given.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        wrong = asyncio.run(soak(given, folder))
    for one in wrong:
        print(f"wrong: {one}")
    print(f"{len(wrong)} inconsistencies")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
