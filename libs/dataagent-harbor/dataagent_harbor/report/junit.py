"""The report as JUnit XML, which CI systems read."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from dataagent_harbor.report.document import Report

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in XML


def as_junit(report: Report) -> str:
    """A test suite with a test case for each question."""
    total = report["summary"]
    suite = Element(
        "testsuite",
        name="dataagent-harbor",
        tests=str(total["total"]),
        failures=str(total["failed"]),
        errors=str(total["error"] + total["timeout"]),
    )
    for row in report["results"]:
        _case(suite, row)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Element, row: dict[str, Any]) -> None:
    name = row["id"] if row["round"] == 1 else f"{row['id']}#{row['round']}"
    case = SubElement(
        suite,
        "testcase",
        name=_clean(name),
        classname=_clean(row["category"]),
        time=f"{row['response_time']:.3f}",
    )
    if row["status"] != "passed":
        kind = "failure" if row["status"] == "failed" else "error"
        reasons = "; ".join(row["reasons"]) or row["status"]
        failure = SubElement(case, kind, message=_clean(reasons), type=row["status"])
        failure.text = _clean(f"{row['question']}\n\n{row['answer']}")


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("�", text)
