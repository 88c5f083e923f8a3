"""The offline model's skills for files and code, and what it says about itself.

English and Chinese. Each pattern takes the whole request, so that a longer question which only
mentions a file is not mistaken for one of these. Fenced `sql` and `python` blocks are run as they
are, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dataagent_core.models.rule_based import (
    AttachedFile,
    Call,
    Conversation,
    Say,
    Turn,
    argument,
    missing_tool_turn,
    next_call_or_report,
    report,
)

_QUOTES: Final = "`'\"“”‘’「」《》"
_PATH: Final = rf"[{_QUOTES}]?(?P<path>[^\s{_QUOTES}，。；：,;:!?！？]{{1,200}}?)[{_QUOTES}]?"
_END: Final = r"[\s.?!。？！]*+$"
_PLEASE: Final = r"^(?:(?:please|can you|could you|would you)[, ]++)*"
_QING: Final = r"^(?:请|帮我|麻烦|你能|能不能)*"
_SHOW: Final = r"(?:列出|查看|显示|看看|看一下)"
_ALL: Final = r"(?:所有|全部|我的)?"


def _patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    """Compiled. Runs of spaces are taken whole (`*+`), so no text makes a match slow."""
    return tuple(re.compile(source, re.IGNORECASE | re.DOTALL) for source in sources)


_LIST: Final = _patterns(
    rf"^ls(?:\s++{_PATH})?{_END}",
    rf"{_PLEASE}(?:list|show)(?: me)?(?: all)?(?: the| my| our)? files"
    rf"(?: (?:in|under|of) {_PATH})?{_END}",
    r"^(?:what|which) files (?:are there|do i have|do we have|exist)"
    rf"(?: (?:in|under) {_PATH})?{_END}",
    rf"{_QING}{_SHOW}{_ALL}(?:文件列表|文件|目录){_END}",
    rf"{_QING}{_SHOW}\s*+{_PATH}\s*+(?:目录|文件夹)?(?:下|里|中)面?的?{_ALL}文件{_END}",
    rf"^(?:这里|现在|工作区|目录里|目录下)?(?:有|都有)(?:哪些|什么)文件{_END}",
)
_READ: Final = _patterns(
    rf"{_PLEASE}(?:read|open|cat|print|display|show)(?: me)?(?: the)?(?: contents? of)?"
    rf"(?: the)?(?: file)? {_PATH}{_END}",
    rf"{_QING}(?:读取|读一下|读|打开|{_SHOW})\s*+(?:文件)?\s*+{_PATH}\s*+(?:的内容|文件)?{_END}",
)
_WRITE: Final = _patterns(
    rf"{_PLEASE}(?:write|create|save|make)(?: an?| the)?(?: new)?(?: file)?(?: called| named)?"
    rf" {_PATH}(?: with(?: the)?(?: contents?| text)?| containing| that says|:)[:\s]"
    r"(?P<content>.+)$",
    rf"{_PLEASE}(?:write|save|put) (?P<content>.+?) (?:to|into|in|as)(?: the| a)?(?: file)?"
    rf" {_PATH}{_END}",
    rf"{_QING}(?:把|将)(?P<content>.+?)(?:写入|写到|写进|保存到|保存为|存到|存为)\s*+(?:文件)?"
    rf"\s*+{_PATH}\s*+(?:文件)?(?:里|中)?{_END}",
    rf"{_QING}(?:创建|新建|写入|写|保存)(?:一个)?(?:文件)?\s*+{_PATH}\s*+[，,]?\s*+(?:内容)?"
    r"(?:(?:为|是)[：:]?|[：:])(?P<content>.+)$",
)
_MINE: Final = r"(?:这个|这份|该|我的|我|刚才|刚刚|上传的?|附上的|附带的)*"
_DOCUMENTS: Final = r"(?:file|document|attachment|pdf|spreadsheet|workbook|presentation|table)"
_UPLOAD: Final = _patterns(
    rf"{_PLEASE}(?:read|open|show|display|summari[sz]e|look at|describe|analy[sz]e)(?: me)?"
    rf"(?: the| this| that| my| these| all)*(?: attached| uploaded)? {_DOCUMENTS}(?P<all>s?)"
    rf"(?: i (?:attached|uploaded|sent)(?: you)?)?{_END}",
    rf"^what(?:'s| is| does)(?: in)?(?: the| this| my)(?: attached| uploaded)? {_DOCUMENTS}"
    rf"(?P<all>s?)(?: say| contain| about)?{_END}",
    rf"{_QING}(?:读取|读一下|读|打开|总结|概括|分析|描述|{_SHOW})(?:一下)?{_MINE}"
    rf"(?P<all>所有|全部)?的?(?:文件|文档|附件|表格|工作簿|演示文稿)(?:的内容|内容)?{_END}",
    rf"^{_MINE}(?:文件|文档|附件|表格)(?:里|中)?(?:面)?(?:有|是|说了?)(?:什么|哪些内容)(?:内容)?{_END}",
)
_MOST_READ: Final = 5
_FENCED: Final = re.compile(r"^```[^\n]*\n(.*?)\n?```\s*$", re.DOTALL)


def list_files(conversation: Conversation) -> Turn | None:
    """`list files in /data`, `列出文件` → the `ls` tool."""
    found = _match(_LIST, conversation.question)
    if found is None:
        return None
    args = {argument(conversation, "ls", "path", "directory"): absolute(found["path"] or "/")}
    before = conversation.say("Listing the files.", "正在列出文件。")
    return _use(conversation, Call("ls", args), before=before)


def read_a_file(conversation: Conversation) -> Turn | None:
    """`read /notes.md`, `读取 notes.md` → the `read_file` tool."""
    found = _match(_READ, conversation.question)
    if found is None or not _looks_like_a_path(found["path"]):
        return None
    path = absolute(found["path"])
    args = {argument(conversation, "read_file", "file_path", "path"): path}
    before = conversation.say(f"Reading `{path}`.", f"正在读取 `{path}`。")
    return _use(conversation, Call("read_file", args), before=before)


def read_an_upload(conversation: Conversation) -> Turn | None:
    """`read the file`, `总结上传的文件`, `read sales.xlsx` → the `read_uploaded_file` tool.

    Only for files that stand beside a message, the last of them unless one is named or all are
    meant.
    """
    wanted = _meant(conversation)
    if not wanted:
        return None
    tool = "read_uploaded_file"
    if tool not in conversation.tools:
        return missing_tool_turn(conversation, tool)
    names = ", ".join(f"`{file.filename}`" for file in wanted)
    calls = [Call(tool, {argument(conversation, tool, "file_id"): one.file_id}) for one in wanted]
    before = conversation.say(f"Reading {names}.", f"正在读取 {names}。")
    return next_call_or_report(conversation, calls, before=before)


def _meant(conversation: Conversation) -> Sequence[AttachedFile]:
    """The attached files a question asks for."""
    if not conversation.files:
        return ()
    if found := _match(_UPLOAD, conversation.question):
        return conversation.files[-_MOST_READ:] if found.get("all") else conversation.files[-1:]
    named = _match(_READ, conversation.question)
    if named is None:
        return ()
    return [file for file in conversation.files if file.filename == named["path"]][-1:]


def write_a_file(conversation: Conversation) -> Turn | None:
    """`write hello to /a.txt`, `把 你好 写入 a.txt` → the `write_file` tool."""
    found = _match(_WRITE, conversation.question)
    if found is None or not _looks_like_a_path(found["path"]):
        return None
    path = absolute(found["path"])
    args = {
        argument(conversation, "write_file", "file_path", "path"): path,
        argument(conversation, "write_file", "content", "text"): _unwrapped(found["content"]),
    }
    before = conversation.say(f"Writing `{path}`.", f"正在写入 `{path}`。")
    return _use(conversation, Call("write_file", args), before=before)


def absolute(path: str) -> str:
    """A path of the workspace, as the file tools want it."""
    path = path.rstrip(".") or "/"
    return path if path.startswith("/") else f"/{path.removeprefix('./')}"


def _use(conversation: Conversation, call: Call, *, before: str) -> Turn:
    if call.name not in conversation.tools:
        return missing_tool_turn(conversation, call.name)
    return next_call_or_report(conversation, [call], before=before)


def _match(patterns: Sequence[re.Pattern[str]], question: str) -> dict[str, str] | None:
    for pattern in patterns:
        if found := pattern.match(question):
            return {"path": "", **found.groupdict(default="")}
    return None


def _looks_like_a_path(text: str) -> bool:
    """Whether a word is a file: it has a folder or an ending."""
    return "/" in text or bool(re.search(r"\w\.\w+$", text))


def _unwrapped(content: str) -> str:
    """The content without the fence or the quotes around it."""
    content = content.strip()
    if fenced := _FENCED.match(content):
        return fenced[1]
    if len(content) > 1 and content[0] in _QUOTES and content[-1] in _QUOTES:
        return content[1:-1]
    return content


_TOOLS: Final = {
    "sql": ("sql_db_query", ("query",)),
    "python": ("execute_python", ("code", "source", "script")),
    "py": ("execute_python", ("code", "source", "script")),
}
"""Language of a block → the tool that runs it, and what its parameter may be called."""


def run_blocks(conversation: Conversation) -> Turn | None:
    """Run every `sql` and `python` block of the question, one after another."""
    calls: list[Call] = []
    for language, code in fenced(conversation.question):
        if language not in _TOOLS or not code.strip():
            continue
        tool, names = _TOOLS[language]
        if tool not in conversation.tools:
            return missing_tool_turn(conversation, tool)
        calls.append(Call(tool, {argument(conversation, tool, *names): code}))
    if not calls:
        return None
    before = conversation.say("Running what you sent.", "正在执行您发送的代码。")
    return next_call_or_report(conversation, calls, before=before)


def fenced(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of each fenced block. A block that is not closed is not one."""
    language: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        if language is None:
            if line.startswith("```"):
                language, lines = (line[3:].split() or [""])[0].lower(), []
        elif line.rstrip() == "```":
            yield language, "\n".join(lines)
            language = None
        else:
            lines.append(line)


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
