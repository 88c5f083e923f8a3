"""Policies as YAML and JSON: read whole, written back the same, refused with the place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.policy import (
    Mask,
    Policy,
    PolicySet,
    Subjects,
    TableRule,
    policies_from_dict,
    policies_from_yaml,
    policies_to_dict,
    policy_from_dict,
    policy_to_dict,
)
from dataagent_core.errors import BadInput, Misconfigured

FILE = """
default: deny
policies:
  - name: eu
    subjects: {roles: [analyst], users: [ana], tenants: [acme]}
    tables:
      Customer:
        grant: true
        row_filter: region = :user.region
        deny_columns: [Phone]
        masks: {Email: last4, Notes: null, Name: hash, City: "(hidden)", Zip: {constant: hash}}
      "*": {grant: false}
  - name: all
    subjects: everyone
    tables:
      Country:
"""


def test_a_policy_file_is_read_whole() -> None:
    assert policies_from_yaml(FILE) == PolicySet(
        default="deny",
        policies=(
            Policy(
                name="eu",
                subjects=Subjects(
                    users=frozenset({"ana"}),
                    roles=frozenset({"analyst"}),
                    tenants=frozenset({"acme"}),
                ),
                tables={
                    "Customer": TableRule(
                        is_granted=True,
                        row_filter="region = :user.region",
                        deny_columns=("Phone",),
                        masks={
                            "Email": Mask("partial"),
                            "Notes": Mask("null"),
                            "Name": Mask("hash"),
                            "City": Mask("constant", "(hidden)"),
                            "Zip": Mask("constant", "hash"),
                        },
                    ),
                    "*": TableRule(is_granted=False),
                },
            ),
            Policy("all", Subjects(is_everyone=True), {"Country": TableRule()}),
        ),
    )


def test_an_empty_file_leaves_everything_open() -> None:
    assert policies_from_yaml("") == PolicySet((), default="allow")


names = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() != "")
masks = st.one_of(
    st.sampled_from([Mask("null"), Mask("hash"), Mask("partial")]),
    st.text(max_size=8).map(lambda text: Mask("constant", text)),
)
rules = st.builds(
    TableRule,
    is_granted=st.sampled_from([True, False, None]),
    row_filter=st.none() | names,
    deny_columns=st.lists(names, max_size=3).map(tuple),
    masks=st.dictionaries(names, masks, max_size=3),
)
subjects = st.just(Subjects(is_everyone=True)) | st.builds(
    Subjects, users=st.frozensets(names, min_size=1), roles=st.frozensets(names)
)


@given(
    st.builds(Policy, names, subjects, st.dictionaries(names, rules, min_size=1)),
    st.sampled_from(["allow", "deny"]),
)
def test_any_policy_survives_being_written_and_read(policy: Policy, default: Any) -> None:
    assert policy_from_dict(policy_to_dict(policy)) == policy
    policies = PolicySet((policy,), default)
    assert policies_from_dict(policies_to_dict(policies)) == policies


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("default: maybe", "default"),
        ("polices: []", "'polices' is not known"),
        ("policies: {a: 1}", "policies: must be a list"),
        ("policies: [{subjects: everyone, tables: {A: }}]", "policies[0].name"),
        ("policies: [{name: x, subjects: everyone}]", "policy 'x', tables: names no table"),
        ("policies: [{name: x, tables: {A: }}]", "policy 'x', subjects"),
        ("policies: [{name: x, subjects: {}, tables: {A: }}]", "names nobody"),
        ("policies: [{name: x, subjects: {user: [a]}, tables: {A: }}]", "'user' is not known"),
        ("policies: [{name: x, subjects: {users: [7]}, tables: {A: }}]", "subjects.users[0]"),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: {row_filtr: a}}}]",
            "policy 'x', table 'A': 'row_filtr' is not known",
        ),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: {grant: sure}}}]",
            "policy 'x', table 'A', grant",
        ),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: {row_filter: 3}}}]",
            "table 'A', row_filter",
        ),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: {masks: {b: 3}}}}]",
            "masks.b",
        ),
        ("policies: [{name: x, subjects: everyone, tables: {on: }}]", "the key True"),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: {grant: true}, A: }}]",
            "'A' is given twice",
        ),
        (
            "policies: [{name: x, subjects: everyone, tables: {A: }}, "
            "{name: x, subjects: everyone, tables: {A: }}]",
            "'x' is given twice",
        ),
        ("policies: [", "not valid YAML"),
        ("!!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(text: str, place: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        policies_from_yaml(text)
    assert place in refused.value.message


@pytest.mark.parametrize("data", [None, 3, [], "text", {"name": ""}, {"name": "x", "tables": []}])
def test_a_bad_request_is_bad_input(data: object) -> None:
    with pytest.raises(BadInput):
        policy_from_dict(data)
