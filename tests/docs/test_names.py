"""Every name of the product stands in the reference, and no page names what does not exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from dataagent_core.events import EVENT_CLASSES
from scripts.reference import api, commands
from scripts.tree import ROOT, python_files
from tests.docs import names
from tests.docs.pages import blocks, pages, prose
from tests.docs.transcripts import steps_of

_VARIABLE = re.compile(r"\bDATAAGENT_[A-Z0-9_]*[A-Z0-9]\b(?!_?\*)")
_ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/[\w/{}.-]*)")
_ADDRESS = re.compile(r"(?<![\w.~/{}])/api/[\w/{}.-]*[\w}]")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_SLASH = re.compile(r"`/([a-z][a-z-]*)(?: [^`]*)?`")
_EVENT = re.compile(r"`([a-z_]+)` events?\b|\bevents? `([a-z_]+)`")
_CODE = re.compile(r"`[^`]+`")
_FOREIGN_OPTIONS = {
    "--build": "docker compose",
    "--cookie-samesite": "oauth2-proxy",
    "--prefix": "npm",
    "--upgrade": "uv",
    "--upgrade-package": "uv",
    "--database": "scripts.topology",
    "--redis": "scripts.topology",
}
"""Options of other people's programs, and of our scripts."""
_FOLDERS = {
    "tmp",
    "srv",
    "run",
    "output",
    "workspace",
    "files",
    "memories",
    "data",
    "assets",
    "api",
}
"""Of paths on a machine and in a sandbox, which look like commands."""
_REFERENCE = {
    name: (ROOT / f"docs/reference/{name}.md") for name in ("settings", "api", "commands", "events")
}


def reference(name: str) -> str:
    return _REFERENCE[name].read_text(encoding="utf-8")


# -- everything has its entry ---------------------------------------------------------------


def test_every_setting_has_an_entry() -> None:
    page = reference("settings")
    assert [name for name in names.settings() if f"`{name}`" not in page] == []


def test_every_route_has_an_entry() -> None:
    headings = set(reference("api").splitlines())
    missing = [
        f"{m} {path}" for m, path, _ in api.operations() if f"### {m} {path}" not in headings
    ]
    assert missing == []


def test_every_event_has_an_entry() -> None:
    page = reference("events")
    assert [each for each in EVENT_CLASSES if f"### {each.event_type}\n" not in page] == []
    assert [
        name for name in names.events() if f"`{name}`" not in page and f"### {name}\n" not in page
    ] == []


def test_every_command_and_option_has_an_entry() -> None:
    page = reference("commands")
    assert [prog for prog in names.parsers() if f"# {prog}\n" not in page] == []
    assert [name for name in names.slash_commands() if f"`/{name}`" not in page] == []
    shown = {option for option in names.options() if f"`{option}`" in page}
    flags_of_settings = {_flag(name) for name in names.settings()}
    others = {
        option
        for option in names.options() - shown - {"-h", "--help"}
        if option.replace("--no-", "--").removesuffix("-file") not in flags_of_settings
    }
    assert others == set()


def _flag(variable: str) -> str:
    return "--" + variable.removeprefix("DATAAGENT_").lower().replace("_", "-")


# -- and nothing else is named --------------------------------------------------------------


def wrong_on_pages(wrong_in: Callable[[str], set[str]]) -> dict[str, set[str]]:
    """The pages that name something wrong, with what it is."""
    found = {name: wrong_in(text) for name, text in pages().items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_no_page_names_a_setting_that_does_not_exist() -> None:
    known = names.settings() | names.other_variables().keys()

    def wrong(page: str) -> set[str]:
        named = set(_VARIABLE.findall(page)) - known
        return {name for name in named if not name.startswith("DATAAGENT_TEST_")}

    assert wrong_on_pages(wrong) == {}


def test_no_page_names_a_route_that_does_not_exist() -> None:
    def is_route(method: str, path: str) -> bool:
        written = [names.template(f"{start}{path}") for start in ("", "/api/v1", "/api")]
        return any(
            method == known_method and names.fits(each, known)
            for known_method, known in names.routes()
            for each in written
        )

    def wrong(page: str) -> set[str]:
        named = set(_ROUTE.findall(page))
        return {
            f"{method} {path}"
            for method, path in named
            if not is_route(method, path) and not names.is_other_address(path)
        }

    assert wrong_on_pages(wrong) == {}


def test_no_page_names_an_address_that_does_not_exist() -> None:
    def is_known(path: str) -> bool:
        return any(
            names.fits(path, known) or known.startswith(f"{path}/") for known in names.paths()
        )

    def wrong(page: str) -> set[str]:
        named = {names.template(path) for path in _ADDRESS.findall(page)}
        return {path for path in named if not is_known(path)}

    assert wrong_on_pages(wrong) == {}


def test_no_page_names_an_option_that_does_not_exist() -> None:
    known = names.options() | _FOREIGN_OPTIONS.keys()

    def wrong(page: str) -> set[str]:
        return set(_OPTION.findall(" ".join(_CODE.findall(prose(page))))) - known

    assert wrong_on_pages(wrong) == {}


@pytest.mark.slow
def test_no_page_names_a_slash_command_that_does_not_exist() -> None:
    ends = {path.split("/")[-1] for path in names.paths()}
    known = names.slash_commands() | names.skills() | ends | _FOLDERS | {"skill-name"}
    assert wrong_on_pages(lambda page: set(_SLASH.findall(prose(page))) - known) == {}


def test_no_page_names_an_event_that_does_not_exist() -> None:
    def wrong(page: str) -> set[str]:
        named = {one or other for one, other in _EVENT.findall(prose(page))}
        return named - names.events()

    assert wrong_on_pages(wrong) == {}


def test_a_wrong_name_on_a_page_would_be_found() -> None:
    page = "`--no-such`, `DATAAGENT_NO_SUCH`, GET /api/v1/no-such, `/no-such`, event `no_such`"
    assert _VARIABLE.findall(page) == ["DATAAGENT_NO_SUCH"]
    assert _ROUTE.findall(page) == [("GET", "/api/v1/no-such")]
    assert _ADDRESS.findall(page) == ["/api/v1/no-such"]
    assert _OPTION.findall(page) == ["--no-such"]
    assert _SLASH.findall(page) == ["no-such"]
    assert _EVENT.findall(page) == [("", "no_such")]


def test_commands_of_blocks_exist_whether_they_are_run_or_not() -> None:
    wrong: list[str] = []
    for block in blocks():
        if block.language != "console" or "❯" in block.text:
            continue
        for step in steps_of(block):
            wrong += [f"{step.place}: {each}" for each in _strange_words(step.command)]
    assert wrong == []


def _strange_words(command: str) -> list[str]:
    """What is wrong with the calls of our programs and of make in a command line."""
    found: list[str] = []
    for part in re.split(
        r"\||&&|;|\$\(|\)", re.sub(r"(^|\s)#.*", "", command.replace("\\\n", " "))
    ):
        try:
            words = shlex.split(part)
        except ValueError:  # a quote that the split has torn apart
            continue
        words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
        program = words[0].rpartition("/")[2] if words else ""
        if program == "make":
            found += [word for word in words[1:] if "=" not in word and word not in _targets()]
        elif program in names.parsers():
            given = {word.partition("=")[0] for word in words if word.startswith("--")}
            found += sorted(given - names.options())
            found += _strange_command(program, words[1:])
    return found


def _strange_command(program: str, words: list[str]) -> list[str]:
    commands_of = {prog.split()[1] for prog in names.parsers() if prog.startswith(f"{program} ")}
    first = next((word for word in words if not word.startswith("-")), None)
    is_command = words and not words[0].startswith("-")
    if not is_command or first is None or first in commands_of or "." in first:
        return []
    return [f"{program} {first}"]


def _targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))


def test_variables_that_are_no_settings_are_read() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in python_files() if "tests" not in path.parts
    )
    sources += (ROOT / "web/vite.config.ts").read_text(encoding="utf-8")
    assert [name for name in names.other_variables() if name not in sources] == []


@pytest.mark.parametrize("name", list(_REFERENCE))
def test_a_page_of_the_reference_says_that_it_is_generated(name: str) -> None:
    assert "`make docs`" in reference(name)


def test_the_commands_page_is_made_of_all_programs() -> None:
    assert {parser.prog for parser in commands.parsers()} == {
        "dataagent",
        "dataagent-server",
        "dataagent-harbor",
    }
