"""What the commands over data need: the data runtime, the reader, and the streams.

The user of this machine's terminal owns the data directory, so they administer its sources.
Policies apply to them as to anyone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dataagent_core.data.service import errors_naming
from dataagent_core.errors import SourceUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from dataagent_cli.streams import Streams
    from dataagent_cli.ui.graphics import Graphics
    from dataagent_core.config import Prices
    from dataagent_core.data.catalogue import CatalogueState
    from dataagent_core.data.runtime import DataRuntime
    from dataagent_core.data.service import DataService
    from dataagent_core.data.sources import Source
    from dataagent_core.data.types import Reader


@dataclass(frozen=True, slots=True)
class DataCommandContext:
    """The data runtime and the streams of one user's commands."""

    data: DataRuntime
    user_id: str
    streams: Streams
    prices: Prices | None = None
    outputs: Path | None = None  # the folder of pictures; None: the working folder
    graphics: Graphics | None = None  # the terminal's protocol for pictures, if it has one
    command_prefix: str = "dataagent "  # before a command's name; `/` in a conversation

    @property
    def service(self) -> DataService:
        """The data service."""
        return self.data.service

    async def reader(self) -> Reader:
        """The user as a reader of the data service."""
        return await self.service.reader(self.user_id, role="admin")

    async def fresh_catalogue(self, source: Source) -> CatalogueState:
        """The source's catalogue as it is now.

        Raises:
            SourceUnavailable: it cannot be read now.
        """
        with errors_naming(source):
            reader = await self.reader()
            state = await self.service.catalogue_state(source, reader, is_fresh=True)
            if state.problem:
                raise SourceUnavailable(state.problem)
            return state
