"""What wraps a model or tool call."""

from dataagent_core.middleware.approvals import (
    DEFAULT_GATED,
    AddressApprovals,
    McpApprovals,
    SecretsMiddleware,
    approvals_middleware,
    gated_tools,
)
from dataagent_core.middleware.calls import ToolErrorMiddleware
from dataagent_core.middleware.file_ops import (
    CODE_TOOLS,
    CodeChangesMiddleware,
    FileOperationMiddleware,
    preview,
)
from dataagent_core.middleware.history import (
    FileToolsMiddleware,
    PlainContent,
    TokenCounter,
    summarization,
)
from dataagent_core.middleware.limits import BudgetMiddleware, TenantFeaturesMiddleware
from dataagent_core.middleware.mcp_tools import (
    ConfiguredMcp,
    McpCalls,
    McpToolsMiddleware,
    UserServers,
)
from dataagent_core.middleware.memory import MEMORY_PATH, AgentMemoryMiddleware, ProjectMiddleware
from dataagent_core.middleware.observers import AuditMiddleware, McpCallTracing, TracingMiddleware
from dataagent_core.middleware.shell import ShellMiddleware
from dataagent_core.middleware.skills import SkillsMiddleware
from dataagent_core.middleware.steps import NoParentNotifier, PatchToolCalls, TodoList
from dataagent_core.middleware.tool_policy import RunRulesMiddleware, ToolPolicyMiddleware

__all__ = [
    "CODE_TOOLS",
    "DEFAULT_GATED",
    "MEMORY_PATH",
    "AddressApprovals",
    "AgentMemoryMiddleware",
    "AuditMiddleware",
    "BudgetMiddleware",
    "CodeChangesMiddleware",
    "ConfiguredMcp",
    "FileOperationMiddleware",
    "FileToolsMiddleware",
    "McpApprovals",
    "McpCallTracing",
    "McpCalls",
    "McpToolsMiddleware",
    "NoParentNotifier",
    "PatchToolCalls",
    "PlainContent",
    "ProjectMiddleware",
    "RunRulesMiddleware",
    "SecretsMiddleware",
    "ShellMiddleware",
    "SkillsMiddleware",
    "TenantFeaturesMiddleware",
    "TodoList",
    "TokenCounter",
    "ToolErrorMiddleware",
    "ToolPolicyMiddleware",
    "TracingMiddleware",
    "UserServers",
    "approvals_middleware",
    "gated_tools",
    "preview",
    "summarization",
]
