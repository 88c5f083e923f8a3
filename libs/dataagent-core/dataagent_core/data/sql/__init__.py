"""The guard: one statement in, one plain query out, with every name in it resolved."""

from dataagent_core.data.sql.names import tables_of
from dataagent_core.data.sql.parse import parse
from dataagent_core.data.sql.refusals import Reason
from dataagent_core.data.sql.render import render
from dataagent_core.data.sql.resolve import resolve
from dataagent_core.data.sql.statement import ParsedStatement

__all__ = ["ParsedStatement", "Reason", "parse", "render", "resolve", "tables_of"]
