"""The page of requirements: what must hold, which tests prove it, where we depart.

`python -m scripts.reference.requirements R3.4` prints all tests of an id.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby

from scripts.reference import tables
from tests.requirement_marks import Proof, proofs
from tests.requirements import Requirement, known

_SHOWN = 3
_PLAIN = re.compile(r"\||(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")  # Markdown would read more into it
_DOORS = ("web/", "tests/end_to_end/", "tests/", "libs/dataagent-s", "libs/dataagent-c", "libs/")
_INTRO = """\
# Requirements

Every sentence the product is held to, and tests that would fail without it: those through the
highest door first, at most three of them. `python -m scripts.reference.requirements R3.4` prints
all tests of an id. Where we do something else than a sentence says, the last column says what, and
the tests prove that. {count} sentences, {tests} tests, {departures} departures; the reasons are in
[decisions](../decisions/). This page is generated from `tests/requirement_ids.txt` and from the
marks of the tests: `make docs` writes it. A sentence without a test fails `make test`, and so does
a mark that names no sentence.
"""


def page() -> str:
    """The whole page."""
    found, asked = proofs(), list(known().values())
    tests = {(proof.path, proof.test) for named in found.values() for proof in named}
    departures = sum(bool(one.departs) for one in asked)
    parts = [_INTRO.format(count=len(asked), tests=len(tests), departures=departures)]
    for title, rows in groupby(asked, key=lambda one: one.section):
        parts.append(section(title, list(rows), found))
    return "\n".join(parts)


def section(title: str, rows: list[Requirement], found: dict[str, list[Proof]]) -> str:
    """The requirements of one kind, as a table."""
    head = ["id", "what must hold", "tests", "what we do instead"]
    lines = [f"## {title[2:]}", "", tables.row(head), tables.row(["---"] * len(head))]
    for one in rows:
        cells = [one.id, one.sentence, cell(found.get(one.id, [])), one.departs]
        lines.append(tables.row([_PLAIN.sub(r"\\\g<0>", text) for text in cells]))
    return "\n".join(lines) + "\n"


def cell(named: list[Proof]) -> str:
    """The tests through the highest doors, by file, and how many more there are."""
    shown = sorted(named, key=height)[:_SHOWN]
    files = [
        f"`{path}`: {', '.join(words(proof.test) for proof in group)}"
        for path, group in groupby(shown, key=lambda proof: proof.path)
    ]
    rest = len(named) - len(shown)
    return "<br>".join([*files, f"and {rest} more"] if rest else files)


def height(proof: Proof) -> tuple[int, str]:
    """Where a test stands: the browser first, the core last."""
    door = next(at for at, start in enumerate(_DOORS) if proof.path.startswith(start))
    return door, proof.path


def words(test: str) -> str:
    """A test's name as a sentence."""
    return test.removeprefix("test_").replace("_", " ")


def printed(ids: list[str]) -> int:
    """Print what the ids say and all their tests; 1 if one does not exist."""
    found, asked = proofs(), known()
    for one in ids:
        if one not in asked:
            print(f"No requirement {one!r}; they are in tests/requirement_ids.txt", file=sys.stderr)
            return 1
        print(f"{one} {asked[one].sentence}")
        if asked[one].departs:
            print(f"  departs: {asked[one].departs}")
        for proof in sorted(found.get(one, []), key=height):
            print(f"  {proof.path}::{proof.test}")
    return 0


if __name__ == "__main__":
    sys.exit(printed(sys.argv[1:]))
