"""The tools of servers that a configuration file names: kept in memory, with passing numbers.

Their numbers are negative, so that none is taken for a row's; a tool keeps its number until its
server is forgotten. Above: `catalogue.py`, `manager.py`. Below: `merge.py`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from dataagent_core.mcp.catalogue.merge import (
    CatalogueEntry,
    SyncReport,
    ToolListing,
    merge,
    report,
)
from dataagent_core.mcp.types import CatalogueTool, ServerSpec


class FileTools:
    """The tools of a process's own servers."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, CatalogueEntry]] = {}
        self._tools: dict[int, CatalogueTool] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._last_number = 0
        self._versions: dict[tuple[int, str], int] = {}
        self._following: dict[int, int] = {}

    def tools_of(self, server_id: str) -> tuple[CatalogueTool, ...]:
        """A server's tools, in the order they were first listed."""
        return tuple(each.tool for each in self._servers.get(server_id, {}).values())

    def get(self, tool_id: int) -> CatalogueTool | None:
        """The tool of that number."""
        return self._tools.get(tool_id)

    def sync(self, spec: ServerSpec, seen: ToolListing) -> SyncReport:
        """Make a server's tools those it lists."""
        before = self._with_alias(spec)
        after = merge(
            before,
            seen,
            spec,
            versions=self._versions,
            next_versions=self._following,
            at=datetime.now(UTC),
        )
        numbered = [self._numbered(each) for each in after]
        self._put(spec.server_id, numbered)
        return report(before, numbered, seen.warnings)

    def forget(self, server_id: str) -> None:
        """Have a server's tools no longer."""
        self._put(server_id, [])
        self._servers.pop(server_id, None)
        gone = set(self._numbers.pop(server_id, {}).values())
        self._versions = {key: value for key, value in self._versions.items() if key[0] not in gone}
        for number in gone:
            self._following.pop(number, None)

    def _with_alias(self, spec: ServerSpec) -> dict[str, CatalogueEntry]:
        """What is known of a server; nothing if its tools have other names now."""
        known = self._servers.get(spec.server_id, {})
        start = f"{spec.alias}__"
        return known if all(s.tool.exposed_name.startswith(start) for s in known.values()) else {}

    def _numbered(self, entry: CatalogueEntry) -> CatalogueEntry:
        tool = entry.tool
        numbers = self._numbers.setdefault(tool.server_id, {})
        if tool.name not in numbers:
            self._last_number -= 1
            numbers[tool.name] = self._last_number
        number = numbers[tool.name]
        self._versions[number, tool.definition_hash] = tool.schema_version
        following = max(self._following.get(number, 1), tool.schema_version + 1)
        self._following[number] = following
        return replace(entry, tool=replace(tool, tool_id=number))

    def _put(self, server_id: str, standings: list[CatalogueEntry]) -> None:
        for tool in self.tools_of(server_id):
            self._tools.pop(tool.tool_id, None)
        self._servers[server_id] = {each.tool.name: each for each in standings}
        self._tools |= {each.tool.tool_id: each.tool for each in standings}
