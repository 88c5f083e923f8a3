"""Approvals and questions, asked at the keyboard."""

from dataagent_cli.hitl.choices import PromptInterrupted
from dataagent_cli.hitl.terminal import NO_APPROVER, TerminalHITLHandler

__all__ = ["NO_APPROVER", "PromptInterrupted", "TerminalHITLHandler"]
