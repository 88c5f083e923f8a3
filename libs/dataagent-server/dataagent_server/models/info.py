"""What an installation tells its pages about itself."""

from __future__ import annotations

from pydantic import Field

from dataagent_server import __version__
from dataagent_server.config import ServerSettings
from dataagent_server.models.fields import ResponseModel

_OFFLINE = "offline"


def is_offline(settings: ServerSettings) -> bool:
    """Whether answers come by rule, because no language model is set up."""
    return settings.default_model == _OFFLINE


class Info(ResponseModel):
    """The installation, as far as its pages need to know it."""

    version: str
    model: str | None = Field(description="Null for who is not logged in.", examples=["offline"])
    is_offline: bool = Field(description="Answers come by rule: no language model is set up.")
    max_upload_bytes: int = Field(examples=[10_485_760])
    sandbox: bool = Field(description="Agents can run code here.")
    multi_tenant: bool
    auth_disabled: bool = Field(description="Everyone is let in as an administrator.")

    @classmethod
    def of(cls, settings: ServerSettings, *, is_known: bool, has_sandbox: bool) -> Info:
        """Of a server with these settings."""
        model = settings.default_model
        return cls(
            version=__version__,
            model=model if is_known else None,
            is_offline=is_offline(settings),
            max_upload_bytes=settings.max_upload_bytes,
            sandbox=has_sandbox,
            multi_tenant=settings.multi_tenant,
            auth_disabled=settings.auth_disabled,
        )
