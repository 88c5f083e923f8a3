"""All skills of a process: who has which, and their texts.

Folders that everyone shares are read once; a user's own (`skills/` in their workspace) are checked
before each use and read only when they changed. So a turn of a user without skills costs one look
at a directory. Another user's skills do not exist.
"""

from __future__ import annotations

import difflib
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dataagent_core.errors import BadInput, SkillNotFound
from dataagent_core.skills.loader import (
    RootContent,
    SkillFolder,
    SkillRoot,
    is_unchanged,
    read_root,
    read_skill,
)
from dataagent_core.skills.skill import (
    MAX_OWN,
    MAX_SHARED,
    SKILL_FILE,
    BadSkill,
    SkillEntry,
    SkillProblem,
    SkillText,
    is_skill_name,
    parse_skill,
)
from dataagent_core.workspace.jail import Jail

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

    from dataagent_core.workspace import UserWorkspaceManager


_MAX_LISTED: Final = 24_000  # characters of descriptions in every prompt
_NEAREST: Final = 3
_NAMED: Final = 12


@dataclass(frozen=True, eq=False)
class SkillSet:
    """Skills by name; those of later folders have replaced earlier ones of the same name."""

    skills: dict[str, tuple[SkillEntry, SkillRoot]] = field(
        default_factory=dict[str, tuple[SkillEntry, SkillRoot]]
    )
    problems: tuple[SkillProblem, ...] = ()

    def __iter__(self) -> Iterator[SkillEntry]:
        return (self.skills[name][0] for name in sorted(self.skills))

    def __len__(self) -> int:
        return len(self.skills)

    def find(self, name: str) -> tuple[SkillEntry, SkillRoot]:
        """A skill and where it is.

        Raises:
            SkillNotFound: no skill has this name; the message names similar ones.
        """
        found = self.skills.get(name)
        if found is None:
            raise self.missing(name)
        return found

    def missing(self, name: str, way_out: str = "") -> SkillNotFound:
        """The error for an unknown name; it names similar ones."""
        nearest = self._nearest(name)
        if nearest:
            hint = f"Did you mean {' or '.join(nearest)}?"
        elif self.skills:
            hint = f"There are: {', '.join(sorted(self.skills)[:_NAMED])}."
        else:
            hint = "There are none here."
        return SkillNotFound(
            f"There is no skill {name[:64]!r}. {hint} {way_out}".rstrip(),
            details={"skill": name[:64], "nearest": nearest},
        )

    def _nearest(self, name: str) -> list[str]:
        return difflib.get_close_matches(name[:128].lower(), self.skills, n=_NEAREST, cutoff=0.5)

    @cached_property
    def listing(self) -> str:
        """The skills, one a line, with descriptions as far as they fit."""
        lines: list[str] = []
        left = _MAX_LISTED
        for entry in self:
            left -= len(entry.description)
            lines.append(f"- {entry.name}: {entry.description}" if left > 0 else f"- {entry.name}")
        return "\n".join(lines)


def merge_skills(roots: Iterable[tuple[SkillRoot, RootContent]]) -> SkillSet:
    """The skills of all folders, in their order."""
    skills: dict[str, tuple[SkillEntry, SkillRoot]] = {}
    problems: list[SkillProblem] = []
    for root, found in roots:
        skills.update({entry.name: (entry, root) for entry in found.entries})
        problems += found.problems
    return SkillSet(skills, tuple(problems))


logger = logging.getLogger(__name__)
OWN_FOLDER: Final = "skills"
SHARED_ROUTE: Final = "/.skills"
_MAX_USERS: Final = 512
_NOTHING: Final = RootContent()
Folders = tuple[Path, ...]


@dataclass(slots=True)
class _UserSkills:
    """A user's skills as they were last read, and the skill sets made with them."""

    root: SkillRoot
    found: RootContent
    skill_sets: dict[Folders, SkillSet] = field(default_factory=dict[Folders, SkillSet])


class SkillLibrary:
    """The skills of all users and agents."""

    def __init__(self, folders: Sequence[SkillFolder], workspaces: UserWorkspaceManager) -> None:
        """Skills of later folders replace earlier ones of the same name."""
        self._folders = tuple(folders)
        self._workspaces = workspaces
        self._workers = workspaces.workers
        self._read: dict[Path, RootContent] = {}
        self._shared: dict[Folders, SkillSet] = {}
        self._own: OrderedDict[str, _UserSkills] = OrderedDict()

    # -- reading ----------------------------------------------------------------------------

    async def skill_set(self, user_id: str, folders: Folders = ()) -> SkillSet:
        """The user's skills with an agent that has these folders of its own."""
        shared = await self.shared(folders)
        if not self._may_have_own(user_id):
            return shared
        own = await self._load_own(user_id)
        if not own.found.entries and not own.found.problems:
            return shared
        skill_set = own.skill_sets.get(folders)
        if skill_set is None:
            mine = (own.root, own.found)
            skill_set = own.skill_sets[folders] = merge_skills(
                [*self._root_contents(folders), mine]
            )
        return skill_set

    async def shared(self, folders: Folders = ()) -> SkillSet:
        """The skills that everyone shares."""
        known = self._shared.get(folders)
        if known is not None:
            return known
        return await self._workers.search(partial(self._open, folders))

    async def read(self, user_id: str, name: str, folders: Folders = ()) -> SkillText:
        """A skill with its instructions.

        Raises:
            SkillNotFound: the user has none of this name here, or it can no longer be used.
        """
        _, root = (await self.skill_set(user_id, folders)).find(name)
        try:
            return await self._workers.run(partial(read_skill, root, name))
        except BadSkill as bad:
            raise SkillNotFound(f"The skill {name!r} cannot be used any more: {bad}.") from bad

    def routes(self, folders: Folders = ()) -> dict[str, BackendProtocol]:
        """The shared folders as routes of an agent's file system, which cannot write there."""
        return {
            f"{root.location}/": self._workspaces.open_read_only(root.path)
            for root in self._shared_roots(folders)
            if root.path.is_dir()
        }

    # -- a user's own -----------------------------------------------------------------------

    async def put(self, user_id: str, name: str, content: str) -> SkillEntry:
        """Store a skill of the user's own, replacing theirs of this name.

        Raises:
            BadInput: it cannot be used; nothing is stored.
            QuotaExceeded: it does not fit the quota.
        """
        try:
            parse_skill(content.encode(), folder=name)
        except BadSkill as bad:
            raise BadInput(f"This is no skill: {bad}.") from bad
        await self._check_capacity(user_id, name)
        backend = await self._workspaces.open_workspace(user_id)
        try:
            await backend.put(f"{OWN_FOLDER}/{name}/{SKILL_FILE}", content.encode())
        except OSError as error:
            raise BadInput(f"The skill {name!r} cannot be written to your workspace.") from error
        self._own.pop(user_id, None)
        return (await self.skill_set(user_id)).find(name)[0]

    async def delete(self, user_id: str, name: str) -> None:
        """Delete one of the user's own, with all its files.

        Raises:
            SkillNotFound: the user has none of this name.
        """
        is_mine = is_skill_name(name) and (self._own_root(user_id).path / name).exists()
        if self._workspaces.is_archived(user_id) or is_mine:
            backend = await self._workspaces.open_workspace(user_id)
            if (await backend.adelete(f"/{OWN_FOLDER}/{name}")).error is None:
                self._own.pop(user_id, None)
                return
        raise SkillNotFound(f"You have no skill {name[:64]!r} of your own.")

    async def _check_capacity(self, user_id: str, name: str) -> None:
        own = {entry.name for entry in await self.skill_set(user_id) if entry.source == "own"}
        if name not in own and len(own) >= MAX_OWN:
            raise BadInput(f"You have {MAX_OWN} skills, the most there may be. Delete one first.")

    def _may_have_own(self, user_id: str) -> bool:
        """Whether to look further, without a hop to a thread: most users have none."""
        if user_id in self._own:
            return True
        workspace = self._workspaces.get_user_workspace(user_id)
        return os.path.exists(f"{workspace}/{OWN_FOLDER}") or self._workspaces.is_archived(user_id)

    async def _load_own(self, user_id: str) -> _UserSkills:
        known = self._own.get(user_id)
        if known is not None and is_unchanged(known.root, known.found.stamp):
            self._own.move_to_end(user_id)
            return known
        if self._workspaces.is_archived(user_id):
            await self._workspaces.prepare(user_id)
        root = self._own_root(user_id)
        found = await self._workers.run(partial(read_root, root))
        _warn(root, found)
        known = self._own[user_id] = _UserSkills(root, found)
        while len(self._own) > _MAX_USERS:
            self._own.popitem(last=False)
        return known

    # -- folders ----------------------------------------------------------------------------

    def _own_root(self, user_id: str) -> SkillRoot:
        jail = Jail(self._workspaces.get_user_workspace(user_id))
        return SkillRoot(jail, OWN_FOLDER, "own", f"/{OWN_FOLDER}", MAX_OWN)

    def _shared_roots(self, folders: Folders) -> list[SkillRoot]:
        packages = [SkillFolder("package", folder) for folder in folders]
        return [
            SkillRoot(
                Jail(folder.directory),
                "",
                folder.source,
                f"{SHARED_ROUTE}/{folder.source}-{number}",
                MAX_SHARED,
            )
            for number, folder in enumerate([*self._folders, *packages], 1)
        ]

    def _root_contents(self, folders: Folders) -> list[tuple[SkillRoot, RootContent]]:
        return [(root, self._content_of(root)) for root in self._shared_roots(folders)]

    def _content_of(self, root: SkillRoot) -> RootContent:
        """The skills of a shared folder, read once. Concurrent readers find the same."""
        found = self._read.get(root.path)
        if found is None:
            found = self._read[root.path] = read_root(root)
            _warn(root, found)
        return found

    def _open(self, folders: Folders) -> SkillSet:
        skill_set = self._shared[folders] = merge_skills(self._root_contents(folders))
        return skill_set


def _warn(root: SkillRoot, found: RootContent) -> None:
    for problem in found.problems:
        logger.warning("skill %s/%s is left out: %s", root.path, problem.path, problem.reason)
