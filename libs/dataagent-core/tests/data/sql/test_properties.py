"""Whatever the text, the guard answers with a query or with one of its two errors."""

from __future__ import annotations

import contextlib
import random

from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.sql import parse, render, resolve
from dataagent_core.errors import QueryRefused, UnknownName

from .chinook import catalogue
from .test_ordinary import ALL, DIALECTS

SPELLED = (
    "SELECT FROM WHERE GROUP BY ORDER HAVING WITH AS JOIN ON USING NATURAL LEFT UNION ALL VALUES "
    "LATERAL CASE WHEN THEN END NOT IN EXISTS ( ) [ ] { } , . ; * + - / || :: -> ->> := = < > "
    "` $$ @ @@ ? : /* */ -- /*! # 1 0x1 1e9 'x' ' \" \"Name\" Artist Name ArtistId t a count( sum( "
    "extract( cast( json_table( unnest( over( filter( interval '1' day null true lambda x: "
    "qualify exclude replace distinct limit offset for update into outfile recursive window"
)
WORDS = SPELLED.split()
CATALOGUES = {dialect: catalogue(dialect) for dialect in DIALECTS}


def guarded(sql: str, dialect: str) -> None:
    with contextlib.suppress(QueryRefused, UnknownName):
        render(resolve(parse(sql, dialect), CATALOGUES[dialect]))


@given(st.text(max_size=200), st.sampled_from(DIALECTS))
def test_any_text_is_answered(text: str, dialect: str) -> None:
    guarded(text, dialect)
    guarded(f"SELECT {text}", dialect)


@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(DIALECTS))
def test_any_words_of_sql_are_answered(words: list[str], dialect: str) -> None:
    guarded("SELECT " + " ".join(words), dialect)


@given(st.sampled_from(ALL), st.randoms(use_true_random=False))
def test_a_damaged_statement_is_answered(statement: tuple[str, str], chance: random.Random) -> None:
    dialect, sql = statement
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(sql) + 1)
        match chance.randrange(4):
            case 0:
                sql = sql[:at] + sql[at + chance.randint(1, 6) :]
            case 1:
                sql = f"{sql[:at]} {chance.choice(WORDS)} {sql[at:]}"
            case 2:
                other = chance.choice(ALL)[1]
                sql = sql[:at] + other[chance.randrange(len(other)) :]
            case _:
                sql = sql[:at] + chr(chance.choice([0, 39, 34, 96, 92, 0x2019, 0xFF07])) + sql[at:]
    guarded(sql, dialect)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_a_text_in_quotes_stays_one_text(text: str) -> None:
    for dialect in DIALECTS:
        quoted = text.replace("\\", "\\\\") if dialect == "mysql" else text
        sql = "SELECT '{}' AS t".format(quoted.replace("'", "''"))
        with contextlib.suppress(QueryRefused):
            once = render(parse(sql, dialect))
            tree = parse(once, dialect).tree
            assert [one.this.this for one in tree.selects] == [text]
