"""A file's name is safe on every system and in the header, whatever the title."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataagent_server.api.streaming import content_disposition, file_name

NAMES = {
    "Sales 2024": "Sales 2024.csv",
    "销售": "销售.csv",
    "a/b\\c:d": "a_b_c_d.csv",
    "../../etc/passwd": "_.._etc_passwd.csv",
    "": "result.csv",
    " . ": "result.csv",
    "CON": "result CON.csv",
    "nul.txt": "result nul.txt.csv",
    "two\r\nlines\tand a tab": "two lines and a tab.csv",
    "right\u202eleft": "rightleft.csv",
    'quo"te; x%41': "quo_te_ x_41.csv",
    "x" * 500: "x" * 80 + ".csv",
}


@pytest.mark.parametrize("title", NAMES)
def test_a_title_becomes_a_file_name(title: str) -> None:
    assert file_name(title, "csv") == NAMES[title]


def test_the_header_has_the_name_in_ascii_and_in_full() -> None:
    assert content_disposition("Müller, 销售", "xlsx") == (
        'attachment; filename="Muller_ _.xlsx"; '
        "filename*=UTF-8''M%C3%BCller%2C%20%E9%94%80%E5%94%AE.xlsx"
    )


@given(st.text(max_size=300))
@example("\u0130\ufb01\u0301")
def test_no_title_breaks_the_header(title: str) -> None:
    header = content_disposition(title, "csv")
    found = re.fullmatch(
        r"attachment; filename=\"([A-Za-z0-9 ._()-]+\.csv)\"; filename\*=UTF-8''([\w.~%-]+\.csv)",
        header,
        re.ASCII,
    )
    assert found is not None, header
    full = unquote(found[2])
    assert not set(full) & set('\\/:*?"<>|;\r\n\x00')
    assert not full.startswith(".")
    assert len(full) <= 100
