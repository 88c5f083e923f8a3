"""`dataagent-server`: serve, migrate, user, key, doctor.

Parses the command line and calls one function each. Imports what a command needs when it runs, so
that `--help` is quick. Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from dataagent_core.errors import DataAgentError

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; exits with 0, or with 1 and a sentence that says what to do."""
    arguments = _parser().parse_args(argv)
    command = arguments.command or "serve"
    try:
        sys.exit(_run(command, arguments))
    except DataAgentError as error:
        sys.exit(f"dataagent-server: {error.message}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(command: str, arguments: argparse.Namespace) -> int:
    from dataagent_server.config import load_settings

    settings = load_settings(**_overrides(arguments))
    if command == "serve":
        from dataagent_server.serve import serve

        serve(settings)
        return 0
    from dataagent_server import commands

    return commands.run(command, arguments, settings)


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("host", "port", "workers", "log_level", "home", "model")
    return {name: getattr(arguments, name, None) for name in names}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dataagent-server",
        description="DataAgent over REST, SSE and WebSocket. Without a command: serve.",
    )
    _add_common(parser)
    _add_serve_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="run the server")
    _add_common(serve)
    _add_serve_options(serve)
    for name, text in (
        ("migrate", "bring the database's tables up to date"),
        ("doctor", "look at the settings and what they need, and say what is wrong"),
    ):
        _add_common(commands.add_parser(name, help=text))
    _add_user_commands(commands.add_parser("user", help="list, add and change users"))
    _add_key_commands(commands.add_parser("key", help="make, list and revoke users' API keys"))
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--home", default=argparse.SUPPRESS, help="data directory (DATAAGENT_HOME)")
    parser.add_argument(
        "--log-level",
        default=argparse.SUPPRESS,
        type=str.upper,
        choices=LOG_LEVELS,
        help="what goes to the log (DATAAGENT_LOG_LEVEL)",
    )


def _add_serve_options(parser: argparse.ArgumentParser) -> None:
    suppress = argparse.SUPPRESS
    parser.add_argument("--host", default=suppress, help="address to listen on (DATAAGENT_HOST)")
    parser.add_argument("--port", default=suppress, type=int, help="port (DATAAGENT_PORT)")
    parser.add_argument(
        "--workers", default=suppress, type=int, help="processes (DATAAGENT_WORKERS)"
    )
    parser.add_argument("--model", default=suppress, help="default model (DATAAGENT_MODEL)")


def _add_user_commands(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="all users")
    add = actions.add_parser("add", help="add a user; the password is read from stdin")
    add.add_argument("username")
    add.add_argument("--role", choices=("user", "admin"), default="user")
    add.add_argument("--no-password", action="store_true", help="keys and login links only")
    for name, text in (
        ("password", "set a password, read from stdin"),
        ("enable", "let a user in"),
        ("disable", "keep a user out"),
        ("delete", "remove a user with their keys"),
        ("link", "print a one-time login token"),
    ):
        actions.add_parser(name, help=text).add_argument("username")


def _add_key_commands(parser: argparse.ArgumentParser) -> None:
    _add_common(parser)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key and print it, once")
    create.add_argument("username")
    create.add_argument("--name", default="command line", help="what the key is for")
    actions.add_parser("list", help="a user's keys").add_argument("username")
    revoke = actions.add_parser("revoke", help="end a key")
    revoke.add_argument("username")
    revoke.add_argument("key_id")
