"""The events of a run, re-exported from `dataagent_protocol.events`."""
# ruff: noqa: F403
# pyright: reportWildcardImportFromLibrary=false
# the whole public list of our own library

from dataagent_protocol.events import *
from dataagent_protocol.events import __all__ as __all__
