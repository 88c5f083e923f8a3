"""What wraps a model or tool call."""

from dataagent_core.middleware.approvals import DEFAULT_GATED, approvals_middleware
from dataagent_core.middleware.file_ops import FileOperationMiddleware
from dataagent_core.middleware.history import PlainContent, TokenCounter, summarization
from dataagent_core.middleware.memory import MEMORY_PATH, AgentMemoryMiddleware
from dataagent_core.middleware.shell import ShellMiddleware
from dataagent_core.middleware.skills import SkillsMiddleware
from dataagent_core.middleware.steps import NoParentNotifier, PatchToolCalls, TodoList
from dataagent_core.middleware.tool_errors import ToolErrorMiddleware

__all__ = [
    "DEFAULT_GATED",
    "MEMORY_PATH",
    "AgentMemoryMiddleware",
    "FileOperationMiddleware",
    "NoParentNotifier",
    "PatchToolCalls",
    "PlainContent",
    "ShellMiddleware",
    "SkillsMiddleware",
    "TodoList",
    "TokenCounter",
    "ToolErrorMiddleware",
    "approvals_middleware",
    "summarization",
]
