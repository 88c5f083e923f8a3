"""A typed client of DataAgent servers: chat as an async iterator of core's events.

async with DataAgentClient("http://127.0.0.1:8000", api_key) as client:
    async for item in client.chat("How many users are there?"):
        print(item.seq, item.event)
"""

from dataagent_client.backoff import Backoff
from dataagent_client.client import DataAgentClient, OnApproval
from dataagent_client.errors import (
    ApiError,
    ClientError,
    ConflictError,
    ConnectionFailed,
    EventsLost,
    LimitError,
    NotAuthenticatedError,
    NotFoundError,
    ProtocolError,
    UnavailableError,
)
from dataagent_client.models import (
    Cancelled,
    ChatResult,
    Health,
    MessageInfo,
    Page,
    PendingApproval,
    RunInfo,
    SessionInfo,
)
from dataagent_client.wire import Received

__all__ = [
    "ApiError",
    "Backoff",
    "Cancelled",
    "ChatResult",
    "ClientError",
    "ConflictError",
    "ConnectionFailed",
    "DataAgentClient",
    "EventsLost",
    "Health",
    "LimitError",
    "MessageInfo",
    "NotAuthenticatedError",
    "NotFoundError",
    "OnApproval",
    "Page",
    "PendingApproval",
    "ProtocolError",
    "Received",
    "RunInfo",
    "SessionInfo",
    "UnavailableError",
]
