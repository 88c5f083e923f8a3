"""Human in the loop: a request for approval, the decision on it, and who makes it.

`ActionRequest.kind` says which later calls one approval may cover. "Every call of this kind" must
cover no more than the person who chooses it has read: a tool by its name, a command by its program
and subcommand, a request by its method and server. Any other call has no kind, and is asked about
each time.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any, Final, Literal, Protocol, cast, get_args
from urllib.parse import unquote, urlsplit

from dataagent_protocol.errors import BadDecision

__all__ = [
    "ALL_DECISIONS",
    "IN_CALL",
    "ActionRequest",
    "Decision",
    "DecisionType",
    "EditedAction",
    "HITLHandler",
    "carries_data",
    "command_prefix",
]

DecisionType = Literal["approve", "reject", "edit", "respond"]
ALL_DECISIONS: tuple[DecisionType, ...] = get_args(DecisionType)
IN_CALL = "ask-"
"""The prefix of a request's id that comes from inside a call."""


class _Readable:
    """Lets fields also be read as a dictionary's: `request["name"]`, `decision.get("message")`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> tuple[str, ...]:
        """The fields' names; with them `dict(request)` works."""
        # the two classes below are dataclasses
        return tuple(each.name for each in fields(self))  # pyright: ignore[reportArgumentType]

    def get(self, name: str, default: Any = None) -> Any:
        """A field by its name, or the default if there is none of this name."""
        return getattr(self, name) if name in self.keys() else default


@dataclass(frozen=True, slots=True)
class ActionRequest(_Readable):
    """A call that waits for a person. `request_id` names it uniquely within its run."""

    name: str
    args: dict[str, Any]  # the tool's own arguments: any JSON
    description: str = ""
    request_id: str = ""
    args_schema: dict[str, Any] | None = None  # JSON schema of `args`, for those who edit them
    diff: str | None = None  # what the call would change in a file, as a unified diff

    @property
    def is_question(self) -> bool:
        """Whether a running call asks for input: a form, not an approval."""
        return self.request_id.startswith(IN_CALL)

    @property
    def kind(self) -> str | None:
        """What an approval of every call of this kind covers; None: only this call."""
        return None if self.is_question else kind_of(self.name, self.args)

    def to_dict(self) -> dict[str, Any]:
        """JSON form without the id, which is sent beside it, and with the call's kind."""
        out = {"name": self.name, "args": self.args, "description": self.description}
        more = {"args_schema": self.args_schema, "diff": self.diff, "kind": self.kind}
        return {**out, **{name: value for name, value in more.items() if value is not None}}

    @classmethod
    def from_dict(cls, data: dict[str, Any], request_id: str) -> ActionRequest:
        """The request from its JSON form, which may name an id of its own."""
        return cls(
            name=data["name"],
            args=data["args"],
            description=data.get("description", ""),
            request_id=data.get("request_id", request_id),
            args_schema=data.get("args_schema"),
            diff=data.get("diff"),
        )


@dataclass(frozen=True, slots=True)
class EditedAction:
    """The call to make instead: the same tool with other arguments."""

    name: str
    args: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Decision(_Readable):
    """The answer to an `ActionRequest`."""

    type: DecisionType
    message: str | None = None
    edited_action: EditedAction | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON form, without the fields that are not set."""
        out: dict[str, Any] = {"type": self.type}
        if self.message is not None:
            out["message"] = self.message
        if self.edited_action is not None:
            out["edited_action"] = {
                "name": self.edited_action.name,
                "args": self.edited_action.args,
            }
        return out

    @classmethod
    def of(cls, answer: Decision | Mapping[str, Any]) -> Decision:
        """A handler's answer as a decision; it may be a plain dictionary.

        Raises:
            BadDecision: it is neither, or as `from_dict`.
        """
        if isinstance(answer, Decision):
            return answer
        # an embedder's handler may be untyped
        if not isinstance(answer, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadDecision(f"A handler answers with a Decision, not {type(answer).__name__}.")
        return cls.from_dict(answer)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decision:
        """Parse a decision.

        Raises:
            BadDecision: the type is unknown, or an edit lacks its action.
        """
        kind = data.get("type")
        if kind not in ALL_DECISIONS:
            raise BadDecision(
                f"Unknown decision type {kind!r}. Use one of: {', '.join(ALL_DECISIONS)}."
            )
        message = data.get("message")
        if message is not None and not isinstance(message, str):
            raise BadDecision("A decision's 'message' is text.")
        if kind == "respond" and not message:
            raise BadDecision("A 'respond' decision needs a 'message' for the model.")
        return cls(kind, message, _edited(data.get("edited_action"), kind))


def _edited(action: object, kind: DecisionType) -> EditedAction | None:
    if kind != "edit":
        return None
    fields = cast("dict[str, Any]", action) if isinstance(action, dict) else {}  # JSON
    name, args = fields.get("name"), fields.get("args")
    if not isinstance(name, str) or not isinstance(args, dict):
        raise BadDecision("An 'edit' decision needs 'edited_action' with 'name' and 'args'.")
    return EditedAction(name, args)  # pyright: ignore[reportUnknownArgumentType] JSON object


class HITLHandler(Protocol):
    """Asks a person for a decision; a run calls the handler of its caller."""

    async def request_approval(
        self, action_request: ActionRequest, session_id: str
    ) -> Decision | Mapping[str, Any]:
        """Wait for the answer to one request; several may be asked at the same time.

        The answer is a `Decision`, or a dictionary with its fields.
        """
        ...


MAX_QUERY_CHARACTERS: Final = 200
_MIN_TOKEN_CHARACTERS: Final = 32
_MIN_TOKEN_BITS: Final = 3.5
"""Bits per character: words have fewer in so many characters, encoded data more."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]+")
_SHELL_SYNTAX: Final = frozenset(";&|<>()`$\\\n\r")
"""Characters with which one command line may hold another; quoted ones count as well."""
_COMMAND_RUNNERS: Final = frozenset(
    {
        *("!", ".", "builtin", "busybox", "chroot", "command", "coproc", "doas", "env", "eval"),
        *("exec", "find", "flock", "ionice", "nice", "nohup", "parallel", "script", "setsid"),
        *("source", "ssh", "stdbuf", "strace", "su", "sudo", "taskset", "time", "timeout"),
        *("unshare", "watch", "xargs"),
    }
)
"""Programs that run whatever command they are given: their first words say nothing about it."""


def kind_of(name: str, args: Mapping[str, object]) -> str | None:
    """The kind of a call of a tool; two calls of one kind may be approved together."""
    if "command" in args:
        command = args["command"]
        prefix = command_prefix(command) if isinstance(command, str) else None
        return None if prefix is None else f"{name}: {prefix}"
    if isinstance(url := args.get("url"), str):
        server = _server(url)
        method = str(args.get("method") or "GET").upper()
        return None if server is None else f"{name}: {method} {server}"
    return name


def command_prefix(command: str) -> str | None:
    """The program and its words up to the first that is no option: `git status`, `ls -l src`.

    None for a line that may run more than one command, or a command that is not its first word.
    """
    if _SHELL_SYNTAX & set(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark is not closed
        return None
    if not words or "=" in words[0] or PurePosixPath(words[0]).name in _COMMAND_RUNNERS:
        return None
    end = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    return shlex.join(words[: end + 1])


def carries_data(url: str) -> bool:
    """Whether the query of an address is long, or has a part that looks like encoded data."""
    try:
        query = urlsplit(url).query
    except ValueError:
        return True
    if len(query) > MAX_QUERY_CHARACTERS:
        return True
    return any(_is_dense(token) for token in _TOKEN.findall(unquote(query)))


def _is_dense(token: str) -> bool:
    if len(token) < _MIN_TOKEN_CHARACTERS:
        return False
    shares = [count / len(token) for count in Counter(token).values()]
    return -sum(share * math.log2(share) for share in shares) >= _MIN_TOKEN_BITS


def _server(url: str) -> str | None:
    """Scheme, host and port; None if the address may carry data, or names a user."""
    try:
        parts = urlsplit(url.strip())
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return None
    if not parts.hostname or "@" in parts.netloc or carries_data(url):
        return None
    return f"{parts.scheme}://{parts.hostname}{port}"
