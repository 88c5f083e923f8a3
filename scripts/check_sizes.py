"""Files stay within 400 lines, functions under 40, components within 150, and no type is `any`.

A function's lines are those from its `def` to its end, without its docstring. Complexity is ruff's
job (C901). A component is a function of a `.tsx` file whose name begins with a capital. There is no
list of exceptions; what is generated is not looked at. Run as `python -m scripts.check_sizes`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.tree import ROOT, WEB_SCHEMA, project_files

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 39
MAX_COMPONENT_LINES = 150
_SOURCES = {".py", ".ts", ".tsx"}
_COMPONENT = re.compile(r"(?:export )?(?:default )?(?:function|const) ([A-Z]\w*)")
_END = re.compile(r"[})\]]+;?")  # prettier closes what begins at a line's start on such a line
_ANY = re.compile(
    r"(?::|<|\||&|\bas|\bextends|\bsatisfies)\s*any\b|,\s*any\s*>|\bany\[\]"
    r"|^(?:export )?type\b.*=\s*any\b|@ts-(?:ignore|nocheck)"
)
_SAID = re.compile(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def problems(path: Path) -> Iterator[str]:
    """What is too long, or typed as `any`, in one source file, a sentence each."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > MAX_FILE_LINES:
        yield (
            f"{path}: {len(lines)} lines; a file has at most {MAX_FILE_LINES}. Split it by concept."
        )
    if path.suffix == ".py":
        yield from _long_functions(path, text)
    else:
        yield from _anys(path, lines)
    if path.suffix == ".tsx":
        yield from _long_components(path, lines)


def _long_functions(path: Path, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function) and (size := function_lines(node)) > MAX_FUNCTION_LINES:
            yield (
                f"{path}:{node.lineno}: {node.name} has {size} lines; "
                f"a function has at most {MAX_FUNCTION_LINES}. Its parts are functions."
            )


def _long_components(path: Path, lines: list[str]) -> Iterator[str]:
    for start, line in enumerate(lines):
        found = _COMPONENT.match(line)
        if found is None or line.endswith(";"):
            continue
        rest = enumerate(lines[start + 1 :], start=2)
        size = next((count for count, each in rest if _END.fullmatch(each)), len(lines) - start)
        if size > MAX_COMPONENT_LINES:
            yield (
                f"{path}:{start + 1}: {found.group(1)} has {size} lines; "
                f"a component has at most {MAX_COMPONENT_LINES}. Its parts are components."
            )


def _anys(path: Path, lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "@ts-" in line or "any" in line:
            looked_at = line if "@ts-" in line else _SAID.sub("''", line)
            if _ANY.search(looked_at):
                yield f"{path}:{number}: no type is `any`, and no check is switched off. Say which."


def function_lines(node: Function) -> int:
    """The function's lines, its docstring and decorators not counted."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def main() -> int:
    """Print every problem; 1 if there is any."""
    files = [path for path in project_files() if path.suffix in _SOURCES and path != WEB_SCHEMA]
    found = [line for path in files for line in problems(path)]
    print("\n".join(line.replace(f"{ROOT}/", "") for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
