"""A conversation as the offline model's skills see it, and how a skill answers.

A skill is a pure function: conversation in, turn out, or None if it is not asked for. It remembers
nothing; where it stands is told by the tool results that came after the question. This file holds
what skills share. Above: `offline.py` and the skills; below: `steps.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from dataagent_core.models.attachments import attached_files, typed_text
from dataagent_core.models.steps import Call, Say, Turn

_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")
_MOST_SHOWN: Final = 4000
_ALONG: Final = "\n\n<attached "  # what goes along with a message is for models that can read it
HAND_OVER: Final = "route"
"""The supervisor's tool. Its result is no answer to the question."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question and what tools answered to it."""

    question: str
    results: Sequence[ToolMessage]


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file beside a user's message, as the message names it."""

    file_id: str
    filename: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The last question, what tools answered since, and which tools there are."""

    question: str
    results: Sequence[ToolMessage]
    tools: Mapping[str, Sequence[str]]
    """Names of the bound tools, each with the names of its parameters."""
    earlier: Sequence[Exchange] = ()
    """The questions before the last one, oldest first."""
    agents: Sequence[str] = ()
    """The agents it can hand the question to; none but for a supervisor."""
    files: Sequence[AttachedFile] = ()
    """The files of all the user's messages, the newest last."""

    @property
    def is_chinese(self) -> bool:
        """Whether to answer in Chinese."""
        return bool(_CHINESE.search(self.question))

    def say(self, english: str, chinese: str) -> str:
        """The sentence in the language of the question."""
        return chinese if self.is_chinese else english


Skill: TypeAlias = Callable[[Conversation], Turn | None]


def conversation_of(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]
) -> Conversation:
    """The conversation in these messages, with tools as OpenAI's format describes them."""
    exchanges = _exchanges(messages)
    functions = [tool["function"] for tool in tools if "function" in tool]
    return Conversation(
        question=exchanges[-1].question,
        results=exchanges[-1].results,
        tools={each["name"]: list(_parameters(each)) for each in functions},
        earlier=exchanges[:-1],
        agents=[name for each in functions if each["name"] == HAND_OVER for name in _agents(each)],
        files=_files(messages),
    )


def argument(conversation: Conversation, tool: str, *names: str) -> str:
    """The first of `names` that the tool has as a parameter; the first of all if none fits."""
    parameters = conversation.tools.get(tool, ())
    return next((name for name in names if name in parameters), names[0])


def next_call_or_report(conversation: Conversation, calls: Sequence[Call], *, before: str) -> Turn:
    """The turn that is due: the next call, or the report when all are done."""
    done = len(conversation.results)
    if done < len(calls):
        return [Say(f"{before}\n"), calls[done]] if done == 0 else [calls[done]]
    return [Say(report(conversation))]


def missing_tool_turn(conversation: Conversation, tool: str) -> Turn:
    """The turn that says a tool is not there."""
    return [
        Say(
            conversation.say(
                f"I cannot do that here: this agent has no tool `{tool}`.",
                f"这里做不到：此智能体没有工具 `{tool}`。",
            )
        )
    ]


def report(conversation: Conversation) -> str:
    """What the tools answered, whole, or with a note that it is cut."""
    parts = [_reported(conversation, result) for result in conversation.results]
    note = conversation.say(
        "(Offline model: I ran exactly what you sent and add nothing of my own.)",
        "（离线模型：我只按您的原话执行，没有添加任何内容。）",
    )
    return "\n\n".join([*parts, note])


def _exchanges(messages: Sequence[BaseMessage]) -> list[Exchange]:
    """Questions with their tool results, in order; at least one, if only an empty one."""
    found: list[Exchange] = []
    question, results = "", list[ToolMessage]()
    for message in messages:
        if isinstance(message, HumanMessage):
            if question or results:
                found.append(Exchange(question, results))
            question, results = typed_text(message).partition(_ALONG)[0].strip(), []
        elif isinstance(message, ToolMessage) and message.name != HAND_OVER:
            results.append(message)
    return [*found, Exchange(question, results)]


def _files(messages: Sequence[BaseMessage]) -> list[AttachedFile]:
    """What stands beside the texts, where no text can imitate it."""
    return [AttachedFile(file["file_id"], file["filename"]) for file in attached_files(messages)]


def _reported(conversation: Conversation, result: ToolMessage) -> str:
    text = str(result.text)
    tool = f"`{result.name}`" if result.name else conversation.say("The tool", "工具")
    if result.status == "error":
        head = conversation.say(f"{tool} failed:", f"{tool} 执行失败：")
    else:
        head = conversation.say(f"{tool} answered:", f"{tool} 返回：")
    shown = text[:_MOST_SHOWN]
    fence = "````" if "```" in shown else "```"
    body = f"{head}\n\n{fence}\n{shown}\n{fence}"
    if len(text) > _MOST_SHOWN:
        body += conversation.say(
            f"\nCut: the first {_MOST_SHOWN} of {len(text)} characters.",
            f"\n已截断：共 {len(text)} 个字符，此处显示前 {_MOST_SHOWN} 个。",
        )
    return body


def _parameters(function: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = function.get("parameters") or {}
    return parameters.get("properties") or {}


def _agents(function: Mapping[str, Any]) -> Sequence[str]:
    return _parameters(function).get("agent_name", {}).get("enum", ())
