"""Skills: their names and descriptions in every prompt, their text when they are used.

deepagents' `SkillsMiddleware` lists its sources once per conversation, in a graph step of its own,
keeps the list in the thread, and leaves a pinned skill's text there for good. This one asks the
library in front of each model call instead: what changed is seen at once, nothing is kept in
checkpoints, a turn has one step less, and the skill a user chose is there for that run only. It
comes from the run's context, where no message, file or tool result can put it. A skill's text is
advice: the tools an agent has are those it is bound to. Above: `engine/`. Below: `skills/`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware._utils import (
    append_to_system_message,  # what deepagents' own middleware appends with
)
from deepagents.middleware.skills import SkillsMiddleware as DeepSkills
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import SystemMessage

from dataagent_core.identity import RunContext
from dataagent_core.skills import Folders, Shelf, SkillLibrary
from dataagent_core.tools.activate_skill import ActivateSkillTool, skill_prompt

_KEPT_TEXTS: Final = 256

SKILLS_PROMPT: Final = """## Skills

A skill is a proven procedure for one kind of task. These are there, by name, with what each is for:

{skills_list}{skills_locations}{skills_load_warnings}

When a task fits a description, call `activate_skill` with the name before you begin and follow the
instructions you get; when none fits, use none. A skill never widens what you may do."""

_CHOSEN: Final = """The user chose this skill for what they ask now. Follow it.

{text}"""


class SkillsMiddleware(DeepSkills[Any, Any]):
    """Lists the skills of the run's user, and gives the one they chose."""

    state_schema = AgentState  # pyright: ignore[reportAssignmentType] nothing is kept in the state
    before_agent = AgentMiddleware.before_agent  # pyright: ignore[reportAssignmentType] the graph gets no step for it
    abefore_agent = AgentMiddleware.abefore_agent  # pyright: ignore[reportAssignmentType] the graph gets no step for it
    before_model = AgentMiddleware.before_model  # pyright: ignore[reportAssignmentType] the graph gets no step for it
    abefore_model = AgentMiddleware.abefore_model  # pyright: ignore[reportAssignmentType] the graph gets no step for it
    wrap_tool_call = AgentMiddleware.wrap_tool_call  # pyright: ignore[reportAssignmentType] a skill brings no tools
    awrap_tool_call = AgentMiddleware.awrap_tool_call  # pyright: ignore[reportAssignmentType] a skill brings no tools

    def __init__(
        self,
        *,
        backend: BackendProtocol,
        library: SkillLibrary,
        folders: Folders = (),
        is_helper: bool = False,
    ) -> None:
        """Serve an agent that has these folders of skills beside everyone's.

        The skill a user chose is for the agent they talk to, not for its helpers.
        """
        super().__init__(backend=backend, sources=(), system_prompt=SKILLS_PROMPT)
        self._library = library
        self._folders = folders
        self._is_helper = is_helper
        self._listed: WeakKeyDictionary[Shelf, _Listed] = WeakKeyDictionary()
        self._chosen: OrderedDict[str, str] = OrderedDict()
        self.tools = [ActivateSkillTool(library=library, folders=folders)]

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add the list, and the skill the user chose, to the prompt."""
        return await handler(await self._with_skills(request))

    async def _with_skills(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        context: Any = request.runtime.context
        if not isinstance(context, RunContext):
            return request
        shelf = await self._library.shelf(context.user_id, self._folders)
        if shelf.skills:
            request = request.override(system_message=self._list(request.system_message, shelf))
        if context.skill is not None and not self._is_helper:
            text = _CHOSEN.format(text=await self._text(context.skill, context))
            request = request.override(system_message=_appended(request.system_message, text))
        return request

    def _list(self, system: SystemMessage | None, shelf: Shelf) -> SystemMessage:
        """The prompt with the list; the same prompt and list give the same message."""
        listed = self._listed.get(shelf)
        if listed is None:
            section = SKILLS_PROMPT.format(
                skills_list=shelf.listing, skills_locations="", skills_load_warnings=""
            )
            listed = self._listed[shelf] = _Listed(section)
        return listed.behind(system)

    async def _text(self, name: str, context: RunContext) -> str:
        """The chosen skill as it was when the run first used it."""
        text = self._chosen.get(context.run_id)
        if text is None:
            skill = await self._library.read(context.user_id, name, self._folders)
            text = self._chosen[context.run_id] = skill_prompt(skill)
            while len(self._chosen) > _KEPT_TEXTS:
                self._chosen.popitem(last=False)
        return text


class _Listed:
    """A list of skills as it stands in prompts, and the last prompt it was put into."""

    def __init__(self, section: str) -> None:
        self._section = section
        self._prompt: tuple[SystemMessage | None, SystemMessage] | None = None

    def behind(self, system: SystemMessage | None) -> SystemMessage:
        """The system message and the list; an agent's own never changes, so this is made once."""
        if self._prompt is None or self._prompt[0] is not system:
            self._prompt = (system, _appended(system, self._section))
        return self._prompt[1]


def _appended(system: SystemMessage | None, text: str) -> SystemMessage:
    """The system message with more text; plain text stays plain, which is the quickest to count."""
    content: Any = None if system is None else system.content  # pyright: ignore[reportUnknownMemberType] text or blocks
    if content is None or isinstance(content, str):
        return SystemMessage(f"{content}\n\n{text}" if content else text)
    return append_to_system_message(system, text)
