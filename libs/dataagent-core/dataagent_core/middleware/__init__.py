"""What wraps a model or tool call."""

from dataagent_core.middleware.approvals import DEFAULT_GATED, approvals_middleware
from dataagent_core.middleware.attachments import AttachmentsMiddleware, with_files
from dataagent_core.middleware.audit import AuditMiddleware
from dataagent_core.middleware.file_ops import FileOperationMiddleware
from dataagent_core.middleware.history import Files, PlainContent, TokenCounter, summarization
from dataagent_core.middleware.limits import BudgetMiddleware, SwitchesMiddleware
from dataagent_core.middleware.memory import MEMORY_PATH, AgentMemoryMiddleware
from dataagent_core.middleware.shell import ShellMiddleware
from dataagent_core.middleware.skills import SkillsMiddleware
from dataagent_core.middleware.steps import NoParentNotifier, PatchToolCalls, TodoList
from dataagent_core.middleware.tool_errors import ToolErrorMiddleware
from dataagent_core.middleware.tool_policy import ToolPolicyMiddleware
from dataagent_core.middleware.tracing import TracingMiddleware

__all__ = [
    "DEFAULT_GATED",
    "MEMORY_PATH",
    "AgentMemoryMiddleware",
    "AttachmentsMiddleware",
    "AuditMiddleware",
    "BudgetMiddleware",
    "FileOperationMiddleware",
    "Files",
    "NoParentNotifier",
    "PatchToolCalls",
    "PlainContent",
    "ShellMiddleware",
    "SkillsMiddleware",
    "SwitchesMiddleware",
    "TodoList",
    "TokenCounter",
    "ToolErrorMiddleware",
    "ToolPolicyMiddleware",
    "TracingMiddleware",
    "approvals_middleware",
    "summarization",
    "with_files",
]
