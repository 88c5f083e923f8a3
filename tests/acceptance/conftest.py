"""Statements of the documents that do not hold yet: their tests must fail, and are listed here.

An entry whose test passes fails the run, so that the list cannot grow old.
"""

from __future__ import annotations

import pytest

_DEMO = "the demo's functions and Chinese texts are not written"
OPEN = {
    "test_the_functions_of_the_demo_manage_servers": _DEMO,
    "test_the_functions_of_the_demo_do_not_raise": _DEMO,
    "test_the_panel_is_a_function": _DEMO,
    "test_the_page_has_the_texts": _DEMO,
    "test_each_server_has_a_button": _DEMO,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the tests of open statements to fail."""
    for item in items:
        if "tests/acceptance/" in item.nodeid and item.name in OPEN:
            item.add_marker(pytest.mark.xfail(reason=OPEN[item.name], strict=True))
