"""A suite's YAML file, and the files it names, to a Suite."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal, cast

from pytest_voicebench.loading.document import Mapping, Node, Scalar, read_document
from pytest_voicebench.loading.fields import Fields, as_text, describe
from pytest_voicebench.loading.folder import Folder
from pytest_voicebench.loading.mistakes import MAX_MISTAKES, Mistake, Report, SuiteError, TooManyMistakes, quoted
from pytest_voicebench.loading.recordings import Recordings
from pytest_voicebench.loading.scenarios import Reader
from pytest_voicebench.loading.speaker_file import read_speakers
from pytest_voicebench.loading.tool_file import read_tools
from pytest_voicebench.loading.tool_shapes import looks_like_tools
from pytest_voicebench.scenario import Scenario, Speaker, Suite, SuiteInfo
from pytest_voicebench.tools import Toolset

KEYS = (
    *("voicebench", "kind", "suite", "tools", "speakers", "today", "instructions", "documents", "audio_root"),
    *("stimulus", "window", "settle_s", "max_duration_s", "scenarios"),
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
REQUIRED = ("voicebench", "kind", "suite", "tools", "today", "scenarios")
KINDS = ("tool_use",)
_FIRST_BYTES = 4096


def is_suite_file(path: Path) -> bool:
    """Whether a YAML file is ours: its first key is `voicebench`. Cheap: the start of the file, no YAML parser."""
    if not path.is_file():  # opening a pipe would wait for ever
        return False
    try:
        with path.open("rb") as file:
            start = file.read(_FIRST_BYTES)
    except OSError:
        return False
    for line in start.removeprefix(b"\xef\xbb\xbf").splitlines():
        text = line.strip()
        if text and not text.startswith((b"#", b"---", b"%")):
            return line.startswith((b"voicebench:", b'"voicebench":', b"'voicebench':"))
    return False


def load_suite(path: Path) -> Suite:
    """The suite that a file holds: scenarios in the order written, one item for each speaker.

    Raises SuiteError with every mistake in the file and in those it names. Recordings are hashed and their headers
    read, not decoded; no code of the suite runs but its own matchers, each expected value against itself.
    """
    report = Report(path)
    try:
        with _no_collector():
            suite = _read(path, report)
    except TooManyMistakes:
        rest = Mistake(
            path=path, line=1, where="file", what=f"more than {MAX_MISTAKES} mistakes; the rest is not listed"
        )
        raise SuiteError([*_in_order(report.mistakes, path), rest]) from None
    if suite is None or report.mistakes:
        raise SuiteError(_in_order(report.mistakes, path))
    return suite


@contextmanager
def _no_collector() -> Iterator[None]:
    """While a large tree grows, nothing of it is garbage: looking for some costs a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(path: Path, report: Report) -> Suite | None:
    root = read_document(path, report)
    if root is not None and looks_like_tools(root):
        report.add(root.line, "suite", "this is a file of tools; give the suite that names it under `tools:`")
        return None
    if root is None or isinstance(root, Mapping):
        return root and _suite(root, path, report)
    report.add(root.line, "suite", f"expected a mapping that starts with voicebench: 1, got {describe(root)}")
    return None


def _in_order(mistakes: list[Mistake], path: Path) -> list[Mistake]:
    """The suite's own mistakes first, by line. What follows from a value that YAML itself lost is left out."""
    lost = {(m.path, m.line) for m in mistakes if m.where == "yaml"}
    told = [m for m in mistakes if m.where == "yaml" or (m.path, m.line) not in lost]
    return sorted(told, key=lambda m: (m.path != path, str(m.path), m.line))


def _suite(root: Mapping, path: Path, report: Report) -> Suite:
    fields = Fields(root, "suite", report, KEYS, REQUIRED)
    _check_version(root, fields, report)
    folder = Folder(path.parent)
    tools = _tools(fields, folder, report)
    speakers = _speakers(fields, folder, report)
    info = SuiteInfo(
        path=path,
        name=fields.name("suite") or "",
        kind=fields.choice("kind", KINDS) or "",
        tools=tools or {},
        instructions=_file_text(fields, "instructions", folder, report),
        today=_today(fields, report),
        stimulus=cast(Literal["synthetic", "human"], fields.choice("stimulus", ("synthetic", "human")) or "human"),
        window=cast(Literal["settle", "fixed"], fields.choice("window", ("settle", "fixed")) or "settle"),
        settle_s=fields.number("settle_s", least=0.5, most=60) or 10.0,
        max_duration_s=fields.number("max_duration_s", least=1, most=3600) or 300.0,
        documents=_documents(fields, folder, report),
    )
    recordings = Recordings(_audio_folder(fields, folder, report))
    reader = Reader(info, tools, speakers, folder, recordings, report)
    return _with_stimulus(
        Suite(info=info, scenarios=_scenarios(fields, reader)), fields, reader.recordings.synthesized()
    )


def _audio_folder(fields: Fields, folder: Folder, report: Report) -> Folder | None:
    """Where recordings lie: in the suite's folder, or in `audio_root`, the one folder outside it that is read.

    None where that is not there: one mistake stands for all its recordings.
    """
    written = fields.text("audio_root")
    if written is None:
        return None if "audio_root" in fields.entries else folder
    path = folder.path / os.path.expanduser(written)
    if "\x00" in written or not path.is_dir():
        what = (
            f"there is no folder {quoted(written, 200)}; write where the recordings are, seen from the suite's folder"
        )
        report.add(fields.lines["audio_root"], "suite.audio_root", what)
        return None
    return Folder(path, "audio_root")


def _with_stimulus(suite: Suite, fields: Fields, synthesized: MappingOf[Path, str]) -> Suite:
    """A suite with a recording that no person spoke is synthetic, and must not say that it is human."""
    if not synthesized or suite.info.stimulus == "synthetic":
        return suite
    if "stimulus" in fields.entries:
        path, how = next(iter(synthesized.items()))
        more = f", and {len(synthesized) - 1} more" if len(synthesized) > 1 else ""
        what = (
            f"human, but a voice spoke {quoted(path.name)} (its timing file says {quoted(how)}){more}; write synthetic"
        )
        fields.report.add(fields.lines["stimulus"], "suite.stimulus", what)
    info = replace(suite.info, stimulus="synthetic")
    return Suite(info=info, scenarios=tuple(replace(scenario, suite=info) for scenario in suite.scenarios))


def _check_version(root: Mapping, fields: Fields, report: Report) -> None:
    node = fields.get("voicebench")
    if node is None:
        return
    if not (isinstance(node, Scalar) and node.value == 1 and node.value is not True):
        report.add(node.line, "suite.voicebench", f"expected the format's version, 1, got {describe(node)}")
    if next(iter(root.entries)) != "voicebench":
        report.add(root.lines["voicebench"], "suite.voicebench", "must be the first key; it marks the file as a suite")


def _tools(fields: Fields, folder: Folder, report: Report) -> Toolset | None:
    written = fields.text("tools")
    path = written and folder.file(written, fields.lines["tools"], "suite.tools", report)
    return read_tools(path, report.of(path)) if path else None


def _speakers(fields: Fields, folder: Folder, report: Report) -> MappingOf[str, Speaker] | None:
    """Speakers of the file named, or of speakers.yaml where there is one; None where the file is broken."""
    node = fields.get("speakers")
    if node is None and not (folder.path / "speakers.yaml").exists():
        return {}
    written = "speakers.yaml" if node is None else as_text(node, "suite.speakers", report)
    path = written and folder.file(written, node.line if node else 1, "suite.speakers", report)
    return read_speakers(path, report.of(path)) if path else None


def _today(fields: Fields, report: Report) -> date:
    text = fields.text("today")
    try:
        if text and _DATE.fullmatch(text):  # Python also reads 2026-W15-1
            return date.fromisoformat(text)
    except ValueError:
        pass
    if text is not None:
        report.add(fields.lines["today"], "suite.today", f"expected a date such as 2026-04-06, got {quoted(text)}")
    return date.min


def _file_text(fields: Fields, name: str, folder: Folder, report: Report) -> str:
    written = fields.text(name)
    return "" if written is None else folder.text(written, fields.lines[name], fields.at(name), report) or ""


def _documents(fields: Fields, folder: Folder, report: Report) -> tuple[str, ...]:
    texts: list[str] = []
    for node, where in fields.items("documents"):
        written = as_text(node, where, report)
        text = written and folder.text(written, node.line, where, report)
        if text:
            texts.append(text)
    return tuple(texts)


def _scenarios(fields: Fields, reader: Reader) -> tuple[Scenario, ...]:
    found: list[Scenario] = []
    lines: dict[str, int] = {}
    for node, where in fields.items("scenarios"):
        if not isinstance(node, Mapping):
            fields.report.add(node.line, where, f"expected a scenario, got {describe(node)}")
            continue
        name = _id_of(node)
        if name in lines:
            fields.report.add(node.line, name, f"the id stands twice; first in line {lines[name]}")
        elif name:
            lines[name] = node.line
        found += reader.read(node, name or where)
    return tuple(found)


def _id_of(node: Node) -> str:
    child = node.entries.get("id") if isinstance(node, Mapping) else None
    return child.value if isinstance(child, Scalar) and isinstance(child.value, str) else ""


def check_distinct(suites: list[Suite]) -> None:
    """Raise SuiteError where two files hold the same item: their results would overwrite each other."""
    report = Report(Path())
    seen: dict[str, tuple[Path, int]] = {}
    for suite in suites:
        for scenario in suite.scenarios:
            here = (suite.info.path, scenario.line)
            path, line = seen.setdefault(scenario.item_id, here)
            if (path, line) != here:
                report.of(here[0]).add(here[1], scenario.id, f"the id stands twice; first in {path}:{line}")
    if report.mistakes:
        raise SuiteError(report.mistakes)
