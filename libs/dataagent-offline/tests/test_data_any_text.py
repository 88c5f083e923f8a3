"""Whatever is typed: no text breaks the offline model, makes it slow, or slips past it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .data_player import Player, Source
from .data_sources import shop
from .test_data_shop import SINGLE

WORDS = (
    "how many top 5 by per the sales customers Germany Rock 2023 and or not average total country"
    " genre month as a chart most which only what about over 10 between in of each 销售额 最高 的"
    " 客户 国家 每个 按 月 2024年 多少 呢 前 3 名 流派 平均 德国 除了 以外 到 和 图"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return shop(tmp_path_factory.mktemp("shop"))


@pytest.mark.slow
@given(data=st.data())
def test_a_word_that_means_nothing_is_never_passed_over(
    source: Source, data: st.DataObject
) -> None:
    """Any question that is answered is declined once a word without meaning is put into it."""
    question = data.draw(st.sampled_from([talk[0][0] for talk in SINGLE]))
    if question.isascii():
        words = question.split()
        words.insert(data.draw(st.integers(0, len(words))), "zorblax")
        changed = " ".join(words)
    else:
        place = data.draw(st.integers(0, len(question)))
        changed = f"{question[:place]}饕餮{question[place:]}"
    player = Player(source)
    player.ask(changed)
    assert not player.was_answered, f"{changed}\n{player.sql}"


@given(
    words=st.lists(
        st.sampled_from(WORDS.split()),
        max_size=9,
    )
)
def test_no_order_of_words_breaks_the_model(source: Source, words: list[str]) -> None:
    """Whatever is asked, the talk ends; and an answer has run the SQL it shows."""
    player = Player(source)
    text = player.ask(" ".join(words))
    assert text
    failures = [made for made in player.made if "error" in made.answer]
    assert failures == []


@pytest.mark.parametrize(
    "question",
    [
        "how many " * 200_000,
        "销售额最高的" * 100_000,
        "2023-" * 200_000,
        "'" * 500_000,
        "“" * 300_000 + "sales",
        "a" * 1_000_000,
        "1," * 300_000,
        "sales by " + "country and city and genre and artist and " * 12,
        "前" * 590,
        "2023年" * 100,
        "\"'`“" * 140,
    ],
    ids=range(11),
)
def test_no_text_makes_the_model_slow(source: Source, question: str) -> None:
    """Matching in quadratic time would take minutes here, and run into the time limit."""
    player = Player(source)
    player.ask(question)
    assert not player.was_answered
