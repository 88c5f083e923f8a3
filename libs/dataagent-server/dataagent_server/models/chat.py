"""Request and response models of messages, runs and approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from dataagent_core.agents.types import SUPERVISOR
from dataagent_core.hitl import DecisionType
from dataagent_core.runs.types import Approval, Run, RunStatus
from dataagent_server.models.fields import (
    Id,
    MessageText,
    Name,
    RequestModel,
    ResponseModel,
    SafeJson,
    SafeText,
    UtcTime,
)

_MOST_PATTERNS = 100
_MOST_TOKENS = 2**31 - 1
ToolPattern = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.*?\[\]!-]{1,128}$")]
"""Names tools, with the wildcards of a shell."""


class ChatInput(RequestModel):
    """A user's message. The same `client_message_id` twice in a session is one run.

    In `mode` "plan" nothing is changed: the agent says what it would do. Tools that a pattern of
    `deny` names (`sql_*`) are not called. The run ends when it has used `max_tokens`.
    """

    message: MessageText
    assistant_id: Name | None = None
    file_ids: list[Id] | None = None
    skill: Name | None = None
    client_message_id: Id | None = None
    mode: Literal["plan"] | None = None
    deny: Annotated[list[ToolPattern], Field(max_length=_MOST_PATTERNS)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_MOST_TOKENS)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _keeps_approvals(cls, given: Any) -> Any:
        """Which tools need approval is the administrator's choice."""
        if isinstance(given, dict) and "allow" in given:
            raise PydanticCustomError(
                "approvals",
                "A caller cannot allow tools on a server: answer each request, or have an "
                "administrator set DATAAGENT_AUTO_APPROVE",
            )
        return given  # pyright: ignore[reportUnknownVariableType] JSON, checked next


class ChatRequest(ChatInput):
    """A user's message, and the session it belongs to if there is one."""

    session_id: Id | None = None


class ChatResponse(ResponseModel):
    """A run's events until its end, or until it waits for an approval."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    session_id: str
    run_id: str = ""
    status: RunStatus = "done"
    events: list[dict[str, Any]]


class ChatAccepted(ResponseModel):
    """A stored message and its run; the events are at `/runs/{run_id}/events`."""

    session_id: str
    run_id: str
    message_id: str
    status: RunStatus

    @classmethod
    def of(cls, run: Run) -> ChatAccepted:
        """A run that was just started, or found again."""
        return cls(
            session_id=run.session_id,
            run_id=run.run_id,
            message_id=run.message_id,
            status=run.status,
        )


class CancelResponse(ResponseModel):
    """Cancellation was requested."""

    session_id: str
    run_id: str
    status: Literal["cancelled", "cancelling"]

    @classmethod
    def of(cls, run: Run) -> CancelResponse:
        """How far the stop has come: another process may still be carrying it out."""
        status = "cancelling" if run.is_active else "cancelled"
        return cls(session_id=run.session_id, run_id=run.run_id, status=status)


class EditedActionIn(RequestModel):
    """The call to run instead."""

    name: SafeText
    args: SafeJson


class DecisionRequest(RequestModel):
    """The answer to an approval request."""

    type: DecisionType
    message: SafeText | None = None
    edited_action: EditedActionIn | None = None


class ActionInfo(ResponseModel):
    """The call to approve."""

    name: str
    args: dict[str, Any]
    description: str


class ApprovalInfo(ResponseModel):
    """An approval request; `decision` is set once it was answered."""

    request_id: str
    run_id: str
    action: ActionInfo
    allowed: list[DecisionType]
    created_at: UtcTime
    expires_at: UtcTime
    decision: dict[str, Any] | None = None

    @classmethod
    def of(cls, approval: Approval) -> ApprovalInfo:
        """The public form of an approval."""
        action = approval.action
        return cls(
            request_id=approval.request_id,
            run_id=approval.run_id,
            action=ActionInfo(name=action.name, args=action.args, description=action.description),
            allowed=list(approval.allowed),
            created_at=approval.created_at,
            expires_at=approval.expires_at,
            decision=approval.decision.to_dict() if approval.decision else None,
        )


class RunInfo(ResponseModel):
    """A run and what it waits for."""

    run_id: str
    session_id: str
    assistant_id: str
    status: RunStatus
    attempt: int
    created_at: UtcTime
    started_at: UtcTime | None
    ended_at: UtcTime | None
    token_usage: dict[str, int] | None
    error: dict[str, Any] | None = None
    pending: list[ApprovalInfo]

    @classmethod
    def of(cls, run: Run, pending: Sequence[Approval] = ()) -> RunInfo:
        """The public form of a run."""
        return cls(
            run_id=run.run_id,
            session_id=run.session_id,
            assistant_id=run.assistant_id,
            status=run.status,
            attempt=run.attempt,
            created_at=run.created_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            token_usage=run.token_usage,
            error=run.error,
            pending=[ApprovalInfo.of(approval) for approval in pending],
        )


class WebChatRequest(RequestModel):
    """A user's message in a conversation, for one agent or for automatic routing.

    The same `client_message_id` twice in a conversation is one run.
    """

    model_config = ConfigDict(
        json_schema_extra={"example": {"thread_id": "0badcafe", "message": "Sales by country?"}}
    )

    thread_id: Id
    message: MessageText
    agent: Name | None = None
    skill: Name | None = None
    file_ids: list[Id] | None = None
    client_message_id: Id | None = None

    @property
    def chat(self) -> ChatInput:
        """The message as every transport passes it to the core."""
        return ChatInput(
            message=self.message,
            assistant_id=self.agent or SUPERVISOR,
            file_ids=self.file_ids,
            skill=self.skill,
            client_message_id=self.client_message_id,
        )
