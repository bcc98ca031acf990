"""JUnit XML for strict readers: properties, gates, and whole files without pytest.

The strict schema (xunit 2, as Jenkins reads it) knows properties of a suite but none of a test case, so those of an
item are named `<item>.<property>`, on the suite.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.writers.junit_properties import Scalar, item_properties, run_properties

if TYPE_CHECKING:
    from pytest_voicebench.decisions import GateResult
    from pytest_voicebench.result import Result
    from pytest_voicebench.summary import Summary

JUNIT_NAME = "junit.xml"
GATES_CLASS = "voicebench.gates"

_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped", "not_run": "skipped"}
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitUnreadable(Exception):  # noqa: N818 - says what is the case, for a person
    """A junit.xml that is missing or not well formed; one line that names the file."""


def legal(text: str) -> str:
    """The text with each character that XML 1.0 forbids written as `#x1B`."""
    return _ILLEGAL.sub(lambda match: f"#x{ord(match.group()):02X}", text)


def finish_junit(path: Path, summary: Summary) -> None:
    """Put the run's properties into the first suite of a junit.xml, in place of those of an earlier call.

    Raises JunitUnreadable. The file is replaced whole.
    """
    root, suite = _read(path)
    _put_properties(suite, run_properties(summary))
    write_atomically(path, _document(root))


def append_gates(path: Path, gates: Sequence[GateResult], *, strict: bool) -> None:
    """Add a test case for each gate to the first suite of a junit.xml, in place of those of an earlier call.

    A gate that fails is a failure; one that cannot be told is skipped, where `strict` a failure too. Raises
    JunitUnreadable. The file is replaced whole.
    """
    root, suite = _read(path)
    old = [case for case in suite.findall("testcase") if case.get("classname") == GATES_CLASS]
    several = len({gate.agent for gate in gates}) > 1
    new = [_gate_case(gate, strict=strict, with_agent=several) for gate in gates]
    for case in old:
        suite.remove(case)
    last = max((i for i, child in enumerate(suite) if child.tag in ("properties", "testcase")), default=-1)
    for place, case in enumerate(new, start=last + 1):
        suite.insert(place, case)
    for element in (suite,) if suite is root else (suite, root):
        for name, tag in (("tests", None), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            count = element.get(name)
            if count is not None:
                element.set(name, str(int(count) + _count(new, tag) - _count(old, tag)))
    write_atomically(path, _document(root))


def _gate_case(gate: GateResult, *, strict: bool, with_agent: bool) -> ET.Element:
    name = f"{gate.expression} [{gate.agent}]" if with_agent else gate.expression
    case = ET.Element("testcase", classname=GATES_CLASS, name=legal(name), time="0.000")
    if not gate.holds:
        failed = gate.holds is False or strict
        told = "; ".join(part for part in (gate.found, gate.why) if part)
        text = told if gate.holds is False else f"cannot be told: {told}"
        ET.SubElement(case, "failure" if failed else "skipped", message=legal(text))
    return case


def _read(path: Path) -> tuple[ET.Element, ET.Element]:
    """The root of a junit.xml and its first suite. Raises JunitUnreadable."""
    try:
        root = ET.fromstring(read_file(path))
    except OSError as error:
        raise JunitUnreadable(f"{path}: {error.strerror}") from None
    except ET.ParseError as error:
        raise JunitUnreadable(f"{path}: not well-formed XML: {error}") from None
    suite = root if root.tag == "testsuite" else root.find("testsuite")
    if suite is None:
        raise JunitUnreadable(f"{path}: holds no testsuite")
    return root, suite


def _put_properties(suite: ET.Element, values: Mapping[str, Scalar]) -> None:
    found = suite.find("properties")
    if found is None:
        found = ET.Element("properties")
        suite.insert(0, found)
    names = {legal(name) for name in values}
    for old in [p for p in found if p.get("name") in names]:
        found.remove(old)
    for name, value in values.items():
        ET.SubElement(found, "property", name=legal(name), value=legal(str(value)))


def write_junit(
    path: Path, results: Sequence[Result], summary: Summary, told: Mapping[str, ET.Element] | None = None
) -> None:
    """A junit.xml of results alone, for folders that pytest did not write (a merge): one test case an item.

    `told` has test cases by name that pytest wrote; one that says what the result says is kept, with all that it tells.
    An item that never ran is skipped with that reason; a JUnit reader knows no other word for it.
    """
    cases = [_told_case(result, told or {}) for result in results]
    tests = {"tests": len(cases), **{f"{tag}s": _count(cases, tag) for tag in ("failure", "error")}}
    tests["skipped"] = _count(cases, "skipped")
    seconds = sum(float(case.get("time", 0)) for case in cases)
    attributes = {name: str(value) for name, value in tests.items()} | {"time": f"{seconds:.3f}"}
    suite = ET.Element("testsuite", {"name": "voicebench", **attributes})
    _put_properties(suite, run_properties(summary) | _all_item_properties(results))
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    write_atomically(path, _document(root))


def _all_item_properties(results: Sequence[Result]) -> dict[str, Scalar]:
    return {f"{r.item_id}.{name}": value for r in results for name, value in item_properties(r).items()}


def _count(cases: Sequence[ET.Element], tag: str | None) -> int:
    """How many have such a child; all of them for None."""
    return sum(tag is None or case.find(tag) is not None for case in cases)


def read_cases(path: Path) -> dict[str, ET.Element]:
    """The test cases of a junit.xml by name, the first of each; none where the file is not there or not well formed."""
    try:
        root = ET.fromstring(read_file(path))
    except (OSError, ET.ParseError):
        return {}
    found: dict[str, ET.Element] = {}
    for case in root.iter("testcase"):
        found.setdefault(case.get("name", ""), case)
    return found


def _told_case(result: Result, told: Mapping[str, ET.Element]) -> ET.Element:
    case = told.get(legal(result.nodeid.rpartition("::")[2]))
    own = _case(result)
    return own if case is None or _ending(case) != _ending(own) else case


def _ending(case: ET.Element) -> set[str]:
    return {child.tag for child in case} & set(_TAGS.values())


def _case(result: Result) -> ET.Element:
    module, _, name = result.nodeid.rpartition("::")
    classname = module.replace("/", ".").removesuffix(".yaml")
    seconds = f"{result.duration_s or 0:.3f}"
    case = ET.Element("testcase", classname=legal(classname), name=legal(name), time=seconds)
    tag = _TAGS.get(result.outcome)
    if tag is not None:
        cause = ": ".join(part for part in (result.error_kind, result.cause) if part)
        ET.SubElement(case, tag, message=legal(cause or result.outcome.replace("_", " ")))
    return case


def _document(root: ET.Element) -> bytes:
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"
