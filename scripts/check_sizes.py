"""Files stay within 400 lines and functions under 40. There is no list of exceptions.

A function's lines are those from its `def` to its end, without its docstring. Complexity is ruff's
job (C901). Run as `python -m scripts.check_sizes`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.tree import ROOT, project_files

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 39
_SOURCES = {".py", ".ts", ".tsx"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def too_long(path: Path) -> Iterator[str]:
    """What is too long in one source file, a sentence each."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines; a file has at most {MAX_FILE_LINES}. Split it by concept."
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, Function) and (size := function_lines(node)) > MAX_FUNCTION_LINES:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {size} lines; "
                    f"a function has at most {MAX_FUNCTION_LINES}. Its parts are functions."
                )


def function_lines(node: Function) -> int:
    """The function's lines, its docstring and decorators not counted."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def main() -> int:
    """Print what is too long; 1 if anything is."""
    files = [path for path in project_files() if path.suffix in _SOURCES]
    found = [line for path in files for line in too_long(path)]
    print("\n".join(line.replace(f"{ROOT}/", "") for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
