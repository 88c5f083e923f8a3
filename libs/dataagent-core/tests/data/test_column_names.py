"""The names of a result's columns: unique, and the engine's own wherever that is possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.column_names import unique_names


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["id", "id", "id"], ("id", "id_2", "id_3")),
        (["a", "A", "a_2"], ("a", "A_3", "a_2")),
        (["", "", "x\x00y"], ("column_1", "column_2", "x_y")),
        (["金额", "金额"], ("金额", "金额_2")),
    ],
)
def test_columns_of_one_label_get_names_of_their_own(
    labels: list[str], names: tuple[str, ...]
) -> None:
    assert unique_names(labels) == names


@given(st.lists(st.text(alphabet="aA_2\x00é", max_size=4), max_size=12))
def test_names_are_always_unique_without_regard_to_case(labels: list[str]) -> None:
    names = unique_names(labels)
    assert len({name.casefold() for name in names}) == len(labels)
    assert all(names)


@given(
    st.lists(st.sampled_from(["a", "A", "a_2", "b"]) | st.text("xyzé金", min_size=1), max_size=12)
)
def test_first_of_a_kind_keeps_its_own_name(labels: list[str]) -> None:
    names = unique_names(labels)
    for place, label in enumerate(labels):
        if label.casefold() not in {earlier.casefold() for earlier in labels[:place]}:
            assert names[place] == label
