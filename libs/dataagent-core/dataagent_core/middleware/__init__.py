"""What wraps a model or tool call."""

from dataagent_core.middleware.addresses import AddressApprovals
from dataagent_core.middleware.approvals import DEFAULT_GATED, approvals_middleware, gated_tools
from dataagent_core.middleware.audit import AuditMiddleware
from dataagent_core.middleware.code_changes import CODE_TOOLS, CodeChangesMiddleware
from dataagent_core.middleware.configured_mcp import ConfiguredMcp, UserServers
from dataagent_core.middleware.file_ops import FileOperationMiddleware, preview
from dataagent_core.middleware.history import (
    FileToolsMiddleware,
    PlainContent,
    TokenCounter,
    summarization,
)
from dataagent_core.middleware.limits import BudgetMiddleware, TenantFeaturesMiddleware
from dataagent_core.middleware.mcp_approvals import McpApprovals
from dataagent_core.middleware.mcp_tools import McpCalls, McpToolsMiddleware
from dataagent_core.middleware.memory import MEMORY_PATH, AgentMemoryMiddleware
from dataagent_core.middleware.project import ProjectMiddleware
from dataagent_core.middleware.run_rules import RunRulesMiddleware
from dataagent_core.middleware.secrets import SecretsMiddleware
from dataagent_core.middleware.shell import ShellMiddleware
from dataagent_core.middleware.skills import SkillsMiddleware
from dataagent_core.middleware.steps import NoParentNotifier, PatchToolCalls, TodoList
from dataagent_core.middleware.tool_errors import ToolErrorMiddleware
from dataagent_core.middleware.tool_policy import ToolPolicyMiddleware
from dataagent_core.middleware.tracing import McpCallTracing, TracingMiddleware

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
