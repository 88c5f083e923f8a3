"""Approvals, asked at the keyboard."""

from dataagent_cli.hitl.terminal import Interrupted, TerminalHITLHandler

__all__ = ["Interrupted", "TerminalHITLHandler"]
