"""An artefact as a row of its table, and back. Pure conversion; above it: `artifacts.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from dataagent_core.data.types import Artifact, Receipt, ResultColumn


def row_of(artifact: Artifact) -> dict[str, Any]:
    """The values of the table's columns."""
    row = {name: getattr(artifact, name) for name in Artifact.__slots__}
    row["columns"] = [asdict(column) for column in artifact.columns]
    row["receipt"] = None if artifact.receipt is None else receipt_json(artifact.receipt)
    return row


def artifact_of(row: Mapping[Any, Any]) -> Artifact:
    """The artefact that a row describes."""
    values = {name: row[name] for name in Artifact.__slots__}
    values["columns"] = tuple(ResultColumn(**column) for column in row["columns"])
    values["receipt"] = None if row["receipt"] is None else receipt_of(row["receipt"])
    return Artifact(**values)


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON values."""
    executed_at = receipt.executed_at.isoformat()
    return asdict(receipt) | {
        "policy": list(receipt.policy),
        "warnings": list(receipt.warnings),
        "executed_at": executed_at,
    }


def receipt_of(values: Mapping[str, Any]) -> Receipt:
    """The receipt that `receipt_json` wrote."""
    executed_at = datetime.fromisoformat(values["executed_at"])
    read: dict[str, Any] = {
        **values,
        "policy": tuple(values["policy"]),
        "warnings": tuple(values.get("warnings", ())),  # older receipts have none
        "executed_at": executed_at,
    }
    return Receipt(**read)
