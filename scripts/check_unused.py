"""No function, class or import that nothing uses, and no code that cannot be reached (vulture).

Methods, attributes and arguments are left out: frameworks call them by name, and there would be too
many false reports. What `__all__` names counts as used. Run as
`python -m scripts.check_unused`.
"""

from __future__ import annotations

import sys

from vulture.core import Item, Vulture  # pyright: ignore[reportMissingTypeStubs] it has none

from scripts.tree import ROOT, python_files

_KINDS = {"function", "class", "import", "unreachable_code"}
_CALLED_BY_FRAMEWORKS = [
    *("@*.get", "@*.post", "@*.put", "@*.patch", "@*.delete"),
    "@*.tool",
    "@pytest.fixture",
]
_NAMES = ["test_*", "pytest_*", "upgrade", "downgrade", "__getattr__", "ShippedFolders", "tools"]
"""Called by pytest, by Alembic, by hatchling, and by `tools/builtin.py`."""


def unused() -> list[Item]:
    """What nothing in the project uses."""
    scan = Vulture(ignore_names=_NAMES, ignore_decorators=_CALLED_BY_FRAMEWORKS)
    # it is untyped
    scan.scavenge(  # pyright: ignore[reportUnknownMemberType]
        [str(path) for path in python_files()]
    )
    found = scan.get_unused_code(min_confidence=60)
    return [item for item in found if item.typ in _KINDS and not _is_vocabulary(item)]


def _is_vocabulary(item: Item) -> bool:
    """The error tree is one public list, drawn whole in its docstring."""
    return item.typ == "class" and "dataagent_protocol/errors" in str(item.filename)


def main() -> int:
    """Print what is unused; 1 if anything is."""
    found = unused()
    for item in found:
        place = str(item.filename).replace(f"{ROOT}/", "")
        print(f"{place}:{item.first_lineno}: {item.message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
