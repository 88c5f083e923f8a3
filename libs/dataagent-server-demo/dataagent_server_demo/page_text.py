"""Text for Streamlit's Markdown, escaped, and errors of the client in words.

No error reaches the page as a traceback, and no text shows a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dataagent_client import (
    ApiError,
    ClientError,
    ConflictError,
    ConnectionFailed,
    EventsLost,
    LimitError,
    NotAuthenticatedError,
    NotFoundError,
    ProtocolError,
    UnavailableError,
)

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|$~:])")


def sanitize_markdown(text: str) -> str:
    """A model's Markdown, without what would reach out or be misread.

    An image would be fetched from wherever the model says, with whatever it wrote into the address:
    it becomes a link. A dollar is money here, not a formula.
    """
    pieces = _CODE.split(text.replace("![", "!\u200b["))
    return "".join(
        piece if at % 2 else piece.replace("\\$", "$").replace("$", "\\$")
        for at, piece in enumerate(pieces)
    )


def escape_markdown(text: str) -> str:
    """Text as it is, where Markdown would be read."""
    return _SPECIAL.sub(r"\\\1", text)


Level = Literal["info", "warning", "error"]
_NOT_BUILT = {404, 405, 501}
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """What is the matter, and what can be done. `info` means that nothing is broken."""

    text: str
    hint: str
    level: Level = "warning"


def explain(error: ClientError, server_url: str) -> Problem:
    """What an error of the client means to who uses the demo."""
    match error:
        case ConnectionFailed():
            return Problem(
                f"{server_url} 的 DataAgent 服务器没有响应。",
                "请启动服务器 (make run)，或把 DATAAGENT_SERVER_URL 设为它的地址，然后重试。",
            )
        case ProtocolError():
            return Problem(
                f"{server_url} 的响应不像是 DataAgent 服务器的响应。",
                "请检查 DATAAGENT_SERVER_URL，以及服务器的版本是否与此演示一致。",
            )
        case EventsLost():
            return Problem(
                "回答的一部分已无法重新读取。",
                "请重新打开对话：已有的内容仍然保存着。",
            )
        case ApiError():
            return _refusal(error)
        case _:
            return Problem(_short(str(error)), "请重试。")


def _refusal(error: ApiError) -> Problem:
    match error:
        case NotAuthenticatedError():
            return Problem(
                "服务器不认识这个密钥。",
                "请把 DATAAGENT_API_KEY 设为该服务器的密钥，然后重新启动演示。",
            )
        case _ if error.status >= 500 and not isinstance(error, UnavailableError):
            named = f"服务器日志中的请求编号：{error.request_id}。" if error.request_id else ""
            return Problem(f"服务器出错 ({error.status})。", f"请重试。{named}")
        case _:
            return Problem(_short(str(error)), _way_out(error))


def _way_out(error: ApiError) -> str:
    match error:
        case _ if error.status == 403:
            hint = "服务器的规则不允许这个密钥这样做。"
        case NotFoundError():
            hint = "它不存在，或属于其他人。"
        case ConflictError():
            hint = "与现有内容冲突，请查看后再试。"
        case LimitError():
            hint = f"已达到上限。{_when(error)}"
        case UnavailableError():
            hint = f"服务器繁忙。{_when(error)}"
        case _:
            hint = "请更正后重试。"
    return hint


def _when(error: ApiError) -> str:
    if error.retry_after is None:
        return "请稍后重试。"
    return f"请在 {max(1, round(error.retry_after))} 秒后重试。"


def explain_mcp(error: ClientError, server_url: str) -> Problem:
    """As `explain`, for the list of MCP servers: a server may be without them."""
    if isinstance(error, ApiError) and error.status in _NOT_BUILT:
        return Problem(
            "此服务器不提供 MCP 配置。",
            "对话不受影响。较新的 DataAgent 服务器提供此功能。",
            "info",
        )
    if isinstance(error, ApiError) and error.status == 403:
        return Problem(
            "这个密钥不能使用 MCP 配置。",
            f"服务器的说明：{_short(str(error))}",
            "info",
        )
    return explain(error, server_url)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
