"""Addresses as they are shown, and texts with the credential taken out."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from dataagent_core.data.sources.secrets import has_password, mask_url, scrub_url


@pytest.mark.parametrize(
    ("url", "shown", "is_secret"),
    [
        ("postgresql://u:p@h:5432/d", "postgresql://u:••••@h:5432/d", True),
        ("postgresql://u:@h/d", "postgresql://u:••••@h/d", True),
        ("mysql+pymysql://u@h/d", "mysql+pymysql://u@h/d", False),
        ("postgresql://h/d?password=p&user=u", "postgresql://h/d?…", True),
        ("sqlite:///shop.db", "sqlite:///shop.db", False),
        ("sqlite:////data/shop.db", "sqlite:////data/shop.db", False),
        ("sqlite://", "sqlite://", False),
        ("duckdb:////data/my file.duckdb", "duckdb:////data/my file.duckdb", False),
        ("postgresql://u:p@[::1]:5/d", "postgresql://u:••••@[::1]:5/d", True),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dp", "mssql+pyodbc://?…", True),
    ],
)
def test_an_address_is_shown_without_what_is_secret(
    url: str, shown: str, *, is_secret: bool
) -> None:
    assert mask_url(SecretStr(url)) == shown
    assert has_password(SecretStr(url)) is is_secret


_PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=6)


@given(_PASSWORDS)
def test_no_password_survives_masking_or_scrubbing(password: str) -> None:
    secret = f"7Q{password}7Q"  # so that it cannot be part of the rest by chance
    spelled = quote(secret, safe="")
    url = SecretStr(f"postgresql://reader:{spelled}@db.example/sales")
    told = f"cannot connect to {url.get_secret_value()}: password {secret!r} ({spelled}) is wrong"
    for text in (mask_url(url), scrub_url(told, url), repr(url)):
        assert secret not in text
        assert spelled not in text
        assert repr(secret)[1:-1] not in text
    assert "is wrong" in scrub_url(told, url)
