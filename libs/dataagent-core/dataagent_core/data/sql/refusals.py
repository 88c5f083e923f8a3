"""Refusals of the guard: a reason code for programs, a sentence and a way out for people.

A refusal is about the form of a statement; a name that does not exist is `UnknownName`, which is
the reader's to correct.
"""

from __future__ import annotations

from typing import Literal

from dataagent_core.errors import QueryRefused

Reason = Literal[
    "empty",
    "too_long",
    "too_deep",
    "too_large",
    "nul_byte",
    "bad_text",
    "executable_comment",
    "not_parsable",
    "several_statements",
    "not_a_query",
    "statement_writes",
    "locking",
    "node_not_allowed",
    "function_not_allowed",
    "type_not_allowed",
    "system_table",
    "table_function",
]


MAX_SOURCES = 100  # in one FROM; engines stop at 61 or 64, or take very long
MAX_OUTPUTS = 2_000  # of one query; engines stop at 1,664 or 2,000, or take very long


def too_many(count: int, allowed: int, what: str) -> QueryRefused | None:
    """The refusal of a query that is too wide, if it is."""
    if count <= allowed:
        return None
    hint = "Name only those you need."
    return refusal("too_large", f"A query has more than {allowed:,} {what}.", hint=hint)


def refusal(reason: Reason, message: str, *, hint: str) -> QueryRefused:
    """The error to raise: what is wrong, and what to write instead."""
    return QueryRefused(f"{message} {hint}", details={"reason": reason, "hint": hint})
