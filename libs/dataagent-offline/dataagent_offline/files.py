"""The offline model's skills for files: list, read and write, and read what was uploaded.

English and Chinese. Each pattern takes the whole request, so that a longer question which only
mentions a file is not mistaken for one of these. Pure; the tools do the work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dataagent_core.models.rule_based import (
    AttachedFile,
    Call,
    Conversation,
    Turn,
    argument,
    missing_tool_turn,
    next_call_or_report,
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
