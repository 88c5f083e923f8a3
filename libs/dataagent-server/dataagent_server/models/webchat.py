"""A message on `/api/chat`."""

from __future__ import annotations

from pydantic import ConfigDict

from dataagent_core.agents.types import SUPERVISOR
from dataagent_server.models.chat import ChatInput
from dataagent_server.models.fields import Id, MessageText, Name, RequestModel


class WebChatRequest(RequestModel):
    """A user's message in a conversation, for one agent or for whoever fits.

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
        """The message as every door gives it to the core."""
        return ChatInput(
            message=self.message,
            assistant_id=self.agent or SUPERVISOR,
            file_ids=self.file_ids,
            skill=self.skill,
            client_message_id=self.client_message_id,
        )
