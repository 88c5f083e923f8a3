"""The two tiers of the tests, and the order files start in.

`make test` runs the first tier. `make test-all` passes `--all` and runs everything:

- a test marked `slow` runs in the second tier only;
- a store test parametrized with `STORES` or `SQL_STORES` runs on SQLite in the first tier, and on
  the other databases too if it is marked `every_store`;
- a test of each kind of sandbox (`WALLS`) runs with bubblewrap only in the first tier;
- a property runs 25 examples in the first tier (100 with `examples(100)`), 500 in the second.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

SQL_KINDS = ("sqlite", "postgres", "mysql")
STORE_KINDS = ("memory", *SQL_KINDS, "redis")
FIRST_TIER_EXAMPLES = 25
ALL_EXAMPLES = 500
_STARTS_PROCESSES = {"end_to_end", "attacks", "sandbox", "mcp", "setup", "dataagent-server-demo"}
"""Folders whose files take longest: they start first, so that no worker ends long after others."""


def _params(kinds: tuple[str, ...]) -> list[object]:
    other = pytest.mark.other_store
    return [kind if kind == "sqlite" else pytest.param(kind, marks=other) for kind in kinds]


STORES = _params(STORE_KINDS)
"""Parameters of a fixture or test that runs on each kind of store."""
SQL_STORES = _params(SQL_KINDS)
"""The same for each SQL database."""
WALLS = ["bwrap", pytest.param("docker", marks=pytest.mark.slow)]
"""Parameters of a test that runs in each kind of sandbox."""


def examples(at_least: int) -> int:
    """How many examples a property runs that needs more than the first tier's usual number."""
    return max(at_least, settings().max_examples)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all`."""
    parser.addoption("--all", action="store_true", help="run the second tier as well")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property runs, without a deadline."""
    settings.register_profile(
        "tier",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        max_examples=ALL_EXAMPLES if config.getoption("--all") else FIRST_TIER_EXAMPLES,
    )
    settings.load_profile("tier")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the second tier out unless `--all` is given, and put long files first."""
    if not config.getoption("--all"):
        second = [item for item in items if is_second_tier(item)]
        config.hook.pytest_deselected(items=second)
        items[:] = [item for item in items if not is_second_tier(item)]
    long = {item.path for item in items if not _STARTS_PROCESSES.isdisjoint(item.path.parts)}
    items.sort(key=lambda item: item.path not in long)


def is_second_tier(item: pytest.Item) -> bool:
    """Whether only `make test-all` runs this test."""
    if item.get_closest_marker("slow"):
        return True
    return bool(item.get_closest_marker("other_store")) and not item.get_closest_marker(
        "every_store"
    )
