"""`dataagent-server`: serve, worker, migrate, user, key, audit, doctor.

Each command is one function, whose imports happen when it runs, so that `--help` is quick. Data
goes to stdout, everything else to stderr; a failure is a sentence and a hint, never a traceback.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

from dataagent_core.errors import DataAgentError, Misconfigured
from dataagent_server.shutdown import error_text, failure_text

logger = logging.getLogger(__name__)
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_BEFORE_A_COMMAND = ("--home", "--log-level", "--host", "--port", "--workers")


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; exits with 0, or with 1, a sentence and a hint."""
    argv = _with_command(sys.argv[1:] if argv is None else argv)
    arguments = build_parser().parse_args(argv)
    os.umask(0o077)  # files of this process and its children are readable by their owner only
    try:
        sys.exit(_run(arguments.command, arguments))
    except DataAgentError as error:
        sys.exit(error_text(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has closed it
        sys.exit(141)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        sys.exit(error_text(Misconfigured(f"{error.strerror or error}{place}.")))
    except Exception as error:  # a bug: the traceback goes to the debug log
        logger.debug("the command failed", exc_info=error)
        hint = "`--log-level debug` shows where."
        sys.exit(failure_text(f"Internal error ({type(error).__name__}).", hint))


def _run(command: str, arguments: argparse.Namespace) -> int:
    from dataagent_server.config import load_settings
    from dataagent_server.config.flags import settings_from_flags

    if command == "doctor":
        from dataagent_server.doctor import doctor

        return doctor(settings_from_flags(arguments), is_json=arguments.json)
    settings = load_settings(**settings_from_flags(arguments))
    if command == "serve" and settings.workers > 1:
        from dataagent_server.supervise import supervise

        return supervise(settings)
    if command in ("serve", "worker"):
        from dataagent_server import serve as processes

        (processes.serve if command == "serve" else processes.work)(settings)
        return 0
    from dataagent_server import commands

    return commands.run(command, arguments, settings)


def _with_command(argv: Sequence[str]) -> list[str]:
    """The arguments with `serve` in front if they name no command."""
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in _BEFORE_A_COMMAND:
            del rest[:1]
        elif word in ("-h", "--help") or not word.startswith("-"):
            return list(argv)
        elif word.partition("=")[0] not in _BEFORE_A_COMMAND:
            break
    return ["serve", *argv]


# -- the parser -----------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    """The parser of `dataagent-server`."""
    from dataagent_server.config.flags import add_serving_flags

    parser = _Parser(
        prog="dataagent-server",
        description="DataAgent over REST, SSE and WebSocket. Without a command: serve.",
        allow_abbrev=False,
    )
    parser.add_argument("--home", dest="setting:home", default=argparse.SUPPRESS, metavar="PATH")
    parser.add_argument(
        "--log-level",
        dest="setting:log_level",
        default=argparse.SUPPRESS,
        type=str.upper,
        choices=LOG_LEVELS,
    )
    add_serving_flags(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "serve", "run the server", are_all_shown=True)
    _command(commands, "worker", "execute runs that web processes accept", are_all_shown=True)
    migrate = _command(commands, "migrate", "bring the database's tables up to date")
    migrate.add_argument("--to", metavar="REV", help="to this version of the tables, up or down")
    doctor = _command(commands, "doctor", "check everything the server needs")
    doctor.add_argument("--json", action="store_true", help="as JSON")
    _add_user_commands(commands.add_parser("user", help="list, add and change users"))
    _add_key_commands(commands.add_parser("key", help="create, list and revoke users' API keys"))
    _add_audit_commands(commands.add_parser("audit", help="check and read the audit log"))
    return parser


class _Parser(argparse.ArgumentParser):
    """argparse's, with a hint after each error."""

    def error(self, message: str) -> Any:
        """Print the error and a hint, and exit with 2."""
        self.exit(2, f"{self.prog}: {message}\nhint: `{self.prog} --help` shows the arguments.\n")


def _command(commands: Any, name: str, text: str, *, are_all_shown: bool = False) -> Any:
    """A command that takes every setting as a flag. Any: argparse's own type is private."""
    from dataagent_server.config.flags import add_flags

    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    add_flags(parser, are_all_shown=are_all_shown)
    if are_all_shown:
        parser.usage = f"{parser.prog} [--SETTING VALUE] …"
    return parser


def _add_user_commands(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _command(actions, "list", "all users")
    add = _command(actions, "add", "add a user; prompts for the password or reads it from stdin")
    add.add_argument("username")
    add.add_argument("--role", choices=("user", "admin"), default="user")
    add.add_argument("--no-password", action="store_true", help="keys and login links only")
    for name, text in (
        ("password", "set a password, from a prompt or stdin"),
        ("enable", "allow a user to log in"),
        ("disable", "log a user out and refuse new logins"),
        ("delete", "delete a user and their keys"),
        ("link", "print a one-time login link"),
    ):
        _command(actions, name, text).add_argument("username")


def _add_key_commands(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = _command(actions, "add", "create a key and print it, once")
    add.add_argument("username")
    add.add_argument("--name", default="command line", help="what the key is for")
    _command(actions, "list", "a user's keys").add_argument("username")
    revoke = _command(actions, "revoke", "revoke a key")
    revoke.add_argument("username")
    revoke.add_argument("key_id")


def _add_audit_commands(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verify = _command(actions, "verify", "check that no row was changed, removed or added")
    shown = _command(actions, "list", "the newest records first")
    for name in ("user-id", "action", "outcome", "run-id"):
        shown.add_argument(f"--{name}", dest=f"of_{name.replace('-', '_')}", metavar="VALUE")
    for name in ("from", "to"):
        shown.add_argument(f"--{name}", dest=f"at_{name}", metavar="TIME", help="ISO 8601")
    shown.add_argument("--limit", type=int, default=100)
    for each in (verify, shown):
        each.add_argument("--json", action="store_true", help="as JSON")
