"""The commands `migrate`, `user`, `key` and `audit` of `dataagent-server`.

They open the database, not the whole core, and work beside a running server. Changes of accounts
are recorded in the audit log, like those an administrator makes over HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import pwd
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import orjson

from dataagent_core.audit import AuditFilter, AuditLog, AuditRow
from dataagent_core.errors import BadInput, Misconfigured, NotFound
from dataagent_core.identity.users import User, UserStore
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate, migrate_to, pending, revision_of
from dataagent_core.telemetry import Scrubber, configure_logging, known_secrets
from dataagent_server.config import ServerSettings


def run(command: str, arguments: argparse.Namespace, settings: ServerSettings) -> int:
    """Run a command; returns the exit status."""
    configure_logging(settings)
    match command:
        case "migrate":
            return asyncio.run(_migrate(arguments, settings))
        case "user":
            return asyncio.run(_user(arguments, settings))
        case "audit":
            return asyncio.run(_audit(arguments, settings))
        case _:
            return asyncio.run(_key(arguments, settings))


@asynccontextmanager
async def _database(settings: ServerSettings) -> AsyncGenerator[Database]:
    settings.ensure_home()
    database = open_database(settings.sql_url())
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _accounts(settings: ServerSettings) -> AsyncGenerator[tuple[UserStore, AuditLog]]:
    async with _database(settings) as database:
        await migrate(database)
        users = UserStore(database)
        _delete_mcp_with_account(users, ServerStore(database))
        audit = AuditLog(database, Scrubber(known_secrets(settings)))
        try:
            yield users, audit
        finally:
            users.close()
            await audit.aclose()


def _delete_mcp_with_account(users: UserStore, servers: ServerStore) -> None:
    """Delete the MCP servers and credentials of an account with it, as over HTTP."""

    async def forget(user_id: str) -> None:
        if await users.get(user_id) is None:
            await servers.delete_of_user(user_id)

    users.listen(forget)


async def _migrate(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _database(settings) as database:
        if arguments.to is not None:
            await migrate_to(database, arguments.to)
            _say(f"tables are at version {await revision_of(database)}")
            return 0
        was_behind = await pending(database)
        await migrate(database)
    _say("tables brought up to date" if was_behind else "tables are up to date")
    return 0


# -- users ----------------------------------------------------------------------------------


async def _user(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _accounts(settings) as (users, audit):
        match arguments.action:
            case "list":
                for user in await users.list():
                    _say(f"{user.user_id}  {user.username}  {user.role}  {user.status}")
            case "add":
                password = None if arguments.no_password else _read_password()
                added = await users.create(arguments.username, password, role=arguments.role)
                await _record(audit, "create_user", added, role=added.role)
                _say(added.user_id)
            case action:
                user = await _get_user(users, arguments.username)
                await _record(audit, await _change_user(users, user, action), user, change=action)
    return 0


async def _change_user(users: UserStore, user: User, action: str) -> str:
    """Change an account; returns the action for the audit log."""
    match action:
        case "password":
            await users.set_password(user.user_id, _read_password())
            return "reset_password"
        case "enable":
            await users.set_status(user.user_id, "active")
            return "set_user_status"
        case "disable":
            await users.set_status(user.user_id, "disabled")
            return "set_user_status"
        case "delete":
            await users.delete(user.user_id)
            return "delete_user"
        case _:
            _say(f"/login?token={await users.links.create(user.user_id)}")
            return "create_login_link"


async def _get_user(users: UserStore, username: str) -> User:
    user = await users.by_username(username)
    if user is None:
        raise NotFound(f"There is no user {username!r}. See `dataagent-server user list`.")
    return user


def _read_password() -> str:
    """The password, typed twice, or the first line of stdin; an argument would show in `ps`.

    Raises:
        BadInput: the two differ.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise BadInput("The two passwords differ.")
    return password


# -- keys -----------------------------------------------------------------------------------


async def _key(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _accounts(settings) as (users, audit):
        user = await _get_user(users, arguments.username)
        match arguments.action:
            case "add":
                maker = f"command line ({_machine_user()})"
                key, secret = await users.keys.create(user.user_id, arguments.name, by=maker)
                await _record(audit, "create_api_key", user, key_id=key.key_id, name=key.name)
                await _record_of_key(audit, "api_key_created_by_other", user, key.key_id)
                _say(secret)
            case "list":
                for key in await users.keys.list(user.user_id):
                    used = key.last_used.isoformat() if key.last_used else "never used"
                    maker = f"  made by {key.maker or key.created_by}" if key.is_by_other else ""
                    _say(f"{key.key_id}  {key.prefix}…  {key.name}  {used}{maker}")
            case _:
                await users.keys.revoke(arguments.key_id, owner=user.user_id)
                await _record(audit, "revoke_api_key", user, key_id=arguments.key_id)
                await _record_of_key(audit, "api_key_revoked_by_other", user, arguments.key_id)
    return 0


# -- audit ----------------------------------------------------------------------------------


async def _audit(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _database(settings) as database:
        if await pending(database):
            raise Misconfigured(
                "The database's tables are not up to date. Run `dataagent-server migrate` first."
            )
        log = AuditLog(database)
        if arguments.action == "verify":
            return await _verify(log, is_json=arguments.json)
        wanted = _audit_filter(arguments)
        rows, _ = await log.list(wanted, limit=max(1, arguments.limit))
    for row in rows:
        _say(_as_json(row) if arguments.json else _as_line(row))
    return 0


async def _verify(log: AuditLog, *, is_json: bool) -> int:
    verdict = await log.verify()
    if is_json:
        _say(orjson.dumps(verdict.to_dict()).decode())
    elif verdict.is_whole:
        _say(f"intact: {verdict.checked} rows, the last hash is {verdict.head.hash}")
    else:
        _say(f"BROKEN at position {verdict.first_bad}: {verdict.problem}")
        sys.stderr.write(
            f"hint: the {verdict.checked} rows before it are intact; compare the rest with a "
            "backup.\n"
        )
    return 0 if verdict.is_whole else 1


def _audit_filter(arguments: argparse.Namespace) -> AuditFilter:
    return AuditFilter(
        user_id=arguments.of_user_id,
        action=arguments.of_action,
        outcome=arguments.of_outcome,
        run_id=arguments.of_run_id,
        since=_time(arguments.at_from),
        until=_time(arguments.at_to),
    )


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(
            f"{text!r} is not a time. Write it as 2026-01-31 or 2026-01-31T08:00Z."
        ) from None


def _as_line(row: AuditRow) -> str:
    record = row.record
    at = record.at.isoformat(timespec="seconds").replace("+00:00", "Z")
    who = record.user_id or "-"
    return f"{row.position}  {at}  {who}  {record.action}  {record.target or '-'}  {record.outcome}"


def _as_json(row: AuditRow) -> str:
    record = row.record
    fields = {
        "position": row.position,
        "at": record.at,
        "user_id": record.user_id,
        "via": record.via,
        "address": record.address,
        "action": record.action,
        "target": record.target,
        "outcome": record.outcome,
        "request_id": record.request_id,
        "session_id": record.session_id,
        "run_id": record.run_id,
        "details": _details(record.details),
        "hash": row.hash,
    }
    return orjson.dumps(fields).decode()


def _details(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:  # they were changed in the database
        return text


async def _record(audit: AuditLog, action: str, user: User, **details: str) -> None:
    """Record a change made on the command line, with the user of the machine."""
    await audit.record(
        action,
        "success",
        via="command_line",
        target=user.user_id,
        details={"username": user.username, "machine_user": _machine_user(), **details},
    )


async def _record_of_key(audit: AuditLog, action: str, user: User, key_id: str) -> None:
    """Record a change of an account's keys under the account's own name."""
    await audit.record(
        action,
        "success",
        user_id=user.user_id,
        via="command_line",
        target=key_id,
        details={"by": _machine_user()},
    )


def _machine_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may have no name for the id
        return str(os.getuid())


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
