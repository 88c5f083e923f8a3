"""What `dataagent-server migrate`, `user`, `key` and `doctor` do.

They open the database, not the whole core, and work beside a running server. Above: `cli.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dataagent_core.errors import DataAgentError, NotFound
from dataagent_core.identity.users import User, UserStore
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate, pending
from dataagent_core.telemetry import configure_logging
from dataagent_server.config import ServerSettings


def run(command: str, arguments: argparse.Namespace, settings: ServerSettings) -> int:
    """Carry out a command; the exit status."""
    configure_logging(settings, secrets=settings.deployment_secrets)
    match command:
        case "migrate":
            return asyncio.run(_migrate(settings))
        case "doctor":
            return asyncio.run(_doctor(settings))
        case "user":
            return asyncio.run(_user(arguments, settings))
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
async def _users(settings: ServerSettings) -> AsyncGenerator[UserStore]:
    async with _database(settings) as database:
        await migrate(database)
        users = UserStore(database)
        try:
            yield users
        finally:
            users.close()


async def _migrate(settings: ServerSettings) -> int:
    async with _database(settings) as database:
        was_behind = await pending(database)
        await migrate(database)
    _say("tables brought up to date" if was_behind else "tables are up to date")
    return 0


# -- users ----------------------------------------------------------------------------------


async def _user(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _users(settings) as users:
        match arguments.action:
            case "list":
                for user in await users.list():
                    _say(f"{user.user_id}  {user.username}  {user.role}  {user.status}")
            case "add":
                password = None if arguments.no_password else _read_password()
                added = await users.create(arguments.username, password, role=arguments.role)
                _say(added.user_id)
            case action:
                await _change_user(users, await _named(users, arguments.username), action)
    return 0


async def _change_user(users: UserStore, user: User, action: str) -> None:
    match action:
        case "password":
            await users.set_password(user.user_id, _read_password())
        case "enable":
            await users.set_status(user.user_id, "active")
        case "disable":
            await users.set_status(user.user_id, "disabled")
        case "delete":
            await users.delete(user.user_id)
        case _:
            _say(f"/login?token={await users.links.create(user.user_id)}")


async def _named(users: UserStore, username: str) -> User:
    user = await users.by_username(username)
    if user is None:
        raise NotFound(f"There is no user {username!r}. See `dataagent-server user list`.")
    return user


def _read_password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\n")


# -- keys -----------------------------------------------------------------------------------


async def _key(arguments: argparse.Namespace, settings: ServerSettings) -> int:
    async with _users(settings) as users:
        user = await _named(users, arguments.username)
        match arguments.action:
            case "create":
                _, secret = await users.keys.create(user.user_id, arguments.name)
                _say(secret)
            case "list":
                for key in await users.keys.list(user.user_id):
                    used = key.last_used.isoformat() if key.last_used else "never used"
                    _say(f"{key.key_id}  {key.prefix}…  {key.name}  {used}")
            case _:
                await users.keys.revoke(arguments.key_id, owner=user.user_id)
    return 0


# -- doctor ---------------------------------------------------------------------------------


async def _doctor(settings: ServerSettings) -> int:
    """Say of each part whether it is fit; 1 if one is not."""
    verdicts = [
        _home_verdict(settings),
        await _database_verdict(settings),
        _model_verdict(settings),
    ]
    verdicts.append(_auth_verdict(settings))
    for is_fit, text in verdicts:
        _say(f"{'ok ' if is_fit else 'BAD'}  {text}")
    return 0 if all(is_fit for is_fit, _ in verdicts) else 1


def _home_verdict(settings: ServerSettings) -> tuple[bool, str]:
    try:
        home = settings.ensure_home()
    except OSError as error:
        return False, f"data directory {settings.home_dir}: {error.strerror}"
    return os.access(home, os.W_OK), f"data directory {home}"


async def _database_verdict(settings: ServerSettings) -> tuple[bool, str]:
    try:
        async with _database(settings) as database:
            await database.ping()
            state = "tables to be made at start" if await pending(database) else "up to date"
            return True, f"database ({database.dialect}), {state}"
    except DataAgentError as error:
        return False, f"database: {error.message}"


def _model_verdict(settings: ServerSettings) -> tuple[bool, str]:
    try:
        settings.create_model()
    except DataAgentError as error:
        return False, f"model {settings.default_model}: {error.message}"
    return True, f"model {settings.default_model}"


def _auth_verdict(settings: ServerSettings) -> tuple[bool, str]:
    if settings.auth_disabled:
        return True, f"authentication is disabled (listening on {settings.host})"
    count = len(settings.api_keys) + len(settings.admin_api_keys)
    return True, f"authentication is on, {count} deployment keys"


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
