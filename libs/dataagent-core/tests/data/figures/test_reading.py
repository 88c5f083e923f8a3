from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.figures import check_figures, find_figures

from .corpus import table


@pytest.mark.parametrize(
    ("text", "value", "kind", "step"),
    [
        ("1,234.5", "1234.5", "plain", "0.1"),
        ("1 234", "1234", "plain", "1"),
        ("1\u202f234\u202f567", "1234567", "plain", "1"),
        ("1.234,56", "1234.56", "plain", "0.01"),
        ("1.2万", "12000", "plain", "1000"),
        ("3.45 亿", "345000000", "plain", "1000000"),
        ("3亿5000万", "350000000", "plain", "10000"),
        ("300百万", "300000000", "plain", "1000000"),
        ("１，２３４．５", "1234.5", "plain", "0.1"),
        ("12％", "12", "percent", "1"),
        ("12.50%", "12.5", "percent", "0.01"),
        ("7 percent", "7", "percent", "1"),
        ("0.7个百分点", "0.7", "points", "0.1"),
        ("4 percentage points", "4", "points", "1"),
        ("$1,234.56", "1234.56", "plain", "0.01"),
        ("US$3.5M", "3500000", "plain", "100000"),
        ("-$73.4M", "-73400000", "plain", "100000"),
        ("−5.3%", "-5.3", "percent", "0.1"),
        ("负5.3%", "-5.3", "percent", "0.1"),
        ("10k", "10000", "plain", "1000"),
        ("2bn", "2000000000", "plain", "1000000000"),
        ("3.5 million", "3500000", "plain", "100000"),
        ("2.16x", "2.16", "multiple", "0.01"),
        ("3.2倍", "3.2", "multiple", "0.1"),
        ("5kg", "5", "plain", "1"),
        ("1.5e6", "1500000", "plain", "100000"),
    ],
)
def test_a_figure_is_read_with_its_value_kind_and_precision(
    text: str, value: str, kind: str, step: str
) -> None:
    (figure,) = find_figures(f"It is {text}.")

    assert (figure.value, figure.kind, figure.step) == (Decimal(value), kind, Decimal(step))
    assert figure.text == text
    assert (figure.start, figure.end) == (6, 6 + len(text))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("共有三百二十名客户", ["320"]),
        ("百分之三十来自德国", ["30"]),
        ("百分之五点五", ["5.5"]),
        ("一千五百万元", ["15000000"]),
        ("一亿五千万元", ["150000000"]),
        ("二亿零三百万元和三万亿元", ["203000000", "3000000000000"]),
        ("一万二万元，亿万人", []),
        ("十五个国家", ["15"]),
        ("十分重要，千万注意，万一出错", []),
        ("数百人，几十个", []),
        ("10–20%", ["10", "20"]),
        ("3到5万", ["30000", "50000"]),
        ("between 10 and 20", ["10", "20"]),
        ("(1,234)", ["1234"]),
        ("1,5490 orders", ["15490"]),
    ],
)
def test_numerals_and_ranges_are_read(text: str, values: list[str]) -> None:
    assert [figure.value for figure in find_figures(text)] == [Decimal(value) for value in values]


@pytest.mark.parametrize(
    "text",
    [
        "on 2024-03-05 at 14:30:05, 5 pm, 2024/1/2 and 3/4/2024",
        "2024年3月5日，3月，12日，下午3点30分，2023年度，1—6月",
        "March 5, 2024; 5 March; Mar 2024; the 1990s; in 2021; from 2019 to 2022; FY2024",
        "Q1 2024, 2024Q3, H2, 第三季度，第2名，前5名，前十",
        "1. first\n2) second\n3、third\n**4. bold**\n- 5. nested\n## 6. heading\n(7) x\n①",
        "the 1st and 22nd, top 5, Top 10, No. 3, #12, step 4, table 2, page 9, rank 3",
        "v1.2.3, version 2.0, 10.0.0.1, 版本2.1",
        "`123` and ```sql\nSELECT 42 LIMIT 10\n```\n~~~\n55\n~~~",
        "\"12\" “34” 「56」 『78』 《90》 'at 11' ‘22’\n> quoted 33",
        "customer_12, AC-130, 3D, ID 45, OrderId: 77, 编号1001, 138-1234-5678",
        "https://example.com/2024/99?x=5 and me7@example.com and /data/run5/out",
        "the last 30 days, past 12 months, a 3-month trend, 最近7天, 24/7",
    ],
)
def test_what_is_no_claim_is_no_figure(text: str) -> None:
    assert find_figures(text) == []


@pytest.mark.parametrize(
    ("text", "hedge"),
    [
        ("about 12,000", "about"),
        ("约1.2万", "about"),
        ("1万左右", "about"),
        ("over 12,000", "over"),
        ("12,000多", "over"),
        ("超过12,000", "over"),
        ("nearly 12,000", "under"),
        ("近1.2万", "under"),
        ("12,000", None),
        ("比12,000多3单", None),
    ],
)
def test_a_hedge_is_kept(text: str, hedge: str | None) -> None:
    assert find_figures(text)[0].hedge == hedge


PIECES = st.sampled_from(
    [
        *("1", "23", "456", ",", ".", " ", "万", "亿", "%", "％", "$", "-", "–", "年", "月", "三"),
        *(
            "百",
            "约",
            "over ",
            "k",
            "M",
            "bn",
            "x",
            "\n",
            "`",
            '"',
            "第",
            "Q1",
            "２",
            "，",
            "e5",
            "倍",
        ),
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join)))
def test_any_text_is_read_and_positions_are_right(text: str) -> None:
    figures = find_figures(text)

    for figure in figures:
        assert text[figure.start : figure.end] == figure.text
        assert figure.value.is_finite()
        assert figure.step > 0
    for one, two in pairwise(figures):
        assert one.end <= two.start


@given(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join))
def test_any_text_can_be_checked_and_each_figure_is_reported_once(question: str, text: str) -> None:
    report = check_figures(text, question, [table("countries"), table("月度"), table("empty")])

    starts = [one.figure.start for one in (*report.verified, *report.unbacked)]
    assert len(starts) == len(set(starts))
    assert set(starts) <= {figure.start for figure in find_figures(text)}


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_a_number_with_separators_is_read_back(value: int) -> None:
    (figure,) = find_figures(f"total: {value:,}.")

    assert figure.value == value
