"""Runs for other programs: CTRF that its schema accepts, tables whose every column is documented, no live formulas."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
from golden import FOLDER, check_golden
from results import a_result, a_run

from pytest_voicebench.__main__ import main
from pytest_voicebench.exporters.ctrf import ctrf_bytes, ctrf_report
from pytest_voicebench.exporters.item_table import COLUMNS, RUN_COLUMNS, item_rows
from pytest_voicebench.exporters.table_files import NAMES, csv_bytes, csv_cell
from pytest_voicebench.saved_run import load_run

CTRF_SCHEMA = json.loads((Path(__file__).parent / "data" / "ctrf-schema-0.0.json").read_bytes())
DOCS = Path(__file__).parents[1] / "docs" / "exports.md"


@pytest.fixture
def run(tmp_path):
    """Every outcome, an item that was tried twice, a hostile cause."""
    return load_run(
        a_run(
            tmp_path / "r1",
            a_result("travel_01", folder="items/travel_01", duration_s=12.3456),
            a_result(
                "travel_02", "failed", attempts=("error", "failed", "passed"), withheld=("sound",), folder="items/b"
            ),
            a_result("travel_03", "error", cause='=HYPERLINK("http://x","\n<b>")'),
            a_result("travel_04", "skipped", cause="no recording"),
            planned=(a_result("travel_05"),),
        )
    )


def test_the_real_schema_of_ctrf_accepts_a_run_of_every_outcome(run):
    report = json.loads(ctrf_bytes(run))
    jsonschema.Draft7Validator(CTRF_SCHEMA, format_checker=jsonschema.FormatChecker()).validate(report)
    counts = report["results"]["summary"]
    assert [counts[name] for name in ("tests", "passed", "failed", "skipped", "pending", "other", "flaky")] == [
        5,
        1,
        2,
        1,
        1,
        0,
        1,
    ]
    first, second, third, *_ = report["results"]["tests"]
    assert (first["duration"], first["retries"], second["retries"], second["flaky"]) == (12346, 0, 2, True)
    assert [file["name"] for file in first["attachments"]] == ["conversation", "audio"]
    assert [file["name"] for file in second["attachments"]] == ["conversation"]
    assert (third["status"], third["rawStatus"]) == ("failed", "error")
    assert report["results"]["environment"]["extra"]["mode"] == "live"


def test_an_empty_run_is_valid_too(tmp_path):
    report = ctrf_report(load_run(a_run(tmp_path / "nothing", planned=())))
    jsonschema.validate(json.loads(json.dumps(report)), CTRF_SCHEMA)


def test_ctrf_looks_as_it_did_when_somebody_read_it(run):
    check_golden(FOLDER / "ctrf.json", ctrf_bytes(run))


def test_csv_looks_as_it_did_when_somebody_read_it(run):
    check_golden(FOLDER / "items.csv", csv_bytes(run))


def test_a_table_has_a_row_for_every_planned_item_and_a_cell_for_every_column(run):
    rows = list(csv.DictReader(io.StringIO(csv_bytes(run).decode())))
    assert [row["item"] for row in rows] == [f"travel_0{n}" for n in range(1, 6)]
    assert tuple(rows[0]) == NAMES
    assert (rows[0]["passed"], rows[1]["passed"], rows[4]["passed"]) == ("true", "false", "")
    assert rows[1]["attempts"] == "error,failed,passed"
    assert {row["mode"] for row in rows} == {"live"}


def test_every_column_is_documented_and_nothing_else_is():
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \|$", DOCS.read_text(), re.MULTILINE)
    assert told == [
        *((name, "text", meaning) for name, meaning in RUN_COLUMNS),
        *((column.name, column.kind, column.meaning) for column in COLUMNS),
    ]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49", "'+49"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("a=b", "a=b"),
        (-1.5, "-1.5"),
        (2 / 3, "0.6666666666666666"),
        (True, "true"),
        (None, ""),
        (0, "0"),
        (" =1+1", "' =1+1"),
        ("\n=1+1", "'\n=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        (" a=1", " a=1"),
    ],
)
def test_text_is_no_formula_and_numbers_stay_numbers(value, cell):
    assert csv_cell(value) == cell


def test_parquet_holds_the_same_cells_with_their_types(run, tmp_path, capsys):
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "items.parquet"
    assert main(["export", "parquet", str(run.folder), "--out", str(out)]) == 0
    assert pq.read_table(out).to_pylist() == item_rows(run)
    kinds = {field.name: str(field.type) for field in pq.read_schema(out)}
    assert (kinds["item"], kinds["passed"], kinds["surplus_calls"], kinds["f1"]) == (
        "string",
        "bool",
        "int64",
        "double",
    )


def test_without_pyarrow_one_line_says_what_to_install(run, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert main(["export", "parquet", str(run.folder)]) == 2
    assert capsys.readouterr().err == 'export: parquet needs pyarrow: pip install "pytest-voicebench[parquet]"\n'


def test_a_file_is_written_where_it_is_asked_for_and_else_printed(run, tmp_path, capsysbinary):
    assert main(["export", "ctrf", str(run.folder)]) == 0
    assert capsysbinary.readouterr().out == ctrf_bytes(run)
    out = tmp_path / "out" / "ctrf.json"
    assert main(["export", "ctrf", str(run.folder), "--out", str(out)]) == 0
    assert out.read_bytes() == ctrf_bytes(run)
    assert capsysbinary.readouterr().out == f"5 items: {out}\n".encode()


def test_a_run_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["export", "csv", "nowhere", "--reports", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("export: nowhere: no such file, and no such run in ")
