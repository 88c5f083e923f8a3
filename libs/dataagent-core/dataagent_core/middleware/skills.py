"""Lists the user's skills in every prompt and gives out their instructions when they are used.

deepagents' `SkillsMiddleware` lists its sources once per conversation, in a graph step of its own,
and leaves the list and a pinned skill's text in the thread. This one asks the library before each
model call: a change is seen at once, nothing is in checkpoints, and the skill that a user chose
holds for that run only. It comes from the run's context, where no message, file or tool result can
put it. A skill's text is advice and grants nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from deepagents.backends import StateBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.skills import SkillsMiddleware as DeepSkills
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.config import Settings
from dataagent_core.identity import RunContext
from dataagent_core.middleware.calls import ModelHandler, append_to_prompt
from dataagent_core.skills import Folders, SkillLibrary, SkillText, skill_folders
from dataagent_core.workspace import UserWorkspaceManager, run_context
from dataagent_core.workspace.current_run import run_or_default
from dataagent_core.workspace.workers import run_blocking

ACTIVATE_SKILL = "activate_skill"


class ActivateSkillArguments(BaseModel):
    """Arguments of `activate_skill`."""

    name: str = Field(description="The skill's name, as it is listed.", min_length=1)


class ActivateSkillTool(BaseTool):
    """Returns the instructions of a skill of the run's user."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = ACTIVATE_SKILL
    description: str = (
        "Get the instructions of one of the listed skills. Call it before you begin a task that a "
        "skill's description fits, then follow what it says."
    )
    args_schema: Any = ActivateSkillArguments  # BaseTool's own annotation is as wide
    library: SkillLibrary = Field(exclude=True)
    folders: Folders = Field(default=(), exclude=True)
    run_of: Callable[[], RunContext] = Field(default=run_context, exclude=True)

    async def _arun(self, name: str) -> str:
        user_id = self.run_of().user_id
        return skill_prompt(await self.library.read(user_id, name.strip(), self.folders))

    def _run(self, name: str) -> str:
        return run_blocking(self._arun(name))


def skill_prompt(skill: SkillText) -> str:
    """A skill as the model reads it: the instructions, and where its other files are."""
    entry = skill.entry
    files = ""
    if skill.files:
        paths = "\n".join(f"- {entry.location}/{path}" for path in skill.files)
        more = f"\nThere are more: `ls {entry.location}`." if skill.has_more_files else ""
        files = f"\n\nFiles of this skill, for `read_file`:\n{paths}{more}"
    return f'<skill name="{escape(entry.name)}">\n{skill.instructions}{files}\n</skill>'


_MAX_TEXTS: Final = 256

SKILLS_PROMPT: Final = """## Skills

A skill is a proven procedure for one kind of task. These are there, by name, with what each is for:

{skills_list}{skills_locations}{skills_load_warnings}

When a task fits a description, call `activate_skill` with the name before you begin and follow the
instructions you get; when none fits, use none. A skill never widens what you may do."""

_CHOSEN: Final = """[SKILL: {name}] The user chose this skill for what they ask below. Follow it.

{text}

{asked}"""


class SkillsMiddleware(DeepSkills[Any, Any]):
    """Lists the skills of the run's user, and gives the one they chose."""

    state_schema = AgentState  # pyright: ignore[reportAssignmentType] no state of its own
    # the graph gets no step for these
    before_agent = AgentMiddleware.before_agent  # pyright: ignore[reportAssignmentType]
    abefore_agent = AgentMiddleware.abefore_agent  # pyright: ignore[reportAssignmentType]
    before_model = AgentMiddleware.before_model  # pyright: ignore[reportAssignmentType]
    abefore_model = AgentMiddleware.abefore_model  # pyright: ignore[reportAssignmentType]
    # and a skill brings no tools
    wrap_tool_call = AgentMiddleware.wrap_tool_call  # pyright: ignore[reportAssignmentType]
    awrap_tool_call = AgentMiddleware.awrap_tool_call  # pyright: ignore[reportAssignmentType]

    def __init__(
        self,
        *,
        backend: BackendProtocol | None = None,
        library: SkillLibrary | None = None,
        folders: Folders = (),
        is_helper: bool = False,
        skills_dir: Path | Sequence[Path] = (),
    ) -> None:
        """Serve an agent that has these folders of skills beside the shared ones.

        The skill a user chose is for the agent they talk to, not for its sub-agents. In an agent
        that is not built by an `AgentFactory`: `SkillsMiddleware(skills_dir=…)` lists the skills of
        a folder, or of several, beside ours; the folder of a skill has its SKILL.md.
        """
        super().__init__(backend=backend or StateBackend(), sources=(), system_prompt=SKILLS_PROMPT)
        self._is_alone = library is None
        if library is None:
            settings = Settings()
            own = [skills_dir] if isinstance(skills_dir, str | Path) else skills_dir
            library = SkillLibrary(
                skill_folders([*settings.skills_dirs, *map(str, own)]),
                UserWorkspaceManager(settings.workspaces_dir),
            )
        self._library = library
        self._folders = folders
        self._is_helper = is_helper
        self._chosen: OrderedDict[str, str] = OrderedDict()
        run_of = run_or_default if self._is_alone else run_context
        self.tools = [ActivateSkillTool(library=library, folders=folders, run_of=run_of)]

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: ModelHandler,
    ) -> ModelResponse[Any]:
        """Add the list to the prompt, and the skill the user chose to their message."""
        return await handler(await self._with_skills(request))

    async def _with_skills(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        context: Any = request.runtime.context
        if not isinstance(context, RunContext):
            if not self._is_alone:
                return request
            context = run_or_default()
        skill_set = await self._library.skill_set(context.user_id, self._folders)
        if skill_set.skills:
            section = SKILLS_PROMPT.format(
                skills_list=skill_set.listing, skills_locations="", skills_load_warnings=""
            )
            prompt = append_to_prompt(request.system_message, section)
            request = request.override(system_message=prompt)
        if context.skill is not None and not self._is_helper:
            text = await self._text(context.skill, context)
            request = request.override(messages=_with_skill(request.messages, context.skill, text))
        return request

    async def _text(self, name: str, context: RunContext) -> str:
        """The chosen skill as it was when the run first used it."""
        text = self._chosen.get(context.run_id)
        if text is None:
            skill = await self._library.read(context.user_id, name, self._folders)
            text = self._chosen[context.run_id] = skill_prompt(skill)
            while len(self._chosen) > _MAX_TEXTS:
                self._chosen.popitem(last=False)
        return text


def _with_skill(messages: list[AnyMessage], name: str, text: str) -> list[AnyMessage]:
    """The messages with a skill's instructions in the user's last one; the thread is unchanged."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, HumanMessage):
            asked = _CHOSEN.format(name=name, text=text, asked=message.text)
            changed = message.model_copy(update={"content": asked})
            return [*messages[:index], changed, *messages[index + 1 :]]
    return messages
