"""`case`: one scenario across agents, side by side, within the width, whatever the agents say."""

from __future__ import annotations

from dataclasses import replace

import failures
import pytest
from golden import FOLDER, check_golden
from results import a_result, a_run

from pytest_voicebench.__main__ import main
from pytest_voicebench.casing import NoSuchCase, case_of
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.conversation_files import save_conversation
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.case_text import case_text
from pytest_voicebench.writers.plain_text import columns


def write_run(folder, **items):
    """A run of travel_19 held by several agents, each with one of the hand-made items."""
    rows = []
    for name, (scenario, held, card) in items.items():
        info = AgentInfo(name=name, clock="wall")
        row = a_result(f"{name}-travel_19", "failed", agent=info, scorecard=card, folder=f"items/{name}")
        facts = replace(row.facts, scenario_id="travel_19", title=scenario.title, speaker="b")
        rows.append(replace(row, facts=facts))
        save_conversation(replace(held, recording=None), folder / "items" / name)
    return a_run(folder, *rows)


@pytest.fixture
def run(tmp_path):
    return load_run(write_run(tmp_path / "r1", cascaded=failures.stale(), mute=failures.silent()))


@pytest.mark.parametrize("width", [80, 120])
def test_a_case_looks_as_it_did_when_somebody_read_it(run, width):
    check_golden(FOLDER / f"case_{width}.txt", case_text(case_of("travel_19", [run]), width=width).encode())


@pytest.mark.parametrize("make", [failures.stale, failures.silent, failures.hostile, failures.crowded])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_asked_for_and_none_holds_a_control_character(tmp_path, make, width):
    run = load_run(write_run(tmp_path / "r1", one=make(), two=make()))
    text = case_text(case_of("travel_19", [run]), width=width)
    assert max(columns(line) for line in text.splitlines()) <= width
    assert all(character == "\n" or character.isprintable() for character in text)


def test_one_agent_in_two_runs_is_told_apart_by_the_run(tmp_path):
    runs = [load_run(write_run(tmp_path / name, one=failures.stale())) for name in ("monday", "friday")]
    text = case_text(case_of("travel_19", runs))
    assert "one (monday): failed" in text
    assert "one (friday): failed" in text


def test_a_request_that_changed_between_runs_is_said(tmp_path):
    runs = [load_run(write_run(tmp_path / name, one=failures.stale())) for name in ("monday", "friday")]
    (row,) = runs[1].results
    changed = replace(runs[1], results=(replace(row, facts=replace(row.facts, scenario_sha256="9" * 64)),))
    case = case_of("travel_19", [runs[0], changed])
    assert case.changed == ("friday",)
    assert "not the same request or expectation as in monday: friday" in case_text(case)


def test_an_item_without_a_conversation_says_why(tmp_path):
    run = load_run(a_run(tmp_path / "r1", a_result("travel_19", "error", cause="no connection")))
    text = case_text(case_of("travel_19", [run]))
    assert "infrastructure no connection" in text
    assert "no conversation of travel_19 was saved" in " ".join(text.split())


def test_a_scenario_that_no_run_has_is_one_line_with_the_nearest(run, tmp_path, capsys):
    with pytest.raises(NoSuchCase, match='did you mean "travel_19"'):
        case_of("travel_91", [run])
    assert main(["case", "nowhere", "r1", "--reports", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "case: no run has a scenario 'nowhere'; the runs have 1 scenario\n"


def test_the_command_finds_a_case_by_scenario_and_by_item(run, tmp_path, capsys):
    assert main(["case", "travel_19", "r1", "--reports", str(tmp_path)]) == 0
    assert "cascaded: failed" in capsys.readouterr().out
    assert main(["case", "mute-travel_19", "r1", "--reports", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "mute: failed" in shown
    assert "cascaded" not in shown
