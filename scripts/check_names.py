"""A class name is declared once in the product, and its prose has no words in a private sense.

`python -m scripts.check_names` fails for a public class declared twice, a word of `ABSENT` in a
docstring or comment, and a docstring that lists what is above or below its module. `python -m
scripts.check_names remaining` counts the words of `REMAINING` instead, and `remaining WORD` prints
where one is used; a word whose count is zero moves to `ABSENT`.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.tree import ROOT, python_files

ABSENT = (
    *("audible", "duties", "duty", "guests?", "houses?", "hush", "insists?", "lookout"),
    *("mourns?", "overheard", "patience", "rid of"),
)
"""Words that stood for something else here, as regular expressions."""
REMAINING = (
    *("anybody", "nobody", "somebody", "whoever", "whatever", "told", "tells? of", "asked"),
    *("put away", "puts away", "is away", "bring back", "brings back", "brought back"),
    *("doors?", "rooms?", "visitors?", "visits?", "desk", "shelf", "shelves", "stranger"),
    *("heard", "hearing", "obeys?", "obeyed", "adopts?", "let go", "in circles", "thrown away"),
    *("walk", "walks", "walked", "carry out", "carried out", "beside", "comes of", "neighbours?"),
)
"""Words to replace; a few of their uses may be honest."""
MIRRORED = frozenset(
    """AgentChanged AgentChoice AgentInfo AllowedTool Allowlist ApiKeyInfo ArtifactDetail
    ArtifactInfo AuditRecord AuditVerdict CatalogueInfo CatalogueSummary CatalogueTool
    ColumnStatistics ConversationInfo DayUsage FileInfo FilePreview ForeignKey Grant Health
    HistoryMessage MemoryInfo MessageInfo NewApiKey Page PolicyInfo Readiness Receipt ResultColumn
    RunInfo SessionInfo SkillDetail SkillInfo SkillList SkillWarning SourceInfo SystemInfo TableInfo
    TableName TenantInfo TenantInvitation TenantMember ThreadHistory ToolInfo UploadedFile UserInfo
    Versions WorkspaceInfo""".split()  # noqa: SIM905 a list would be a page long
)
"""Wire models that the Python client declares again, so that it needs no other package of ours."""
_DECLARED_TWICE = frozenset(
    """Backoff Conversation Health McpCalls McpTool RequestContext ResultFile ServerSettings
    SseParser""".split()  # noqa: SIM905 as above
)
"""To be renamed."""
_CLIENT = "dataagent_client"
_POINTER = re.compile(r"\b(?:Above|Below): ")


def product_files() -> list[Path]:
    """The Python files of the packages."""
    return [path for path in python_files() if re.match(r"libs/[\w-]+/dataagent\w*/", _name(path))]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Each docstring and comment of a file, with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(string))):
                yield node.lineno, string
            case _:
                pass
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def words(texts: Iterable[tuple[int, str]], listed: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each use of one of the words, with its line."""
    pattern = re.compile(rf"\b(?:{'|'.join(listed)})\b", re.IGNORECASE)
    for first, text in texts:
        for found in pattern.finditer(text):
            yield first + text.count("\n", 0, found.start()), found.group().lower()


def declared_twice(files: Iterable[Path]) -> Iterator[str]:
    """A sentence for each public class that two modules declare, mirrors in the client aside."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(_name(path))
    for name, places in sorted(modules.items()):
        ours = [place for place in places if name not in MIRRORED or _CLIENT not in place]
        if len(ours) > 1 and name not in _DECLARED_TWICE:
            yield f"{name} is declared in {' and in '.join(ours)}"


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def problems() -> Iterator[str]:
    """What is wrong, a sentence each."""
    files = product_files()
    yield from declared_twice(files)
    pointers = 0
    for path in files:
        texts = [*prose(path)]
        pointers += sum(len(_POINTER.findall(text)) for _, text in texts)
        for line, word in words(texts, ABSENT):
            yield f"{_name(path)}:{line}: {word!r} has another meaning in plain English"
    if pointers:
        yield f"{pointers} docstrings list what is 'Above:' or 'Below:'; imports say it"


def main(arguments: list[str]) -> int:
    """Print the problems, 1 if there are any; or what remains."""
    if arguments[:1] == ["remaining"]:
        _print_remaining(arguments[1:])
        return 0
    found = [*problems()]
    print("\n".join(found))
    return 1 if found else 0


def _print_remaining(listed: list[str]) -> None:
    counts: Counter[str] = Counter()
    for path in product_files():
        for line, word in words(prose(path), listed or REMAINING):
            counts[word] += 1
            if listed:
                print(f"{_name(path)}:{line}: {word}")
    for word, count in counts.most_common():
        print(f"{count:5} {word}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
