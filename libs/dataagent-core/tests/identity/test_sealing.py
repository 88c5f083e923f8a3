"""Secrets are sealed for one thing, and open for it alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from dataagent_core.errors import Misconfigured
from dataagent_core.identity.sealing import SecretBox


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"), max_size=40))
def test_what_is_sealed_comes_back_and_is_never_the_same_twice(text: str, key: str) -> None:
    box = SecretBox(SecretStr(key), purpose="tests")
    sealed = box.seal(SecretStr(text), bound_to="one")
    assert box.open(sealed, bound_to="one", what="It").get_secret_value() == text
    assert box.seal(SecretStr(text), bound_to="one") != sealed
    assert repr(box) == "SecretBox(…)"


def test_a_secret_opens_neither_for_another_thing_nor_another_purpose() -> None:
    sealed = SecretBox(SecretStr("k"), purpose="a").seal(SecretStr("s"), bound_to="one")
    with pytest.raises(Misconfigured, match="The header cannot be decrypted"):
        SecretBox(SecretStr("k"), purpose="a").open(sealed, bound_to="two", what="The header")
    with pytest.raises(Misconfigured):
        SecretBox(SecretStr("k"), purpose="b").open(sealed, bound_to="one", what="It")
