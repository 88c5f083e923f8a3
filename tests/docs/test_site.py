"""The site builds strictly, has every page in its menu, and needs nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import site
from scripts.reference.__main__ import main as write_reference
from scripts.tree import ROOT
from tests.docs.pages import pages

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def test_every_page_is_in_the_menu() -> None:
    assert site.unlisted_pages() == []


def test_no_page_is_in_the_menu_twice() -> None:
    named = site.named_pages()
    assert sorted(set(named)) == sorted(named)


def test_every_page_of_the_menu_exists() -> None:
    assert site.missing_pages(site.named_pages()) == []
    assert site.missing_pages(["index.md", "guides/none.md"]) == ["guides/none.md"]


@pytest.mark.slow
def test_the_site_builds_strictly_and_fetches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert site.main() == 0, capsys.readouterr().out


def test_a_remote_resource_would_be_found(tmp_path: Path) -> None:
    texts = {
        "script": '<script src="https://cdn.example/x.js"></script>',
        "font": '<link rel="stylesheet" href="https://fonts.example/css">',
        "picture": '<img alt="" src="//example.com/x.png">',
        "link": '<a href="https://example.com">elsewhere</a>',
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    found = {each.partition(".")[0] for each in site.external_resources(tmp_path)}
    assert found == {"script", "font", "picture"}


def test_links_of_pages_beside_the_code_lead_somewhere() -> None:
    beside = {name: text for name, text in pages().items() if not name.startswith("docs/")}
    broken = [
        f"{name}: {target}"
        for name, text in beside.items()
        for target in _LINK.findall(text)
        if not ((ROOT / name).parent / target).exists()
    ]
    assert broken == []


def test_the_reference_is_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_reference(["--check"]) == 0, capsys.readouterr().out


def test_tutorials_and_readme_are_there_in_chinese() -> None:
    english = {path.name for path in (ROOT / "docs/tutorials").glob("*.md")}
    chinese = {path.name for path in (ROOT / "docs/zh/tutorials").glob("*.md")}
    assert english == chinese
    assert len(english) == 4
    assert (ROOT / "README.zh.md").exists()


def test_pictures_that_pages_show_are_all_the_pictures_there_are() -> None:
    shown = {
        Path(target).name
        for text in pages().values()
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    }
    assert {path.name for path in (ROOT / "docs/images").iterdir()} == shown
