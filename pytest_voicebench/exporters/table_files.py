"""The table of a run's items as a file: CSV for spreadsheets, Parquet (extra `parquet`) for data frames."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_voicebench.exporters.item_table import COLUMNS, RUN_COLUMNS, Cell, item_rows
from pytest_voicebench.exporters.official_folders import ExportRefused
from pytest_voicebench.files import write_atomically
from pytest_voicebench.saved_run import SavedRun

NAMES = (*(name for name, _ in RUN_COLUMNS), *(column.name for column in COLUMNS))

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_bytes(run: SavedRun) -> bytes:
    """The table as CSV: UTF-8, a head line, commas, lines that end in LF; flags are true and false, the unmeasured is
    empty, numbers stand in full precision.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, as spreadsheets write it themselves.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows([[csv_cell(row[name]) for name in NAMES] for row in item_rows(run)])
    return file.getvalue().encode("utf-8", "backslashreplace")


def csv_cell(value: Cell) -> str:
    """One cell; text that begins as a formula does is made text for spreadsheets too."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) or _first_sign(value).startswith(_FORMULA) else value
    return repr(value)


def _first_sign(text: str) -> str:
    """What a spreadsheet may look at: behind white space, and of a full-width sign the plain one that it means."""
    return unicodedata.normalize("NFKC", text.lstrip()[:1])


def write_parquet(run: SavedRun, path: Path) -> None:
    """The table as Parquet, columns typed, the unmeasured null. Raises ExportRefused without pyarrow, and OSError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ExportRefused('parquet needs pyarrow: pip install "pytest-voicebench[parquet]"') from None
    table = pa.Table.from_pylist(_typed(item_rows(run)), schema=_schema(pa))
    file = io.BytesIO()
    pq.write_table(table, file)
    write_atomically(path, file.getvalue())


def _typed(rows: Sequence[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Text as UTF-8 can hold it."""
    return [
        {
            name: cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell
            for name, cell in row.items()
        }
        for row in rows
    ]


def _schema(pa: Any) -> Any:
    kinds = {"text": pa.string(), "flag": pa.bool_(), "count": pa.int64(), "number": pa.float64()}
    fields = [(name, pa.string()) for name, _ in RUN_COLUMNS]
    return pa.schema([*fields, *((column.name, kinds[column.kind]) for column in COLUMNS)])
