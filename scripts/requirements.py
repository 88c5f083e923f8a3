"""Prints requirements and the tests that prove them: `python -m scripts.requirements [R3.4 …]`.

Without ids it prints every requirement.
"""

from __future__ import annotations

import sys

from tests.requirements import known, proofs


def main(ids: list[str]) -> int:
    """Print what the ids say and all their tests; 1 if one does not exist."""
    found, requirements = proofs(), known()
    for one in ids or requirements:
        if one not in requirements:
            print(f"No requirement {one!r}; they are in tests/requirement_ids.txt", file=sys.stderr)
            return 1
        print(f"{one} {requirements[one].sentence}")
        if requirements[one].departs:
            print(f"  departs: {requirements[one].departs}")
        for proof in sorted(found.get(one, []), key=lambda proof: proof.path):
            print(f"  {proof.path}::{proof.test}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
