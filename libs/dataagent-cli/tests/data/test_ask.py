"""One question over data that is piped in or named: the rows that come back are exact."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from tests.programs import quick

from .shell import dataagent

QUESTION = "total amount by region"
HEADER = "region,amount\n"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model that answers by rule."""
    monkeypatch.setenv("DATAAGENT_MODEL", "offline")


def totals(
    text: str, *, delimiter: str = ",", place: str = "region", number: str = "amount"
) -> bytes:
    """What the answer must be, by Python's own means: largest sum first, names in order."""
    sums: dict[str, Decimal | None] = {}
    for row in csv.DictReader(io.StringIO(text), delimiter=delimiter):
        before = sums.get(row[place])
        if row[number].strip():
            value = Decimal(row[number])
            sums[row[place]] = value if before is None else before + value
        else:
            sums.setdefault(row[place], None)
    ordered = sorted(sums.items(), key=lambda item: (-(item[1] or Decimal(0)), item[0]))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([place, f"total_{number}"])
    writer.writerows([name, "" if total is None else f"{total:f}"] for name, total in ordered)
    return out.getvalue().encode()


TENTHS = HEADER + "".join(f"North,0.{digit}0\n" for digit in range(1, 8)) + "South,0.30\n"
HUGE = HEADER + "North,9007199254740993.01\nNorth,0.02\nSouth,123456789012345678901234567890.55\n"
BIG_INTEGERS = HEADER + "North,9223372036854775807\nNorth,9223372036854775807\nSouth,1\n"
EMPTY_FIELDS = HEADER + "North,1.50\nNorth,\nSouth,2.25\n"
QUOTED = HEADER + '"North,\nfar ""up""",1.10\n"North,\nfar ""up""",2.20\nSouth,0.05\n'
NEGATIVE = HEADER + "North,-5.00\nNorth,10.10\nSouth,-0.01\nSouth,2.00\n"
MANY = HEADER + "".join(f"R{n % 97:02},{n}.{n % 100:02}\n" for n in range(20_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [TENTHS, HUGE, BIG_INTEGERS, EMPTY_FIELDS, QUOTED, NEGATIVE, MANY],
    ids=["tenths", "huge", "integers", "empty", "quoted", "negative", "many"],
)
def test_piped_csv_gives_the_exact_csv_and_nothing_else(text: str) -> None:
    done = dataagent("ask", QUESTION, "--output-format", "csv", piped=text.encode())
    assert (done.code, done.data) == (0, totals(text)), done.err


def objects(text: str) -> list[str]:
    """The rows as JSON, numbers as they are written."""
    return [
        f'{{"region": {json.dumps(row["region"])}, "amount": {row["amount"]}}}'
        for row in csv.DictReader(io.StringIO(text))
    ]


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "windows lines": lambda text: text.replace("\n", "\r\n").encode(),
    "tabs": lambda text: text.replace(",", "\t").encode(),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "json": lambda text: f"[{','.join(objects(text))}]".encode(),
    "json lines": lambda text: "\n".join(objects(text)).encode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_data_is_recognised_however_it_is_written(spelling: str) -> None:
    text = HEADER + "North,0.11\nNorth,0.22\nSouth,0.55\n"
    done = dataagent("ask", QUESTION, "--output-format", "csv", piped=SPELLINGS[spelling](text))
    assert (done.code, done.data) == (0, totals(text)), done.err


def test_chinese_headings_are_understood() -> None:
    text = "地区,金额\n北京,0.10\n上海,2.00\n北京,0.20\n"
    done = dataagent("ask", "按地区统计金额总和", "--output-format", "csv", piped=text.encode())
    assert done.code == 0, done.err
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[1:] == [["上海", "2.00"], ["北京", "0.30"]]


@pytest.mark.slow
def test_a_real_process_reads_a_pipe_and_writes_one() -> None:
    command = [quick("dataagent"), "ask", QUESTION, "--output-format", "csv"]
    done = subprocess.run(command, input=QUOTED.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, totals(QUOTED)), done.stderr.decode()


def test_text_stays_part_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    done = dataagent("ask", "Sum this up:", piped=b"Dear all,\nwe met, and talked.\n")
    assert done.code == 0
    assert "we met, and talked." in done.out


def test_an_answer_without_a_table_is_an_error_for_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    done = dataagent("-p", "!echo hello", "--output-format", "csv")
    assert (done.code, done.data) == (1, b"")
    assert "hello" in done.err
    assert "error: The answer has no table" in done.err


def test_the_answer_as_one_json_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_PRICE_INPUT", "3")
    (tmp_path / "sales.csv").write_text(TENTHS)
    done = dataagent("ask", QUESTION, "--source", "sales.csv", "--output-format", "json")
    told = json.loads(done.out)
    assert done.code == 0
    assert told["status"] == "done"
    assert told["tables"][0]["rows"] == [
        {"region": "North", "total_amount": "2.80"},
        {"region": "South", "total_amount": "0.30"},
    ]
    assert told["tables"][0]["is_whole"] is True
    assert told["cost"] == round(told["usage"]["input_tokens"] * 3 / 1e6, 6)
    assert set(told) == {
        *("session_id", "run_id", "status", "answer", "tables", "usage"),
        *("cost", "currency", "figures", "error"),
    }


def test_a_failed_run_is_told_in_the_object_and_by_the_exit_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATAAGENT_MODEL", "scripted")
    done = dataagent("-p", "!fail", "--output-format", "json")
    told = json.loads(done.out)
    assert (done.code, told["status"]) == (1, "failed")
    assert told["error"]["error_code"]
