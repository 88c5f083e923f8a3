"""Every error DataAgent raises on purpose, re-exported from `dataagent_protocol.errors`."""
# ruff: noqa: F403
# pyright: reportWildcardImportFromLibrary=false
# the whole public list of our own library

from dataagent_protocol.errors import *
