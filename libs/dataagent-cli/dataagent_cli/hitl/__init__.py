"""Approvals, asked at the keyboard."""

from dataagent_cli.hitl.terminal import NOBODY, Interrupted, TerminalHITLHandler

__all__ = ["NOBODY", "Interrupted", "TerminalHITLHandler"]
