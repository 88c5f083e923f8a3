"""What several policies come to, and the catalogue a reader sees."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dataagent_core.data.policy import PolicySet, policies_from_dict, visible_catalogue
from dataagent_core.data.types import Catalogue, Column, Reader, Table

ANA = Reader("ana", role="analyst", tenant_id="acme", attributes={"region": "EU"})


def _set(*policies: tuple[object, dict[str, object]], default: str = "allow") -> PolicySet:
    return policies_from_dict(
        {
            "default": default,
            "policies": [
                {"name": f"p{number}", "subjects": subjects, "tables": tables}
                for number, (subjects, tables) in enumerate(policies)
            ],
        }
    )


def _open(catalogue: Catalogue, policies: PolicySet, reader: Reader = ANA) -> set[str]:
    return {table.key for table in visible_catalogue(catalogue, policies, reader).tables}


ALL = {"Customer", "Invoice", "Secret", "BigSpender", "books.Ledger"}
GRANT: dict[str, object] = {"grant": True}
DENY: dict[str, object] = {"grant": False}


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        (PolicySet(), ALL),
        (PolicySet(default="deny"), set[str]()),
        (_set(("everyone", {"Secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(("everyone", {"secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(("everyone", {"main.secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(("everyone", {"books.ledger": DENY})), ALL - {"books.Ledger", "BigSpender"}),
        (_set(({"users": ["ana"]}, {"Secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(({"roles": ["analyst"]}, {"Secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(({"tenants": ["acme"]}, {"Secret": DENY})), ALL - {"Secret", "BigSpender"}),
        (_set(({"users": ["bo"], "roles": ["x"]}, {"Secret": DENY})), ALL),
        (_set(("everyone", {"Secret": GRANT}), default="deny"), {"Secret"}),
        (_set(("everyone", {"Secret": {"deny_columns": ["Id"]}}), default="deny"), set[str]()),
        (
            _set(
                ("everyone", {"Secret": {"deny_columns": ["Id"]}}),
                ("everyone", {"Secret": GRANT}),
                default="deny",
            ),
            {"Secret"},
        ),
        (_set(("everyone", {"*": GRANT}), default="deny"), ALL),
        (
            _set(("everyone", {"*": GRANT, "Secret": DENY}), default="deny"),
            ALL - {"Secret", "BigSpender"},
        ),
        (_set(("everyone", {"*": DENY, "Customer": GRANT})), {"Customer"}),
        (
            _set(("everyone", {"Customer": GRANT}), ({"users": ["ana"]}, {"Customer": DENY})),
            ALL - {"Customer", "BigSpender"},
        ),
        (
            _set(("everyone", {"Secret": DENY, "BigSpender": {}})),
            ALL - {"Secret"},
        ),
        (_set(("everyone", {"BigSpender": GRANT, "Customer": GRANT}), default="deny"),
         {"BigSpender", "Customer"}),
        (_set(("everyone", {"Ledger": DENY})), ALL - {"BigSpender"}),
        (_set(("everyone", {"Secret": {"deny_columns": ["id", "invoiceid"]}})),
         ALL - {"Secret", "BigSpender"}),
        (_set(("everyone", {"*": {"row_filter": "Region = 'EU'"}})), {"Customer"}),
        (
            _set(("everyone", {"*": {"row_filter": "Region = 'EU'"},
                               "Invoice": {"row_filter": "TRUE"}, "Secret": {"masks": {}}})),
            {"Customer", "Invoice"},
        ),
    ],
)  # fmt: skip
def test_tables_are_open_as_the_policies_say(
    catalogue: Catalogue, policies: PolicySet, expected: set[str]
) -> None:
    assert _open(catalogue, policies) == expected


@pytest.mark.parametrize("name", ["#Pay", "$Pay", "!", "+Pay", "Pay", "支付"])
def test_a_rule_holds_whatever_its_tables_name_begins_with(catalogue: Catalogue, name: str) -> None:
    odd = Table(name, (Column("Id", "INTEGER"),))
    known = replace(catalogue, tables=(*catalogue.tables, odd))
    assert name in _open(known, _set(("everyone", {"Secret": DENY})))
    assert name not in _open(known, _set(("everyone", {name: DENY})))


def test_administrators_are_bound_too(catalogue: Catalogue) -> None:
    policies = _set(("everyone", {"Secret": DENY}))
    assert "Secret" not in _open(catalogue, policies, Reader("root", role="admin"))


def test_what_is_forbidden_or_could_tell_of_it_is_gone(catalogue: Catalogue) -> None:
    policies = _set(
        (
            "everyone",
            {
                "Customer": {
                    "row_filter": "Region = 'EU'",
                    "deny_columns": ["Salary"],
                    "masks": {"Email": "hash", "Name": "null"},
                },
                "Invoice": {"deny_columns": ["Id"], "masks": {"Total": "null"}},
            },
        )
    )
    customer, invoice, secret, ledger = visible_catalogue(catalogue, policies, ANA).tables

    assert customer == replace(
        catalogue.tables[0],
        columns=(
            Column("Id", "INTEGER"),
            Column("Name", "TEXT"),
            Column("Email", "TEXT"),
            Column("Region", "TEXT"),
        ),
        row_count=None,
    )
    assert invoice == replace(
        catalogue.tables[1],
        columns=(Column("CustomerId", "INTEGER"), Column("Total", "NUMERIC(10, 2)")),
        primary_key=(),
    )
    assert secret == replace(catalogue.tables[2], foreign_keys=())  # it pointed at Invoice.Id
    assert ledger is not None
    assert ledger == catalogue.tables[4]


def test_keys_to_a_forbidden_table_are_gone(catalogue: Catalogue) -> None:
    policies = _set(("everyone", {"Customer": DENY}))
    invoice = next(
        table
        for table in visible_catalogue(catalogue, policies, ANA).tables
        if table.name == "Invoice"
    )
    assert invoice.foreign_keys == ()
    assert invoice.row_count == 20


def test_the_same_catalogue_comes_back_when_nothing_applies(catalogue: Catalogue) -> None:
    harmless = _set(("everyone", {"Customer": GRANT}), ({"users": ["bo"]}, {"*": DENY}))
    granted = _set(("everyone", {"*": GRANT}), default="deny")
    for policies in (PolicySet(), harmless, granted):
        assert visible_catalogue(catalogue, policies, ANA) is catalogue


def test_the_hash_is_one_of_what_is_seen(catalogue: Catalogue) -> None:
    policies = _set(({"users": ["ana"]}, {"Secret": DENY}), ({"users": ["bo"]}, {"Customer": DENY}))
    mine, again, other = (
        visible_catalogue(catalogue, policies, Reader(user)).hash for user in ("ana", "ana", "bo")
    )
    assert mine == again
    assert len({mine, other, catalogue.hash}) == 3


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("partial", "hash", "TEXT"),
        ("hash", "null", "INTEGER"),
        ("x", "hash", "TEXT"),
        ("null", "x", "INTEGER"),
    ],
)
def test_the_strictest_mask_holds(first: str, second: str, kind: str, catalogue: Catalogue) -> None:
    policies = _set(
        ("everyone", {"Customer": {"masks": {"Salary": first}}}),
        ("everyone", {"*": {"masks": {"SALARY": second}}}),
    )
    customer = visible_catalogue(catalogue, policies, ANA).tables[0]
    assert customer.columns[-1].type == kind


def test_a_table_that_appears_later_is_closed_where_the_default_is_deny(
    catalogue: Catalogue,
) -> None:
    grown = replace(catalogue, tables=(*catalogue.tables, Table("New", (Column("Id", "INTEGER"),))))
    assert _open(grown, _set(("everyone", {"Customer": GRANT}), default="deny")) == {"Customer"}
