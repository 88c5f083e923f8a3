"""Print the list of statements with their tests, as a Markdown table."""

from __future__ import annotations

from tests.acceptance.states import lines


def main() -> None:
    """Print it."""
    found = list(lines())
    print(f"{len(found)} statements in {len({line.test for line in found})} tests\n")
    print("| place | stated | test |\n|---|---|---|")
    for line in found:
        print(f"| {line.place} | {line.stated} | `{line.test}` |")


if __name__ == "__main__":
    main()
