"""Files made to do harm end as errors that name them; the process that asked stays as it was."""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from random import Random

import duckdb
import pytest

from dataagent_core.data.files import (
    FileLimits,
    find_files,
    load_files,
    load_folder,
    signature,
)
from dataagent_core.errors import BadInput, DataAgentError, LimitReached, OutsideWorkspace
from tests.requirements import requirement

from .books import bare_xlsx, xlsx
from .conftest import LIMITS, Load, Loaded

MIB = 1024 * 1024


def refused(load: Load, name: str, content: bytes | str, **limits: object) -> DataAgentError:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataAgentError) as caught:
        load({name: content}, **limits)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 100 * MIB  # whatever the file did, it did elsewhere
    assert name in caught.value.message
    assert "/dev/" not in caught.value.message
    assert "/tmp" not in caught.value.message
    assert isinstance(caught.value, BadInput | LimitReached)
    return caught.value


def refused_or_loaded(load: Load, name: str, content: bytes, **limits: object) -> Loaded | None:
    """What was loaded, or None for an error that names the file."""
    try:
        return load({name: content}, **limits)
    except (BadInput, LimitReached) as error:
        if name in error.message:
            return None
        raise


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Under 1 MiB that unpacks to 600 MiB."""
    content = bare_xlsx('<row r="1"><c r="A1"><v>1</v></c></row>', padding=600 * MIB)
    assert len(content) < MIB
    return content


@pytest.mark.slow
@requirement("G13")
def test_a_workbook_that_unpacks_to_600_mib_is_refused(load: Load, bomb: bytes) -> None:
    error = refused(load, "bomb.xlsx", bomb)
    assert isinstance(error, LimitReached)
    assert "unpacks to" in error.message


@pytest.mark.slow
@requirement("G13")
def test_a_workbook_that_lies_about_its_size_ends_in_its_own_process(
    load: Load, bomb: bytes
) -> None:
    lying = bytearray(bomb)
    entry = lying.rfind(b"PK\x01\x02", 0, lying.rfind(b"PK\x05\x06"))
    at = entry + 24
    assert struct.unpack_from("<I", lying, at)[0] > 500 * MIB
    struct.pack_into("<I", lying, at, 1000)
    outcome = refused_or_loaded(load, "liar.xlsx", bytes(lying), cpu_seconds=20)
    assert outcome is None or outcome.table.row_count <= 1


@requirement("G13")
def test_a_sheet_with_two_cells_far_apart_does_not_take_the_memory(load: Load) -> None:
    first = '<row r="1"><c r="A1"><v>1</v></c></row>'
    last = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    refused(load, "sparse.xlsx", bare_xlsx(first + last))


@requirement("G13")
def test_entities_are_not_expanded(load: Load) -> None:
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    doctype = f'<!DOCTYPE x [<!ENTITY e0 "ha">{lines}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    row = (
        '<row r="1"><c r="A1" t="str"><v>name</v></c></row>'
        '<row r="2"><c r="A2" t="str"><v>&{};</v></c></row>'
    )
    for entity in ("e9", "f"):
        content = bare_xlsx(row.format(entity), doctype=doctype)
        outcome = refused_or_loaded(load, "entities.xlsx", content)
        cells = [str(cell) for row in outcome.cells for cell in row] if outcome else []
        assert all(len(cell) < 20 for cell in cells)


@pytest.mark.slow
@requirement("G13")
def test_two_million_columns_are_refused(load: Load) -> None:
    for content in ("a," * 2_000_000 + "\n" + "1," * 2_000_000, "a" + "," * 2_000_000):
        error = refused(load, "wide.csv", content)
        assert isinstance(error, LimitReached)
    wide = json.dumps([{f"k{number}": 1 for number in range(5000)}])
    assert "5,000 columns" in refused(load, "wide.json", wide).message


@requirement("G13")
@pytest.mark.parametrize(
    "content",
    [
        "[" * 200_000 + "]" * 200_000,
        '{"a":' * 200_000 + "1" + "}" * 200_000,
        '[{"a": 1}, {"a": ' + "[" * 200_000 + "]" * 200_000 + "}]",
        '{"a": 1}\n{"a": ' + '{"b":' * 200_000 + "1" + "}" * 200_001 + "\n",
        "[" * 200_000,
    ],
)  # fmt: skip
def test_json_200000_deep_is_refused(load: Load, content: str) -> None:
    refused(load, "deep.json", content)


@pytest.mark.slow
def test_the_allowed_depth_of_json_is_exact(load: Load) -> None:
    def nested(depth: int) -> str:
        return (
            json.dumps([{"a": 1, "b]": "[[["}])[:-2]
            + ', "c": '
            + "[" * (depth - 1)
            + "]" * (depth - 1)
            + "}]"
        )

    assert load({"deep.json": nested(64)}).table.row_count == 1
    refused(load, "deep.json", nested(65))


@pytest.mark.slow
@requirement("G13")
def test_a_line_and_a_cell_that_never_end_are_refused(load: Load) -> None:
    refused(load, "line.csv", b"x" * (20 * MIB))
    refused(load, "cell.csv", b'a,b\n1,"' + b"x" * (20 * MIB) + b'"\n')
    refused(load, "open.csv", b'a,b\n1,"' + b"x,y\n" * (5 * MIB))


@pytest.mark.slow
@requirement("G13")
def test_too_much_processor_time_ends_the_load(load: Load) -> None:
    content = "a,b\n" + "x,y,z\nx\n" * 1_000_000
    error = refused(load, "slow.csv", content, cpu_seconds=1)
    assert "too long" in error.message


@pytest.mark.slow
@requirement("G13")
def test_a_database_that_grows_too_large_ends_the_load(load: Load) -> None:
    random = Random(1)
    content = "a,b\n" + "".join(f"{i},{random.randbytes(16).hex()}\n" for i in range(200_000))
    error = refused(load, "large.csv", content, max_database_bytes=2 * MIB)
    assert "more room" in error.message


def test_more_rows_or_bytes_than_allowed_are_refused_not_cut(load: Load) -> None:
    assert "5 rows" in refused(load, "a.csv", "a,b\n" + "1,2\n" * 5, max_rows=4).message
    refused(load, "b.csv", "a,b\n" + "1,2\n1\n" * 5, max_rows=4)
    refused(load, "c.csv", "a,b\n1,2\n", max_file_bytes=5)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"\n\n  \n", "is empty"),
        ("zero.csv", b"a,b\n1,\0\n", "not text"),
        ("page.xls", b"<html><table><tr><td>1</td></tr></table></html>", "web page"),
        ("paper.csv", b"%PDF-1.7 ...", "a PDF"),
        ("packed.csv", b"\x1f\x8b\x08\x00rest", "gzip"),
        ("broken.xlsx", b"PK\x03\x04" + b"\0" * 100, "broken"),
        ("broken.xls", bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 600, "broken"),
        ("broken.parquet", b"PAR1" + b"\0" * 100 + b"PAR1", "cannot be read"),
        ("fake.parquet", b"hello", "not a Parquet"),
        ("broken.json", b'[{"a": 1}, {"a"', "not valid JSON"),
        ("word.json", b"hello", "not valid JSON"),
        ("secret.xlsx", bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 600
         + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        ("marked.csv", b"\xef\xbb\xbfa,b\n\xff,1\n", "is marked as UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_named_with_the_way_out(
    load: Load, name: str, content: bytes, says: str
) -> None:
    error = refused(load, name, content)
    assert isinstance(error, BadInput)
    assert says in error.message


def test_an_archive_without_a_workbook_or_with_a_password_is_refused(load: Load) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../evil.csv", "a,b\n1,2\n")
    assert "without a workbook" in refused(load, "files.zip", out.getvalue()).message
    locked = bytearray(xlsx({"S": [["a"], [1]]}))
    entry = locked.rfind(b"PK\x01\x02")
    locked[entry + 8] |= 1
    assert "encrypted" in refused(load, "locked.xlsx", bytes(locked)).message


def test_a_failed_load_leaves_the_old_database_and_nothing_else(tmp_path: Path, load: Load) -> None:
    load({"good.csv": "a,b\n1,2\n"})
    before = (tmp_path / "out.duckdb").read_bytes()
    refused(load, "bad.json", "[1,")
    assert (tmp_path / "out.duckdb").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "out.duckdb"]


def test_names_with_globs_quotes_and_paths_reach_only_their_file(load: Load) -> None:
    files = {
        "a*.csv": "x,y\n1,2\n",
        "ab.csv": "secret,z\n9,9\n",
        "it's [b].csv": "x,y\n3,4\n",
        "s3:__bucket.csv": "x,y\n5,6\n",
    }
    loaded = load(files)
    assert list(loaded.rows.values()) == [[[1, 2]], [[9, 9]], [[3, 4]], [[5, 6]]]


def test_only_regular_files_below_the_folder_are_found_and_read(tmp_path: Path) -> None:
    folder, outside = tmp_path / "data", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.csv").write_text("a,b\n1,2\n")
    (folder / "b.csv").write_text("a,b\n1,2\n")
    (folder / "sub" / "a.JSON").write_text('[{"a": 1}]')
    (folder / ".hidden.csv").write_text("a,b\n1,2\n")
    (folder / "~$open.xlsx").write_text("x")
    (folder / "readme.md").write_text("x")
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "door").symlink_to(outside)
    os.mkfifo(folder / "pipe.csv")
    found = find_files(folder, limits=LIMITS)
    assert [path.relative_to(folder).as_posix() for path in found] == ["b.csv", "sub/a.JSON"]
    tables = load_files(found, tmp_path / "x.duckdb", limits=LIMITS, folder=folder)
    assert [(table.name, table.file) for table in tables] == [("b", "b.csv"), ("a", "sub/a.JSON")]
    for path in ("link.csv", "door/secret.csv", "../outside/secret.csv", "/etc/passwd"):
        with pytest.raises((BadInput, OutsideWorkspace)):
            load_files([Path(path)], tmp_path / "x.duckdb", limits=LIMITS, folder=folder)
    for path in (folder / "link.csv", folder / "pipe.csv", folder, folder / "none.csv"):
        with pytest.raises(BadInput):
            load_files([path], tmp_path / "x.duckdb", limits=LIMITS)


def test_bad_files_of_a_folder_are_left_out_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "good.csv").write_text("a,b\n1,2\n")
    (folder / "later.json").write_text('[{"n": 3}]')
    (folder / "empty.csv").write_text("")
    (folder / "torn.parquet").write_bytes(b"PAR1 but no more")
    (folder / "large.csv").write_text("a,b\n" + "1,2\n" * 500)
    (folder / "half.json").write_text('{"left": [{"x": 1}], "right": [{"y": ')
    paths = [folder / name for name in (*sorted(os.listdir(folder)), "gone.csv")]
    limits = replace(LIMITS, max_file_bytes=1000)
    loaded = load_folder(paths, tmp_path / "x.duckdb", limits=limits, folder=folder)
    assert [table.name for table in loaded.tables] == ["good", "later"]
    named = sorted(problem.split("'")[1] for problem in loaded.left_out)
    assert named == ["empty.csv", "gone.csv", "half.json", "large.csv", "torn.parquet"]
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as connection:
        assert connection.sql("SHOW TABLES").fetchall() == [("good",), ("later",)]
    with pytest.raises(BadInput, match="empty"):
        load_folder(paths[:1], tmp_path / "y.duckdb", limits=limits, folder=folder)
    assert not (tmp_path / "y.duckdb").exists()


@pytest.mark.slow
@requirement("G13")
def test_a_file_that_ends_the_process_that_reads_it_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("a,b\n1,2\n")
    (tmp_path / "slow.csv").write_text("a,b\n" + "x,y,z\nx\n" * 5_000_000)
    paths = [tmp_path / "good.csv", tmp_path / "slow.csv"]
    limits = replace(LIMITS, cpu_seconds=5)
    loaded = load_folder(paths, tmp_path / "x.duckdb", limits=limits, folder=tmp_path)
    assert [table.name for table in loaded.tables] == ["good"]
    assert [problem.split(". ")[0] for problem in loaded.left_out] == [
        "'slow.csv' takes too long to read"
    ]


def test_too_many_files_and_no_files_are_refused(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("a,b\n1,2\n")
    few = FileLimits(max_files=2)
    with pytest.raises(LimitReached):
        find_files(tmp_path, limits=few)
    with pytest.raises(LimitReached):
        load_files(list(tmp_path.glob("*.csv")), tmp_path / "x.duckdb", limits=few)
    with pytest.raises(BadInput):
        load_files([], tmp_path / "x.duckdb", limits=few)


def test_the_signature_changes_with_the_files_and_only_then(tmp_path: Path) -> None:
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("a,b\n1,2\n")
    two.write_text("a,b\n1,2\n")
    seen = [signature([one, two])]
    assert signature([two, one]) == seen[0]
    seen.append(signature([one]))
    one.write_text("a,b\n1,3\n")
    os.utime(one, ns=(1, 1))
    seen.append(signature([one, two]))
    two.unlink()
    seen.append(signature([one, two]))
    assert len(set(seen)) == 4


def test_the_process_that_reads_gets_no_environment(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert load({"a.csv": "a,b\n1,2\n"}).cells == [[1, 2]]
