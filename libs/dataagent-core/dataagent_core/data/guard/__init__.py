"""The guard: one statement in, one plain query out, with every name in it known."""

from dataagent_core.data.guard.parse import parse
from dataagent_core.data.guard.references import tables_of
from dataagent_core.data.guard.refusals import Reason
from dataagent_core.data.guard.render import render
from dataagent_core.data.guard.resolve import resolve
from dataagent_core.data.guard.statement import ParsedStatement

__all__ = ["ParsedStatement", "Reason", "parse", "render", "resolve", "tables_of"]
