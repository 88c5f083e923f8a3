"""Which texts name an address, which hosts it is on, and where redirects may lead."""

from __future__ import annotations

import pytest

from dataagent_core.network.sites import is_named_in, is_on, is_same_site

REPORT = "https://example.com/report?year=2026"


@pytest.mark.parametrize(
    "text",
    [
        REPORT,
        f"Read {REPORT}.",
        f"[the report]({REPORT}), please",
        f"请阅读{REPORT}。",
        f'{{"url": "{REPORT}"}}',
        "see example.com/report?year=2026",
        "http://example.com/report?year=2026",
        f"{REPORT}/",
        f"one\n{REPORT}\ntwo",
    ],
)
def test_an_address_that_stands_in_a_text_is_named(text: str) -> None:
    assert is_named_in(text, REPORT)
    assert is_named_in(text, f"{REPORT}#top")  # which is not sent


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", REPORT),
        ("https://example.com/", REPORT),
        (REPORT, f"{REPORT}&data=secret"),
        (f"{REPORT}&month=1", REPORT),
        (REPORT, "https://evil.example/report?year=2026"),
        (f"https://evil.example/?next={REPORT}", REPORT),
        ("https://sub.example.com/a", "https://example.com/a"),
        ("user@example.com", "https://example.com"),
        ("not-example.com", "https://example.com"),
        ("anything", "no address"),
        ("x", "https://"),
    ],
)
def test_a_part_of_an_address_or_another_one_is_not_named(text: str, url: str) -> None:
    assert not is_named_in(text, url)


def test_a_host_is_allowed_by_its_name_or_by_all_below_another() -> None:
    hosts = ["docs.example.com", " *.Example.org"]
    allowed = ("https://docs.example.com/a?b", "http://DOCS.example.com", "https://a.b.example.org")
    assert all(is_on(url, hosts) for url in allowed)
    others = ("https://example.com", "https://evildocs.example.com", "https://example.org")
    assert not any(is_on(url, hosts) for url in (*others, "https://notexample.org", "nothing"))
    assert not is_on("https://example.com", [])


@pytest.mark.parametrize(
    ("here", "there", "is_same"),
    [
        ("http://example.com/a", "https://example.com/b?c", True),
        ("https://example.com", "https://www.example.com", True),
        ("https://www.example.com", "https://example.com", True),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b", True),
        ("https://example.com", "http://example.com", False),
        ("https://example.com", "https://example.com:8443", False),
        ("https://example.com", "https://evil.example", False),
        ("https://example.com", "https://api.example.com", False),
        ("https://example.com", "ftp://example.com", False),
    ],
)
def test_a_redirect_stays_on_its_site(here: str, there: str, is_same: bool) -> None:
    assert is_same_site(here, there) == is_same
