"""The parts of models that answer by rule: turns, how they are played, and what skills share.

A `Turn` is a row of steps: say, think, call tools, fail. `play` turns it into the chunks a real
model would stream. A skill is a pure function from a conversation to a turn, or None; its progress
is read from the tool results after the question. A summary keeps each question with the beginning
of its answer and the names of the tools that were used, and says what is left out.
"""

from __future__ import annotations

import asyncio
import html
import re
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from dataagent_core.models.chunks import Piece, ToolCallDelta, answer_chunk
from dataagent_core.models.messages import Thread, attached_files, typed_text

_WORD: Final = re.compile(r"\S*\s+|\S+")
_YIELD_EVERY: Final = 32
"""Chunks without delay between two moments at which other tasks may run."""


@dataclass(frozen=True, slots=True)
class Say:
    """Text. A string is streamed word by word; a sequence is streamed as the chunks it holds."""

    text: str | Iterable[str]
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Think(Say):
    """The same, as the model's reasoning instead of its answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. All calls of a turn are made at once, after what the turn says."""

    name: str
    args: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Fail:
    """The model breaks here, after what came before was streamed."""

    error: Exception


Step: TypeAlias = Say | Think | Call | Fail
Turn: TypeAlias = Sequence[Step]


def words(text: str) -> list[str]:
    """`"a b  c"` → `["a ", "b  ", "c"]`; joined they are the text again."""
    return _WORD.findall(text)


def chunks_of(step: Say) -> Iterable[str]:
    """The chunks a step is streamed in."""
    return words(step.text) if isinstance(step.text, str) else step.text


async def play(
    turn: Turn, messages: Sequence[BaseMessage], model_name: str
) -> AsyncGenerator[Piece]:
    """Stream one turn: text, then the tool calls, then usage and the end.

    Chunks with a delay are due at fixed times from the step's start, so a busy loop delivers late
    but does not slow the model down.
    """
    said = 0
    for step in turn:
        if isinstance(step, Fail):
            raise step.error
        if isinstance(step, Say):
            pace = _ChunkPacer(step.delay_seconds)
            for text in chunks_of(step):
                await pace.wait()
                said += 1
                yield answer_chunk("", reasoning=text) if isinstance(step, Think) else text
    calls = [step for step in turn if isinstance(step, Call)]
    made = uuid.uuid4().hex
    yield answer_chunk(
        calls=[_call_part(index, call, made) for index, call in enumerate(calls)],
        usage=_usage(messages, said + len(calls)),
        metadata={
            "finish_reason": "tool_calls" if calls else "stop",
            "model_name": model_name,
        },
        is_last=True,
    )


class _ChunkPacer:
    """When the next chunk is due: after its delay, or at once with a breath now and then."""

    __slots__ = ("_count", "_delay", "_due", "_loop")

    def __init__(self, delay_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._delay = delay_seconds
        self._due = self._loop.time()
        self._count = 0

    async def wait(self) -> None:
        if self._delay > 0:
            self._due += self._delay
            await asyncio.sleep(max(0.0, self._due - self._loop.time()))
        else:
            if self._count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            self._count += 1


def _call_part(index: int, call: Call, made: str) -> ToolCallDelta:
    return ToolCallDelta(
        index=index,
        call_id=f"call_{made}_{index}",
        name=call.name,
        arguments=orjson.dumps(call.args).decode(),
    )


def _usage(messages: Sequence[BaseMessage], output_tokens: int) -> UsageMetadata:
    """Four characters are a token on the way in, a chunk or a call is one on the way out."""
    thread = messages if isinstance(messages, Thread) else Thread(messages)
    input_tokens = thread.characters // 4
    return UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )


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


_MESSAGES: Final = re.compile(r"<messages>\s*Messages to summarize:\n")
_MESSAGE: Final = re.compile(r'<message type="(\w+)">')
_TOOL: Final = re.compile(r'<tool_call id="[^"]*" name="([^"]*)"')
_SHOWN: Final = {"human": 300, "ai": 500}
_TITLES: Final = {"human": "Asked", "ai": "Answered"}


def summary_of(prompt: str) -> str | None:
    """The summary a prompt asks for; None if it asks for none."""
    begin = _MESSAGES.search(prompt)
    end = prompt.rfind("\n</messages>")
    if begin is None or end < begin.end():
        return None
    messages = _messages(prompt[begin.end() : end])
    lines = [line for kind, body in messages for line in _lines(kind, body)]
    return "\n".join(lines) or "Nothing was said."


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """The kind and the body of each message, up to one that does not end."""
    at = 0
    while begin := _MESSAGE.search(text, at):
        at = text.find("</message>", begin.end())
        if at < 0:
            return
        yield begin[1], text[begin.end() : at]


def _lines(kind: str, body: str) -> list[str]:
    """What stays of one message: results of tools are in the answers that were made of them."""
    if kind not in _TITLES:
        return []
    content, end, _ = body.partition("<content>")[2].partition("</content>")
    has_calls = "<tool_call" in body
    text = content if end else "" if has_calls else body
    lines: list[str] = []
    if said := " ".join(html.unescape(text).split()):
        lines.append(f"- {_TITLES[kind]}: {_shortened(said, _SHOWN[kind])}")
    if tools := list(dict.fromkeys(_TOOL.findall(body))):
        lines.append(f"- Used: {', '.join(map(html.unescape, tools))}")
    return lines


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters left out)"
