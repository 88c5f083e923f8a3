"""Where conversations are kept and answered: in this process, or on a server."""

from dataagent_cli.hosts.types import Agent, Host, NotOnServer, Skill, Skills, Spent, Tool

__all__ = ["Agent", "Host", "NotOnServer", "Skill", "Skills", "Spent", "Tool"]
