"""The tree of errors: what its page draws is what there is, and each has a code of its own."""

from __future__ import annotations

import inspect
import re

import pytest

from dataagent_protocol import errors
from dataagent_protocol.errors import DataAgentError

ALL: list[type[DataAgentError]] = [getattr(errors, name) for name in errors.__all__]


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = set(re.findall(r"[A-Z]\w+", (errors.__doc__ or "").partition("Each class")[0]))
    assert {kind.__name__ for kind in ALL} <= drawn


def test_every_error_is_exported() -> None:
    found = {DataAgentError}
    waiting: list[type[DataAgentError]] = [DataAgentError]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind.__module__.startswith("dataagent_protocol."):
                found.add(kind)
                waiting.append(kind)
    assert found == set(ALL)


def test_no_two_errors_have_one_code() -> None:
    """A kind that gives none of its own is its parent for a client."""
    codes = [kind.code for kind in ALL if "code" in vars(kind)]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_error_keeps_what_it_is_told(kind: type[DataAgentError]) -> None:
    error = kind("It is gone.", details={"what": "it"})
    assert (error.message, str(error), error.details) == (
        "It is gone.",
        "It is gone.",
        {"what": "it"},
    )
    assert inspect.getdoc(kind)
