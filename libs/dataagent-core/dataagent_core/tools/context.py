"""What a tool can be built from. Made once, where the core is put together.

A part that a process does not have is None; a tool that needs it is not offered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dataagent_core.config import Settings
from dataagent_core.documents.reader import DocumentReader
from dataagent_core.sandbox.observer import CodeObserver
from dataagent_core.tools.outbound import OutboundClient
from dataagent_core.tools.research import Research

if TYPE_CHECKING:
    from dataagent_core.data.chart_service import ChartService
    from dataagent_core.data.service import DataService
    from dataagent_core.data.uploaded_sources import UploadedSources
    from dataagent_core.sandbox import Sandboxes
    from dataagent_core.workspace import FileStore, UserWorkspaceManager


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The services that tools use. `research` counts the searches of all tools."""

    settings: Settings
    client: OutboundClient
    documents: DocumentReader = field(default_factory=DocumentReader)
    research: Research = field(default_factory=Research)
    data: DataService | None = None
    charts: ChartService | None = None
    files: FileStore | None = None
    sources: UploadedSources | None = None
    workspaces: UserWorkspaceManager | None = None
    sandboxes: Sandboxes | None = None
    watch: CodeObserver = field(default_factory=CodeObserver)
