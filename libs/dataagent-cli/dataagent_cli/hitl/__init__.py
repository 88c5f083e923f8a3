"""Approvals and questions, asked at the keyboard."""

from dataagent_cli.hitl.choices import Interrupted
from dataagent_cli.hitl.terminal import NOBODY, TerminalHITLHandler

__all__ = ["NOBODY", "Interrupted", "TerminalHITLHandler"]
