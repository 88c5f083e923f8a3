"""Merges a server's list of tools into the catalogue.

`FileTools` stores the tools of servers from configuration files in memory, with negative numbers so
that none is taken for a row's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from dataagent_core.mcp.catalogue.definitions import BadDefinition, exposed_name, hash_of, sanitize
from dataagent_core.mcp.catalogue.validation import compile_check
from dataagent_core.mcp.types import CatalogueTool, RemoteTool, ServerSpec, ToolStatus


@dataclass(frozen=True, slots=True)
class ToolListing:
    """A server's usable tools, and warnings about the others."""

    tools: Mapping[str, tuple[RemoteTool, str]]
    """By name, with the hash of each."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A tool of the catalogue and the hash of its approved definition."""

    tool: CatalogueTool
    approved_hash: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a list of tools changed, by the tools' names."""

    tools: tuple[CatalogueTool, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the catalogue changed."""
        return any((self.added, self.changed, self.quarantined, self.removed, self.restored))


async def prepare_listing(tools: Sequence[RemoteTool]) -> ToolListing:
    """Clean and hash a list of tools and compile their schemas, off the event loop."""
    return await asyncio.to_thread(build_listing, tools)


def build_listing(tools: Sequence[RemoteTool]) -> ToolListing:
    """As `prepare_listing`, blocking. Of two tools with one name the first is used."""
    found: dict[str, tuple[RemoteTool, str]] = {}
    warnings: list[str] = []
    for given in tools:
        shown = ascii(given.name[:80])
        try:
            tool = sanitize(given)
            compile_check(tool)
        except BadDefinition as error:
            warnings.append(f"Tool {shown} is left out: {error}.")
            continue
        if tool.name in found:
            warnings.append(f"Tool {shown} is listed twice; the first is used.")
            continue
        found[tool.name] = (tool, hash_of(tool))
    return ToolListing(found, tuple(warnings))


def removes_unseen(spec: ServerSpec) -> bool:
    """Whether a tool that is not listed counts as removed.

    What a user sees of a shared server with credentials of their own says nothing about others.
    """
    return spec.scope in ("user", "file") or spec.session_scope == "shared"


def merge(
    known: Mapping[str, CatalogueEntry],
    seen: ToolListing,
    spec: ServerSpec,
    *,
    versions: Mapping[tuple[int, str], int],
    next_versions: Mapping[int, int],
    at: datetime,
) -> list[CatalogueEntry]:
    """Return every tool of a server after a list arrived; new ones have number 0.

    `versions` are the numbers of definitions seen before by tool and hash; `next_versions` what
    a definition that was never seen gets.
    """
    taken = {entry.tool.exposed_name for entry in known.values()}
    merged: list[CatalogueEntry] = []
    for name, (definition, digest) in seen.tools.items():
        entry = known.get(name)
        if entry is None:
            exposed = exposed_name(spec.alias, name, taken)
            taken.add(exposed)
            merged.append(CatalogueEntry(_new(spec, definition, digest, exposed, at), digest))
            continue
        tool = entry.tool
        version = tool.schema_version
        if digest != tool.definition_hash:
            version = versions.get((tool.tool_id, digest), next_versions.get(tool.tool_id, 1))
        approved = digest if spec.on_change == "accept" else entry.approved_hash
        status: ToolStatus = "active" if approved == digest else "quarantined"
        is_looked_at = spec.scope != "file" and approved == entry.approved_hash
        now = replace(
            tool,
            definition=definition,
            definition_hash=digest,
            schema_version=version,
            status=status,
            approved_by=tool.approved_by if is_looked_at else _confirmed_by(spec, name),
            last_seen_at=at,
        )
        merged.append(CatalogueEntry(now, approved))
    if removes_unseen(spec):
        gone = (each for name, each in known.items() if name not in seen.tools)
        merged += [replace(each, tool=replace(each.tool, status="removed")) for each in gone]
    else:
        merged += [each for name, each in known.items() if name not in seen.tools]
    return merged


def _confirmed_by(spec: ServerSpec, name: str) -> str | None:
    """Who confirmed that a tool only reads, before this definition was reviewed."""
    return f"file:{spec.name}" if name in spec.read_only_tools else None


def _new(
    spec: ServerSpec, definition: RemoteTool, digest: str, exposed: str, at: datetime
) -> CatalogueTool:
    return CatalogueTool(
        tool_id=0,
        server_id=spec.server_id,
        name=definition.name,
        exposed_name=exposed,
        definition=definition,
        definition_hash=digest,
        schema_version=1,
        status="active",
        approved_by=_confirmed_by(spec, definition.name),
        first_seen_at=at,
        last_seen_at=at,
    )


def report(
    before: Mapping[str, CatalogueEntry], after: Sequence[CatalogueEntry], warnings: Sequence[str]
) -> SyncReport:
    """Compare a server's tools before and after a list arrived."""
    names: dict[str, list[str]] = {
        "added": [], "changed": [], "quarantined": [], "removed": [], "restored": []
    }  # fmt: skip
    for entry in after:
        if what := _what_changed(before.get(entry.tool.name), entry.tool):
            names[what].append(entry.tool.name)
    return SyncReport(
        tools=tuple(entry.tool for entry in after),
        added=tuple(names["added"]),
        changed=tuple(names["changed"]),
        quarantined=tuple(names["quarantined"]),
        removed=tuple(names["removed"]),
        restored=tuple(names["restored"]),
        warnings=tuple(warnings),
    )


def _what_changed(old: CatalogueEntry | None, new: CatalogueTool) -> str | None:
    if old is None:
        return "added"
    was = old.tool
    if (was.status, was.definition_hash) == (new.status, new.definition_hash):
        return None
    if new.status in ("removed", "quarantined"):
        return new.status
    return "restored" if was.status != "active" else "changed"


class FileTools:
    """The tools of servers from configuration files, in memory."""

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, CatalogueEntry]] = {}
        self._tools: dict[int, CatalogueTool] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._last_number = 0
        self._versions: dict[tuple[int, str], int] = {}
        self._following: dict[int, int] = {}

    def tools_of(self, server_id: str) -> tuple[CatalogueTool, ...]:
        """Return a server's tools, in the order they were first listed."""
        return tuple(each.tool for each in self._servers.get(server_id, {}).values())

    def get(self, tool_id: int) -> CatalogueTool | None:
        """Return the tool with the number."""
        return self._tools.get(tool_id)

    def sync(self, spec: ServerSpec, seen: ToolListing) -> SyncReport:
        """Store the list of tools a server sent."""
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
        """Remove a server's tools."""
        self._put(server_id, [])
        self._servers.pop(server_id, None)
        gone = set(self._numbers.pop(server_id, {}).values())
        self._versions = {key: value for key, value in self._versions.items() if key[0] not in gone}
        for number in gone:
            self._following.pop(number, None)

    def _with_alias(self, spec: ServerSpec) -> dict[str, CatalogueEntry]:
        """Return the server's known tools; none if its alias has changed."""
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
