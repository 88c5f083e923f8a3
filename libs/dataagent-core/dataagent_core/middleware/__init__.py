"""What wraps a model or tool call."""

from dataagent_core.middleware.approvals import (
    DEFAULT_GATED,
    ApprovalRules,
    ApprovalsMiddleware,
    gated_tools,
)
from dataagent_core.middleware.file_ops import CODE_TOOLS, CodeChanges, FileOperations, preview
from dataagent_core.middleware.guard import (
    CHECKS,
    BoundTools,
    McpAccess,
    RunRulesCheck,
    SingleTodoList,
    TenantFeatures,
    ToolCallBudget,
    ToolCheck,
    ToolGuard,
    ToolSource,
)
from dataagent_core.middleware.limits import BudgetMiddleware
from dataagent_core.middleware.mcp_tools import ConfiguredMcp, UserServers
from dataagent_core.middleware.memory import MEMORY_PATH, AgentMemoryMiddleware, ProjectMiddleware
from dataagent_core.middleware.observers import (
    CallAudit,
    CallObserver,
    CallTracing,
    ModelTracing,
    ToolObserver,
)
from dataagent_core.middleware.shell import ShellMiddleware
from dataagent_core.middleware.skills import SkillsMiddleware
from dataagent_core.middleware.upstream import (
    FileToolsMiddleware,
    NoParentNotifier,
    PatchToolCalls,
    PlainContent,
    TodoList,
    TokenCounter,
    summarization,
)

__all__ = [
    "CHECKS",
    "CODE_TOOLS",
    "DEFAULT_GATED",
    "MEMORY_PATH",
    "AgentMemoryMiddleware",
    "ApprovalRules",
    "ApprovalsMiddleware",
    "BoundTools",
    "BudgetMiddleware",
    "CallAudit",
    "CallObserver",
    "CallTracing",
    "CodeChanges",
    "ConfiguredMcp",
    "FileOperations",
    "FileToolsMiddleware",
    "McpAccess",
    "ModelTracing",
    "NoParentNotifier",
    "PatchToolCalls",
    "PlainContent",
    "ProjectMiddleware",
    "RunRulesCheck",
    "ShellMiddleware",
    "SingleTodoList",
    "SkillsMiddleware",
    "TenantFeatures",
    "TodoList",
    "TokenCounter",
    "ToolCallBudget",
    "ToolCheck",
    "ToolGuard",
    "ToolObserver",
    "ToolSource",
    "UserServers",
    "gated_tools",
    "preview",
    "summarization",
]
