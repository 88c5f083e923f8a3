"""Request and response models of files, workspaces and memories."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import Field, StringConstraints

from dataagent_core.workspace import StoredFile
from dataagent_core.workspace.file_store import Preview
from dataagent_core.workspace.manager import MAX_MEMORY_BYTES, WorkspaceSummary
from dataagent_core.workspace.memories import Memory
from dataagent_server.models.data import Description, SourceName
from dataagent_server.models.fields import Id, RequestModel, ResponseModel, SafeText, UtcTime

_VERBS = ("download", "content")
_FILE_FIELD: dict[str, Any] = {"type": "string", "format": "binary"}


class UploadedFile(ResponseModel):
    """A stored file. Messages name it by `file_id`; `url` downloads it."""

    file_id: str
    filename: str
    size: int
    content_type: str
    url: str

    @classmethod
    def of(cls, file: StoredFile) -> UploadedFile:
        """The public form of a file."""
        return UploadedFile(**_shown(file))


class FileInfo(UploadedFile):
    """One of the caller's files. `origin` says whether it was uploaded or made by a tool."""

    origin: Literal["upload", "generated"]
    session_id: str | None
    created_at: UtcTime

    @classmethod
    def of(cls, file: StoredFile) -> FileInfo:
        """The public form of a file."""
        return FileInfo(
            **_shown(file),
            origin=file.origin,
            session_id=file.session_id,
            created_at=file.created_at,
        )


class FilePreview(ResponseModel):
    """The beginning of a text file; `truncated` says whether there is more."""

    file_id: str
    filename: str
    content: str
    truncated: bool

    @classmethod
    def of(cls, preview: Preview) -> Self:
        """The public form of a preview."""
        file = preview.file
        return cls(
            file_id=file.file_id,
            filename=file.filename,
            content=preview.content,
            truncated=preview.is_truncated,
        )


class SourceUpload(RequestModel):
    """The fields of a form that makes a data source of files."""

    name: SourceName
    description: Description = ""
    file_ids: list[Id] = Field(default_factory=list[str], max_length=50)


def form_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """A form's fields, for the OpenAPI document: it is read as it arrives, not by FastAPI."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    }


FILE_FORM = form_of({"file": _FILE_FIELD}, "file")
SOURCE_FORM = form_of(
    {
        "name": {"type": "string", "minLength": 1, "maxLength": 64},
        "description": {"type": "string", "maxLength": 4000},
        "file": {"type": "array", "items": _FILE_FIELD, "maxItems": 20},
        "file_ids": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 50,
            "description": "Ids of the caller's earlier uploads.",
        },
    },
    "name",
)


def _shown(file: StoredFile) -> dict[str, Any]:
    return {
        "file_id": file.file_id,
        "filename": file.filename,
        "size": file.byte_size,
        "content_type": file.content_type,
        "url": _url(file),
    }


def _url(file: StoredFile) -> str:
    is_named = file.origin == "generated" and file.filename not in _VERBS
    last = quote(file.filename, safe="") if is_named else "download"
    return f"/api/files/{file.file_id}/{last}"


class WorkspaceInfo(ResponseModel):
    """A user's workspace: how much of the quota is used, and how many files there are.

    `path` starts at the workspaces' root. `bytes_used` counts files, memories and results.
    """

    user_id: str
    path: str
    bytes_used: int
    quota: int
    files: int

    @classmethod
    def of(cls, summary: WorkspaceSummary) -> Self:
        """The public form of a workspace."""
        return cls.model_validate(summary, from_attributes=True)


class MemoryInfo(ResponseModel):
    """A memory: a file an assistant stores about a user."""

    assistant_id: str
    path: str
    bytes: int
    updated_at: UtcTime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The public form of a memory."""
        return cls.model_validate(memory, from_attributes=True)


class MemoryBody(RequestModel):
    """The new text of a memory."""

    content: Annotated[SafeText, StringConstraints(max_length=MAX_MEMORY_BYTES)]
    assistant_id: str | None = Field(default=None, description="If sent, must match the URL.")
    path: str | None = Field(default=None, description="If sent, must match the URL.")


class MemoryContent(ResponseModel):
    """The text of a memory."""

    assistant_id: str
    path: str
    content: str
