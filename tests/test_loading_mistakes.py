"""Every bad file is refused with the right lines, and the JSON Schemas for editors judge as the loader does."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import pytest_voicebench
from pytest_voicebench.loading import SuiteError, load_suite
from pytest_voicebench.loading.document import plain, read_document
from pytest_voicebench.loading.mistakes import Report
from pytest_voicebench.loading.speaker_file import read_speakers
from pytest_voicebench.loading.tool_file import read_tools

DATA = Path(__file__).parent / "data"
SCHEMAS = Path(pytest_voicebench.__file__).parent / "schemas"
KINDS = {"scenarios": "scenario", "tools": "tools", "speakers": "speakers"}
BESIDES = {"tools", "speakers"}  # files that the bad suites name

YAML_ONLY = {  # lost before there is data that a schema could see
    *(
        "anchor_bomb",
        "byte_order_mark",
        "comment_after_text",
        "duplicate_key",
        "empty_file",
        "huge_integer",
        "infinite",
        "latin_1",
    ),
    *("number_as_key", "reference_unquoted", "second_document", "tabs", "too_deep", "unclosed", "unsafe_tag", "utf_16"),
}
LOADER_ONLY = {  # needs another file, another place in the file, or the calendar
    *("allow_extra_expected", "allow_extra_unknown"),
    *("argument_fraction_for_integer", "argument_missing", "argument_no_for_boolean"),
    *("argument_not_in_enum", "argument_null", "argument_number_for_text", "argument_text_for_integer"),
    *("argument_true_for_integer", "argument_unknown", "tool_unknown", "audio_folder", "audio_missing"),
    *("audio_outside", "audio_unreadable", "timing_broken", "timing_missing", "timing_of_another", "timing_too_long"),
    *("end_not_last", "generator_without_file", "id_twice", "instructions_outside", "reference_into_text"),
    *("reference_key_unknown", "reference_malformed", "reference_past_the_end", "reference_to_itself"),
    *("reference_to_later", "reference_to_null", "requirement_never_checked", "retracted_reference"),
    *("retracted_unknown_argument", "speaker_placeholder_without_speakers", "speaker_unknown"),
    *("speakers_share_a_recording", "today_no_such_day", "tools_missing_file", "until_missing_in_words"),
    *("until_twice_in_words", "version_not_first", "words_of_another"),
    *("answer_without_file", "answer_without_function", "default_not_in_enum", "placeholder_unknown"),
    *("required_unknown", "twice_in_a_list"),
    *("audio_root_left", "audio_root_missing", "timing_elsewhere_missing", "timing_outside"),
    *("mention_without_words", "references_inside", "requirement_order_of_nothing", "requirement_twice"),
    "options_unknown",
}


def bad_files() -> list[Path]:
    """The bad files of all kinds."""
    found = sorted((DATA / "bad").glob("*/*.yaml"))
    return [path for path in found if not (path.parent.name == "scenarios" and path.stem in BESIDES)]


def good_files() -> list[tuple[str, Path]]:
    """The good files, each with its schema's name."""
    files = sorted(p for p in (DATA / "good").iterdir() if p.suffix in (".yaml", ".json"))
    kinds = ("tools", "speakers")
    return [(next((k for k in kinds if p.name.startswith(k)), "scenario"), p) for p in files]


def mistakes_in(path: Path) -> list[str]:
    """The loader's lines for a file, without its folder."""
    if path.parent.name == "scenarios":
        with pytest.raises(SuiteError) as caught:
            load_suite(path)
        lines = [str(problem) for problem in caught.value.problems]
        assert str(caught.value) == "\n".join(lines)
    else:
        report = Report(path)
        read = read_tools if path.parent.name == "tools" else read_speakers
        assert read(path, report) is None
        lines = [str(mistake) for mistake in report.mistakes]
    return [line.replace(f"{path.parent}/", "") for line in lines]


@cache
def schema(name: str) -> dict[str, Any]:
    """A shipped schema, itself checked."""
    document: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(document)
    return document


EXPECTED = {
    f"{kind}/{line.partition(':')[0]}": [
        other
        for other in (DATA / "bad" / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
        if other.startswith(line.partition(":")[0] + ":")
    ]
    for kind in KINDS
    for line in (DATA / "bad" / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
}


@pytest.mark.parametrize("path", bad_files(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_bad_file_is_refused_with_all_its_mistakes_each_on_its_line(path: Path) -> None:
    assert mistakes_in(path) == EXPECTED[f"{path.parent.name}/{path.name}"]


def test_every_expected_line_has_its_file_and_there_are_many() -> None:
    assert set(EXPECTED) == {f"{p.parent.name}/{p.name}" for p in bad_files()}
    assert len(EXPECTED) >= 40
    assert len(good_files()) >= 12


@pytest.mark.parametrize("path", bad_files(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_the_schema_refuses_what_the_loader_refuses_unless_it_cannot_see_it(path: Path) -> None:
    report = Report(path)
    root = read_document(path, report)
    if root is None or report.mistakes:
        assert path.stem in YAML_ONLY
        return
    validator = Draft202012Validator(schema(KINDS[path.parent.name]))
    assert validator.is_valid(plain(root)) == (path.stem in LOADER_ONLY)


@pytest.mark.parametrize(("kind", "path"), good_files(), ids=lambda v: v if isinstance(v, str) else v.stem)
def test_a_good_file_is_good_to_loader_and_schema(kind: str, path: Path) -> None:
    report = Report(path)
    root = read_document(path, report)
    assert root is not None
    assert list(Draft202012Validator(schema(kind)).iter_errors(plain(root))) == []
    if kind == "scenario":
        assert load_suite(path).scenarios
    else:
        assert (read_tools if kind == "tools" else read_speakers)(path, report)
    assert report.mistakes == []


def test_each_schema_has_a_published_id_of_its_own() -> None:
    ids = [schema(name)["$id"] for name in KINDS.values()]
    assert ids == [f"urn:pytest-voicebench:schema:{name}:1" for name in KINDS.values()]


@pytest.mark.parametrize("path", bad_files(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_without_libyaml_the_same_lines_are_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    found = [":".join(line.split(":")[:2]) for line in mistakes_in(path)]
    assert found == [":".join(line.split(":")[:2]) for line in EXPECTED[f"{path.parent.name}/{path.name}"]]


def test_the_schemas_lists_are_the_loaders_lists() -> None:
    from pytest_voicebench.loading import expectations, fields, scenarios, steps, suite_file, tool_file
    from pytest_voicebench.matchers import KINDS as MATCHERS
    from pytest_voicebench.matchers import forms

    suite, tools = schema("scenario"), schema("tools")
    defs = suite["$defs"]
    assert sorted(suite["properties"]) == sorted(suite_file.KEYS)
    assert sorted(suite["required"]) == sorted(suite_file.REQUIRED)
    assert sorted(defs["scenario"]["properties"]) == sorted(scenarios.KEYS)
    assert sorted(defs["scenario"]["required"]) == sorted(scenarios.REQUIRED)
    assert sorted(defs["expect"]["properties"]) == sorted(expectations.KEYS)
    assert sorted(defs["name"]["not"]["enum"]) == sorted(fields.RESERVED)
    assert [set(kind["properties"]) for kind in defs["step"]["oneOf"]] == [
        set(steps.KEYS[key]) for key in ("say", "backchannel", "insert", "inject", "wait_s", "end")
    ]
    parameter = tools["$defs"]["parameter"]["properties"]
    assert sorted(parameter) == sorted(tool_file.PARAMETER_KEYS)
    for one in (tools, suite):
        assert one["$defs"]["kind"]["anyOf"][0]["enum"] == list(MATCHERS)
        known = {name for kind in MATCHERS.values() for name in kind.options}
        assert set(one["$defs"]["options"]["properties"]) == known | {"aliases", "set", "approx", "fields"}
    assert set(defs["value"]["then"]["properties"]) == set(forms.SHAPES)
    assert sorted(tools["$defs"]["tool"]["properties"]) == sorted(tool_file.TOOL_KEYS)
