"""A run and its parts, as plain data.

A run is one user message being answered. Its events are numbered per session; `Batch` is how a
store holds consecutive events of one run, `Entry` how a reader gets one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import orjson

from dataagent_core.errors import BadInput, QueueFull, TooManyRuns
from dataagent_core.events import AnyEvent, event_from_dict
from dataagent_core.hitl import ActionRequest, Decision, DecisionType
from dataagent_core.session.types import MessageStatus

RunStatus = Literal["queued", "running", "waiting", "done", "cancelled", "failed"]
_RETRY_AFTER_SECONDS = 5
ACTIVE: frozenset[RunStatus] = frozenset({"queued", "running", "waiting"})


@dataclass(frozen=True, slots=True)
class Approval:
    """A stored request for a decision; it survives connections and processes."""

    request_id: str
    run_id: str
    session_id: str
    action: ActionRequest
    allowed: tuple[DecisionType, ...]
    created_at: datetime
    expires_at: datetime
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class RuleRoute:
    """The decision of a rule about a message to the supervisor."""

    rule: str
    note: str  # for the user
    is_known: bool  # the rule names an agent that exists; otherwise the note is the answer


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run works on and under which rules, in whichever process executes it.

    Stored as JSON (`to_dict`), where a field with its default is left out.
    """

    message: str = ""
    compact: str | None = None  # summarise the thread instead; what the summary must not leave out
    files: tuple[dict[str, Any], ...] = ()  # `StoredFile.reference` of each
    skill: str | None = None
    tenant_id: str | None = None
    route: RuleRoute | None = None
    speaker: str | None = None  # the name of the chosen agent, which its events carry
    answered_by: str | None = None  # the agent that the supervisor handed the run to
    auto_approve: bool | None = None
    api_key_id: str | None = None
    is_plan: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_tokens: int | None = None
    model: str | None = None
    has_account: bool = False
    role: str | None = None
    traceparent: str | None = None  # the position of the run in the trace of its request

    def to_dict(self) -> dict[str, Any]:
        """The input as JSON."""
        stored: dict[str, Any] = {"message": self.message}
        for name, default in _INPUT_DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                stored[name] = (
                    list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
                )
        if self.route is not None:
            stored["route"] = asdict(self.route)
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RunInput:
        """The input from its JSON; keys of other versions are ignored."""
        known: dict[str, Any] = {name: stored[name] for name in _INPUT_DEFAULTS if name in stored}
        for name, value in known.items():
            if isinstance(value, list):
                known[name] = tuple(cast("list[Any]", value))
        if "route" in known:
            known["route"] = RuleRoute(**known["route"])
        return cls(**known)


_INPUT_DEFAULTS = {each.name: each.default for each in fields(RunInput)}


@dataclass(frozen=True, slots=True)
class Run:
    """One message being answered, or answered."""

    run_id: str
    session_id: str
    user_id: str
    assistant_id: str
    status: RunStatus
    attempt: int
    created_at: datetime
    message_id: str
    answer_id: str
    client_message_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = None
    cancel_requested: bool = False
    token_usage: dict[str, int] | None = None
    error: dict[str, Any] | None = None
    input: RunInput = field(default_factory=RunInput)

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended."""
        return self.status in ACTIVE


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a caller may choose for one run. Tools are named by patterns such as `sql_*`."""

    auto_approve: bool | None = None
    file_ids: tuple[str, ...] = ()
    skill: str | None = None
    api_key_id: str | None = None  # the caller's, whose list of MCP tools holds for the run
    is_plan: bool = False  # the agent describes what it would do and changes nothing
    allow: tuple[str, ...] = ()  # tools that run without approval
    deny: tuple[str, ...] = ()  # tools that may not be called
    max_tokens: int | None = None  # the run ends when it has used so many
    model: str | None = None  # answers in place of the agent's own
    has_account: bool = False  # the run ends when its user's account does
    role: str | None = None  # the caller's, for policies of data sources

    def __post_init__(self) -> None:
        """Check the budget.

        Raises:
            BadInput: it is below one token.
        """
        if self.max_tokens is not None and self.max_tokens < 1:
            raise BadInput("A run's budget is at least one token.")

    def apply_to(self, run_input: RunInput) -> RunInput:
        """The input with these options."""
        return replace(
            run_input,
            auto_approve=self.auto_approve,
            api_key_id=self.api_key_id,
            is_plan=self.is_plan,
            allow=self.allow,
            deny=self.deny,
            max_tokens=self.max_tokens,
            model=self.model,
            has_account=self.has_account,
            role=self.role,
        )


@dataclass(frozen=True, slots=True)
class StartedRun:
    """The outcome of `RunService.start`. Events of the run have a `seq` above `after`."""

    run: Run
    after: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """The limits of concurrent runs; 0 is no limit."""

    max_per_user: int = 0
    max_queued: int = 0

    def check_user(self, active: int) -> None:
        """Refuse one more run of a user with so many active ones.

        Raises:
            TooManyRuns: they are at their limit.
        """
        if self.max_per_user and active >= self.max_per_user:
            raise self.user_limit_error(active)

    def check_queue(self, queued: int) -> None:
        """Refuse one more run that would have to wait.

        Raises:
            QueueFull: the queue is at its limit.
        """
        if self.max_queued and queued >= self.max_queued:
            raise self.queue_full_error(queued)

    def user_limit_error(self, active: int) -> TooManyRuns:
        """The error for a user at their limit of runs."""
        return TooManyRuns(
            f"You have {active} active runs, the maximum. Wait for one to end, or cancel one.",
            details={"limit": self.max_per_user, "used": active},
            retry_after_seconds=_RETRY_AFTER_SECONDS,
        )

    def queue_full_error(self, queued: int) -> QueueFull:
        """The error for a full queue."""
        return QueueFull(
            f"{queued} runs wait for a worker, the maximum. Try again later.",
            details={"limit": self.max_queued, "used": queued},
            retry_after_seconds=_RETRY_AFTER_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be opened: user message, run and empty answer are committed together."""

    run_id: str
    session_id: str
    user_id: str
    assistant_id: str
    message_id: str
    answer_id: str
    content: str
    created_at: datetime
    client_message_id: str | None = None
    title: str | None = None  # for the session, while it has the default one
    limits: ConcurrencyLimits | None = None  # that the store enforces: several processes open runs
    input: RunInput = field(default_factory=RunInput)
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """The outcome of `RunStore.open`. Not `is_new`: the `client_message_id` was seen before."""

    run: Run
    last_seq: int
    is_new: bool


class Batch(NamedTuple):
    """Consecutive events of one run, `first_seq` to `last_seq`, in wire form."""

    session_id: str
    run_id: str
    attempt: int
    first_seq: int
    last_seq: int
    wires: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run, which `RunStore.close` commits with the last events."""

    status: Literal["done", "cancelled", "failed"]
    message_status: MessageStatus
    content: str
    ended_at: datetime
    token_usage: dict[str, int] | None = None
    error: dict[str, Any] | None = None
    bytes_used: int = 0  # of the run's message, answer and events


@dataclass(frozen=True)
class Entry:
    """One numbered event as a reader gets it; `wire` is shared by all readers."""

    seq: int
    run_id: str
    wire: bytes

    @cached_property
    def event(self) -> AnyEvent:
        """The event itself."""
        return event_from_dict(orjson.loads(self.wire))

    @property
    def event_type(self) -> str:
        """The event's type, without parsing: `event_to_wire` writes it first."""
        start = len(b'{"event_type":"')
        return self.wire[start : self.wire.index(b'"', start)].decode()


def entries_of(batch_wires: Sequence[bytes], first_seq: int, run_id: str) -> list[Entry]:
    """The entries of a batch."""
    return [Entry(first_seq + i, run_id, wire) for i, wire in enumerate(batch_wires)]
