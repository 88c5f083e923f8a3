"""Every error DataAgent raises on purpose; `dataagent_protocol.errors` defines them."""
# ruff: noqa: F403
# pyright: reportWildcardImportFromLibrary=false
# All of our own library's list, which stands there once.

from dataagent_protocol.errors import *
