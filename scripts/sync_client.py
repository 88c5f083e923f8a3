"""Writes dataagent_client/sync/, the sync twin of the async client, from the async classes.

Each public method of `DataAgentClient` and of its groups gets one that passes the call to the loop
of `sync/portal.py`: same name, arguments and docstring, no `await`. `python -m scripts.sync_client`
writes the files; with `--check` it only compares them with those in the tree.
"""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.tree import ROOT

PACKAGE = "dataagent_client"
FOLDER = ROOT / "libs/dataagent-client" / PACKAGE
_ENTRY = "DataAgentClient"
_RULED = FOLDER / "sync/client.py"
"""Ruff's rules for this path apply to all of them."""
_RUFF = Path(sys.executable).parent / "ruff"
_BY_HAND = {"__init__.py", "portal.py"}
_PORTAL = {"Portal", "Stream", "SyncOnApproval"}
_RENAMED = {"OnApproval": "SyncOnApproval", "AsyncGenerator": "Generator"}
_HEAD = '''"""The sync twin of `{module}.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

'''
_CLIENT = '''
class Sync{name}:
    """{doc}"""

    def __init__(self) -> None:
        self._calls = {name}()
        self._portal = Portal(self._calls.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, and end what still reads. Runs that were started go on."""
        self._portal.close()
'''
_CLIENT_DOC = (
    "A client of one server, for one key, for code without `await`. Use it in a `with`.\n\n"
    "    Several threads may share one; it works inside a running event loop too.\n    "
)
_GROUP = '''
class Sync{name}:
    """{doc}"""

    def __init__(self, portal: Portal, calls: {name}) -> None:
        self._portal = portal
        self._calls = calls
'''
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A module of the client, and where its names come from."""

    name: str
    classes: dict[str, ast.ClassDef]
    imported: dict[str, str]
    """The module each name is imported from."""

    def origin(self, name: str) -> str | None:
        """The module a name is to be imported from; None for what Python has anyway."""
        if name in _PORTAL:
            return f"{PACKAGE}.sync.portal"
        if name in self.imported:
            return self.imported[name]
        return None if hasattr(builtins, name) else f"{PACKAGE}.{self.name}"


def read(name: str) -> Module:
    """A module of the client."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    froms = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module]
    imported = {alias.name: str(each.module) for each in froms for alias in each.names}
    return Module(name, classes, imported)


def groups(of: ast.ClassDef) -> dict[str, str]:
    """The public attributes of a class that are groups of calls, and their classes."""
    made: dict[str, str] = {}
    for each in ast.walk(_method(of, "__init__")):
        match each:
            case ast.Assign([ast.Attribute(attr=name)], ast.Call(ast.Name(kind))):
                if not name.startswith("_"):
                    made[name] = kind
            case _:
                pass
    return made


def modules() -> dict[str, list[str]]:
    """The modules with classes that get a twin, and which those are, in the order they are met."""
    found: dict[str, list[str]] = {}
    waiting = [("client", _ENTRY)]
    while waiting:
        module_name, kind = waiting.pop(0)
        found.setdefault(module_name, []).append(kind)
        module = read(module_name)
        for each in groups(module.classes[kind]).values():
            waiting.append(((module.origin(each) or "").removeprefix(f"{PACKAGE}."), each))
    return found


def _method(of: ast.ClassDef, name: str) -> Function:
    return next(each for each in of.body if isinstance(each, Function) and each.name == name)


class _Renamed(ast.NodeTransformer):
    """Annotations of the async client as the sync one has them."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(_RENAMED.get(node.id, node.id))


def _arguments(of: ast.arguments) -> str:
    """A function's own arguments, handed on."""
    return ", ".join(
        [
            *(each.arg for each in of.args[1:]),
            *(f"{each.arg}={_passed_argument(each.arg)}" for each in of.kwonlyargs),
            *([f"**{of.kwarg.arg}"] if of.kwarg else []),
        ]
    )


def _passed_argument(name: str) -> str:
    return f"stream.asks({name})" if name == "on_approval" else name


def _twin(of: Function) -> ast.FunctionDef:
    """The method that does the same without `await`."""
    call = f"self._calls.{of.name}({_arguments(of.args)})"
    is_stream, item = False, ""
    match of.returns:
        case ast.Subscript(ast.Name("AsyncGenerator"), kind):
            is_stream, item = True, ast.unparse(kind)
        case _:
            pass
    if is_stream:
        body = f"stream = Stream[{item}](self._portal)\nreturn stream.read({call})"
    elif isinstance(of, ast.AsyncFunctionDef):
        body = f"return self._portal.call({call})"
    elif any(isinstance(each, ast.Name) and each.id == "property" for each in of.decorator_list):
        body = f"return self._calls.{of.name}"
    else:
        body = f"return {call}"
    made = ast.FunctionDef(
        of.name,
        _Renamed().visit(of.args),
        [of.body[0], *ast.parse(body).body],
        of.decorator_list,
        _Renamed().visit(of.returns) if of.returns else None,
    )
    return ast.fix_missing_locations(made)


def _class(of: ast.ClassDef) -> ast.ClassDef:
    """The twin of a class of calls."""
    is_entry = of.name == _ENTRY
    doc = _CLIENT_DOC if is_entry else ast.get_docstring(of, clean=False)
    text = (_CLIENT if is_entry else _GROUP).format(name=of.name, doc=doc)
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.ClassDef)
    begin, portal = _method(made, "__init__"), "self._portal" if is_entry else "portal"
    calls = "self._calls" if is_entry else "calls"
    if is_entry:
        given = _method(of, "__init__")
        passed = f"self._calls = {of.name}({_arguments(given.args)})"
        begin.args, begin.body[0] = given.args, ast.parse(passed).body[0]
        begin.body.insert(0, given.body[0])
    for name, kind in groups(of).items():
        line = f"self.{name} = Sync{kind}({portal}, {calls}.{name})"
        begin.body += ast.parse(line).body
    public = (each for each in of.body if isinstance(each, Function) and each.name[0] != "_")
    made.body += [_twin(each) for each in public if each.name != "aclose"]
    return made


def _imports(module: Module, classes: list[ast.ClassDef]) -> Iterator[str]:
    twins = {each: name for name, kinds in modules().items() for each in kinds}
    own = {each.name for each in classes}
    used = {node.id for each in classes for node in ast.walk(each) if isinstance(node, ast.Name)}
    local = {arg.arg for each in classes for arg in ast.walk(each) if isinstance(arg, ast.arg)}
    for name in sorted(used - own - local - {"stream"}):
        kind = name.removeprefix("Sync")
        if name != kind and kind in twins:
            yield f"from {PACKAGE}.sync.{twins[kind]} import {name}"
        elif name == "Generator":
            yield "from collections.abc import Generator"
        elif origin := module.origin(name):
            yield f"from {origin} import {name}"


def twin_of(name: str, kinds: list[str]) -> str:
    """The text of a module's twin.

    Raises:
        subprocess.CalledProcessError: ruff rejected it.
    """
    module = read(name)
    classes = [_class(module.classes[each]) for each in kinds]
    lines = [*_imports(module, classes), "", *(ast.unparse(each) for each in classes)]
    text = _HEAD.format(module=name) + "\n".join(lines) + "\n"
    where = ["--stdin-filename", str(_RULED), "-"]
    for command in (["check", "--quiet", "--fix", "--select", "I,UP"], ["format", "--quiet"]):
        done = subprocess.run(
            [str(_RUFF), *command, *where], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    folder = FOLDER / "sync"
    wanted = {folder / f"{name}.py": twin_of(name, kinds) for name, kinds in modules().items()}
    present = {path for path in folder.glob("*.py") if path.name not in _BY_HAND}
    if "--check" not in arguments:
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        for path in present - wanted.keys():
            path.unlink()
        print(f"wrote {folder.relative_to(ROOT)}")
        return 0
    same = present == wanted.keys() and all(
        path.read_text(encoding="utf-8") == text for path, text in wanted.items()
    )
    if not same:
        print(f"{folder.relative_to(ROOT)} does not match the async client.")
        print("hint: make sync-client")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
