"""`sources.yaml`: data sources an operator writes down, loaded at every start.

    sources:
      - name: sales
        url: postgresql://reader:${SALES_PASSWORD}@db.example/sales
        description: Orders and customers since 2019
        time_zone: Asia/Shanghai
        default_policy: deny
        limits: {max_rows: 200000, timeout_seconds: 30}
        grants: [everyone]              # or {user: …}, {tenant: …}, {agent: …}
        policies:
          - name: own region            # the rest is the policy's
      - name: reports
        folder: ./reports               # relative to the file

`read_sources` parses; `apply_sources` makes the store say what the file says: it adds, changes and
removes, and leaves alone what was registered elsewhere or by another file. Each value knows its
line: a message names file, line and field, and never quotes a value, which may be a password.
"""

# PyYAML has no types of its own for nodes and constructors; this module is the border to it
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

import yaml
from pydantic import SecretStr
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dataagent_core.data.sources.checks import (
    validate_default_policy,
    validate_json,
    validate_new_source,
)
from dataagent_core.data.sources.store import SourceStore
from dataagent_core.data.sources.types import EVERYONE, Grant, NewSource, Source, SourceChanges
from dataagent_core.data.types import QueryLimits
from dataagent_core.errors import Conflict, DataAgentError, Misconfigured, SourceNotFound


@dataclass(frozen=True, slots=True)
class YamlField:
    """A value in a file, with the path that leads to it."""

    file: str
    path: str
    node: Node

    @property
    def line(self) -> int:
        """Where the value starts, counted from one."""
        return self.node.start_mark.line + 1

    def error(self, what: str) -> Misconfigured:
        """The error that says what is wrong here."""
        where = f": {self.path}" if self.path else ""
        return Misconfigured(f"{self.file}, line {self.line}{where} {what}")

    def fields(self, known: Set[str] | None = None) -> dict[str, YamlField]:
        """The fields of an object.

        Raises:
            Misconfigured: it is none, a field comes twice, or is not among the known ones.
        """
        if not isinstance(self.node, MappingNode):
            raise self.error("must be an object with fields.")
        found: dict[str, YamlField] = {}
        for key, value in self.node.value:
            name = str(key.value) if isinstance(key, ScalarNode) else "?"
            field = YamlField(self.file, f"{self.path}.{name}".lstrip("."), value)
            if name in found:
                raise field.error("is given twice.")
            if known is not None and name not in known:
                raise field.error(f"is not known. Known are: {', '.join(sorted(known))}.")
            found[name] = field
        return found

    def items(self) -> Iterator[YamlField]:
        """The items of a list.

        Raises:
            Misconfigured: it is none.
        """
        if not isinstance(self.node, SequenceNode):
            raise self.error("must be a list.")
        for number, item in enumerate(self.node.value):
            yield YamlField(self.file, f"{self.path}[{number}]", item)

    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.node, SequenceNode)

    def is_object(self) -> bool:
        """Whether the value has fields."""
        return isinstance(self.node, MappingNode)

    def text(self) -> str:
        """The value as it is written.

        Raises:
            Misconfigured: it is a list, an object or nothing.
        """
        if not isinstance(self.node, ScalarNode) or self.node.tag == "tag:yaml.org,2002:null":
            raise self.error("must be text.")
        return str(self.node.value)

    def number(self) -> float:
        """The value as a number.

        Raises:
            Misconfigured: it is none.
        """
        value = self.plain()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error("must be a number.")
        return value

    def plain(self) -> Any:
        """The value with everything in it, as Python has it.

        Raises:
            Misconfigured: it holds something that is no plain data.
        """
        try:
            return SafeConstructor().construct_document(self.node)
        except (ConstructorError, ValueError):  # no cause: it may quote the value
            pass
        raise self.error("cannot be read.")


def read_yaml(text: str, *, file: str) -> YamlField | None:
    """The document in a text, or None if the text is empty.

    Raises:
        Misconfigured: it is not YAML; names the line.
    """
    try:
        node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:  # no cause: it may quote the file, passwords and all
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    else:
        return None if node is None else YamlField(file, "", node)
    raise Misconfigured(
        f"{file}{where}: this is not YAML. Look for a missing space after ':', a tab, or a value "
        "that needs quotes."
    )


logger = logging.getLogger(__name__)

PolicyCheck = Callable[[dict[str, Any]], object]
"""Raises a `DataAgentError` if rules make no sense; what it returns is not used."""

Remove = Callable[[str], Awaitable[None]]
"""Removes the source of that id with everything of it."""

_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_FIELDS = {
    *("name", "url", "folder", "files", "description", "time_zone"),
    *("default_policy", "limits", "grants", "policies"),
}
_LIMITS = {"max_rows", "max_bytes", "timeout_seconds"}
_SUBJECTS = {"user", "tenant", "agent"}


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """A source of the file with its policies' rules by name."""

    new: NewSource
    policies: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What applying a file did, by names of sources."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]


# -- reading --------------------------------------------------------------------------------


def load_sources(
    path: Path, *, environment: Mapping[str, str], check_policy: PolicyCheck | None = None
) -> list[ConfiguredSource]:
    """The sources of a file.

    Raises:
        Misconfigured: the file cannot be read or makes no sense; names line and field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} cannot be read as text (UTF-8).") from error
    return read_sources(
        text,
        file=str(path),
        folder=path.parent,
        environment=environment,
        check_policy=check_policy,
    )


def read_sources(
    text: str,
    *,
    file: str,
    folder: Path,
    environment: Mapping[str, str],
    check_policy: PolicyCheck | None = None,
) -> list[ConfiguredSource]:
    """The sources a text describes; paths are taken from `folder`.

    Raises:
        Misconfigured: the text makes no sense; names line and field.
    """
    document = read_yaml(text, file=file)
    listed = document.fields({"sources"}).get("sources") if document else None
    if listed is None:
        return []
    reading = _FileParser(folder, environment, check_policy)
    found: dict[str, ConfiguredSource] = {}
    for item in listed.items():
        source = reading.source(item)
        if source.new.name in found:
            raise item.error(f"has the name {source.new.name!r}, which another one has.")
        found[source.new.name] = source
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _FileParser:
    """One pass over a file."""

    folder: Path
    environment: Mapping[str, str]
    check_policy: PolicyCheck | None

    def source(self, item: YamlField) -> ConfiguredSource:
        fields = item.fields(_FIELDS)
        if "name" not in fields:
            raise item.error("needs a name.")
        new = NewSource(
            name=fields["name"].text(),
            url=self._url(fields.get("url")),
            folder=self._path(fields["folder"]) if "folder" in fields else None,
            files=tuple(self._path(each) for each in _items(fields.get("files"))),
            description=self._text(fields.get("description"), ""),
            time_zone=self._text(fields.get("time_zone"), "UTC"),
            default_policy=_default_policy(fields.get("default_policy")),
            limits=_limits(fields.get("limits")),
            grants=tuple(_grants(fields.get("grants"))),
        )
        try:
            checked = validate_new_source(new)
        except DataAgentError as error:
            raise item.error(f"does not do. {error.message}") from error
        return ConfiguredSource(checked, self._policies(fields.get("policies")))

    def _policies(self, field: YamlField | None) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for item in _items(field):
            fields = item.fields()
            if "name" not in fields:
                raise item.error("needs a name.")
            name = fields["name"].text()
            if name in found:
                raise item.error(f"has the name {name!r}, which another one has.")
            found[name] = self._rules(item)
        return found

    def _rules(self, item: YamlField) -> dict[str, Any]:
        try:
            rules: dict[str, Any] = validate_json(item.plain(), "A policy")
            if self.check_policy is not None:
                self.check_policy(rules)
        except Misconfigured:
            raise
        except DataAgentError as error:
            raise item.error(f"does not do. {error.message}") from error
        return rules

    def _url(self, field: YamlField | None) -> SecretStr | None:
        if field is None:
            return None
        text = field.text()
        before_host = text.rfind("@")

        def value(match: re.Match[str]) -> str:
            plain = self._lookup(field, match[1])
            return quote(plain, safe="") if match.start() < before_host else plain

        return SecretStr(_PLACEHOLDER.sub(value, text))

    def _path(self, field: YamlField) -> str:
        written = Path(self._text(field, "")).expanduser()
        return str(written if written.is_absolute() else (self.folder / written).resolve())

    def _text(self, field: YamlField | None, default: str) -> str:
        if field is None:
            return default
        return _PLACEHOLDER.sub(lambda match: self._lookup(field, match[1]), field.text())

    def _lookup(self, field: YamlField, name: str) -> str:
        if name not in self.environment:
            raise field.error(f"asks for the environment variable {name!r}, which is not set.")
        return self.environment[name]


def _items(field: YamlField | None) -> list[YamlField]:
    return [] if field is None else list(field.items())


def _default_policy(field: YamlField | None) -> Any:
    if field is None:
        return "allow"
    try:
        return validate_default_policy(field.text())
    except DataAgentError as error:
        raise field.error(f"does not do. {error.message}") from error


def _limits(field: YamlField | None) -> QueryLimits:
    if field is None:
        return QueryLimits()
    values = {name: each.number() for name, each in field.fields(_LIMITS).items()}
    usual = QueryLimits()
    return QueryLimits(
        max_rows=int(values.get("max_rows", usual.max_rows)),
        max_bytes=int(values.get("max_bytes", usual.max_bytes)),
        timeout_seconds=float(values.get("timeout_seconds", usual.timeout_seconds)),
    )


def _grants(field: YamlField | None) -> list[Grant]:
    if field is None:
        return []
    return [_grant(each) for each in (field.items() if field.is_list() else [field])]


def _grant(field: YamlField) -> Grant:
    if not field.is_object():
        if field.text() == "everyone":
            return EVERYONE
        raise field.error("must be 'everyone', or an object such as {user: …}.")
    fields = field.fields(_SUBJECTS)
    if len(fields) != 1:
        raise field.error("must name one of: user, tenant, agent.")
    ((kind, subject),) = fields.items()
    match kind:
        case "user" | "tenant" | "agent":
            return Grant(kind, subject.text())
        case _:
            raise field.error("must name one of: user, tenant, agent.")


# -- applying -------------------------------------------------------------------------------


def configured_source_id(name: str) -> str:
    """The id of a source that the file defines: the same at every start, and after a pause."""
    return str(uuid5(NAMESPACE_URL, f"dataagent:source:{name}"))


async def apply_sources(
    store: SourceStore, file: Path, configured: list[ConfiguredSource], *, remove: Remove
) -> ApplyReport:
    """Make the sources that the file defines these. Doing it again changes nothing.

    A source that the file defined before and no longer names is removed. What another file defined
    stays, since another process may have loaded that one; a source that both name is this one's.

    Raises:
        Misconfigured: a name belongs to a source that was registered elsewhere.
    """
    store.config_file = str(file)
    present = {source.name: source for source in await store.list()}
    _refuse_taken(present, configured)
    wanted = {entry.new.name for entry in configured}
    gone = [s for name, s in present.items() if s.is_from_config and name not in wanted]
    for source in gone:
        with suppress(SourceNotFound):  # another process was first
            await remove(source.source_id)
    done: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": []}
    for entry in configured:
        done[await _apply_one(store, entry, present.get(entry.new.name))].append(entry.new.name)
    applied = ApplyReport(
        created=tuple(done["created"]),
        updated=tuple(done["updated"]),
        removed=tuple(source.name for source in gone),
        unchanged=tuple(done["unchanged"]),
    )
    logger.info("data sources of the configuration file: %s", applied)
    return applied


def _refuse_taken(present: Mapping[str, Source], configured: list[ConfiguredSource]) -> None:
    for entry in configured:
        taken = present.get(entry.new.name)
        if taken is not None and taken.config_file is None:
            raise Misconfigured(
                f"The configuration file defines data source {entry.new.name!r}, but one of that "
                "name was registered elsewhere. Rename one of them."
            )


async def _apply_one(store: SourceStore, entry: ConfiguredSource, present: Source | None) -> str:
    outcome = "unchanged"
    if present is None:
        outcome = "created"
        present = await _created(store, entry)
    changes = await _changes(store, entry.new, present)
    if changes is not None:
        outcome = "updated"
        await store.update(present.source_id, changes, by_config=True)
    has_new_rules = await store.policies.put_configured(present.source_id, entry.policies)
    return "updated" if has_new_rules and outcome == "unchanged" else outcome


async def _created(store: SourceStore, entry: ConfiguredSource) -> Source:
    source_id = configured_source_id(entry.new.name)
    try:
        return await store.create(entry.new, source_id=source_id, by_config=True)
    except Conflict:  # another process read the same file at the same moment
        return await store.require(source_id)


async def _changes(store: SourceStore, new: NewSource, present: Source) -> SourceChanges | None:
    """What the file says differently; None if nothing."""
    url = await _kept_url(store, present)
    is_place_same = (new.url, new.folder, new.files) == (url, present.folder, present.files)
    place = SourceChanges() if is_place_same else _place(new)
    wanted = (new.description, new.time_zone, new.default_policy, new.limits, new.grants)
    stored = (
        present.description,
        present.time_zone,
        present.default_policy,
        present.limits,
        present.grants,
    )
    if is_place_same and wanted == stored and present.is_from_config:
        return None
    return SourceChanges(
        url=place.url,
        folder=place.folder,
        files=place.files,
        description=new.description,
        time_zone=new.time_zone,
        default_policy=new.default_policy,
        limits=new.limits,
        grants=new.grants,
    )


async def _kept_url(store: SourceStore, present: Source) -> SecretStr | None:
    try:
        return await store.url_of(present.source_id)
    except Misconfigured:  # stored under another key; the file has it in plain text and wins
        return None


def _place(new: NewSource) -> SourceChanges:
    return SourceChanges(url=new.url, folder=new.folder, files=new.files or None)
