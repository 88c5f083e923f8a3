"""What the offline model says about itself: what it is, what it can do here, what to set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dataagent_core.models.rule_based import Conversation, Say, Turn, report

_GREETING: Final = re.compile(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening)|help|who are you|what are you"
    r"|what can you do|你好|您好|嗨|早上好|下午好|晚上好|帮助|你是谁|你是什么|你能做什么|你会什么)"
    r"(?:[ ,，]+\w+)?[\s.?!。？！~～]*$",
    re.IGNORECASE,
)
_ABILITIES: Final = (
    (
        "route",
        "pass what you ask for to an agent that has the tools for it",
        "把您的请求交给有相应工具的智能体",
    ),
    (
        "sql_db_schema",
        "answer plain questions about data (“how many customers are there?”, “sales by month”)",
        "回答关于数据的简单问题（“一共有多少客户？”、“按月统计销售额”）",
    ),
    ("sql_db_query", "run a fenced ```sql block that you send", "执行您发送的 ```sql 代码块"),
    (
        "execute_python",
        "run a fenced ```python block that you send",
        "执行您发送的 ```python 代码块",
    ),
    ("ls", "list files (“list files”)", "列出文件（“列出文件”）"),
    (
        "read_uploaded_file",
        "read a file that you attach (“read the file”)",
        "读取您上传的文件（“读取文件”）",
    ),
    ("read_file", "read a file (“read /notes.md”)", "读取文件（“读取 /notes.md”）"),
    (
        "write_file",
        "write a file (“write hello to /notes.md”)",
        "写入文件（“把 你好 写入 /notes.md”）",
    ),
)


def greet(conversation: Conversation) -> Turn | None:
    """Answer a greeting or a call for help."""
    if not _GREETING.match(conversation.question):
        return None
    hello = conversation.say("Hello.", "您好。")
    return [Say(f"{hello} {_introduction(conversation)}")]


def describe_abilities(conversation: Conversation) -> Turn:
    """The answer to everything no skill understands. Tool results, if any, are reported."""
    if conversation.results:
        return [Say(report(conversation))]
    sorry = conversation.say("I cannot answer that.", "这个问题我无法回答。")
    return [Say(f"{sorry} {_introduction(conversation)}")]


def _introduction(conversation: Conversation) -> str:
    what = conversation.say(
        "I am the offline model: no key for a language model is configured, so I do not "
        "understand questions and follow a few plain requests only.",
        "我是离线模型：尚未配置语言模型的密钥，因此我不理解问题，只能执行少数简单的请求。",
    )
    how = conversation.say(
        "For real answers set DATAAGENT_MODEL (for example `openai:gpt-5-mini` or "
        "`anthropic:claude-sonnet-4-5`) and the provider's key, OPENAI_API_KEY or "
        "ANTHROPIC_API_KEY.",
        "要得到真正的回答，请设置 DATAAGENT_MODEL（例如 `openai:gpt-5-mini` 或 "
        "`anthropic:claude-sonnet-4-5`）以及对应的密钥 OPENAI_API_KEY 或 ANTHROPIC_API_KEY。",
    )
    return f"{what}\n\n{_possible(conversation)}\n\n{how}"


def _possible(conversation: Conversation) -> str:
    able = [
        conversation.say(english, chinese)
        for tool, english, chinese in _ABILITIES
        if tool in conversation.tools
    ]
    if not able:
        return conversation.say(
            "With the tools of this agent there is nothing I can do.",
            "此智能体的工具中没有我能使用的。",
        )
    return conversation.say("What I can do here:", "我在这里能做的：") + "\n" + _listed(able)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
