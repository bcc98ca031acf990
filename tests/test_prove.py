"""The command `prove`: what it prints of suites that can fail, of those that cannot, and of those it cannot use."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden import FOLDER, check_golden
from suites_for_pytest import write_suite

from pytest_voicebench.__main__ import main
from pytest_voicebench.commands.prove import percent
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.matchers import Match
from pytest_voicebench.proving import proof
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.scoring import score

TURN = """
    user:
      - {say: "Find me a flight to Milan on June third.", audio: audio/turn.a.flac}"""

SOUND = (
    """
  - id: sound
    speakers: [a]
    user:
      - {say: "Find me a flight to Milan on June third.", audio: "audio/turn.{speaker}.flac"}
    retracted:
      - {tool: search_flights, args: {destination: Rome}, until: "to Milan"}
    expect:
      calls:
        - search_flights: {destination: Milan, date: 2026-06-03}
"""
    + """
  - id: calm
    speakers: [a, b]
    user:
      - {say: "Find me a flight to Milan on June third.", audio: "audio/turn.{speaker}.flac"}
    expect:
      calls: []
      mentions: [Milan]
      pass_requires: [mentions, no_interruption, "first_response_s <= 2.0"]
"""
)

CANNOT_FAIL = f"""
  - id: wide
    title: An alias accepts the day after{TURN}
    expect:
      calls:
        - search_flights: {{destination: Milan, date: 2026-06-03}}
      aliases: {{2026-06-03: [2026-06-04]}}
  - id: nothing
    title: Nothing is expected{TURN}
    expect:
      calls: []
  - id: loose
    title: The order is written down and not required{TURN}
    expect:
      ordered: true
      calls:
        - search_flights: {{destination: Milan, date: 2026-06-03}}
        - search_flights: {{destination: Turku, date: 2026-06-03}}
"""

UNTRIED = f"""
  - id: made
    user: {{generator: "simulated_user:steps"}}
    expect: {{calls: []}}
  - id: waiting
    skip: no recording yet{TURN}
    expect: {{calls: []}}
"""

BROKEN_ORACLE = f"""
  - id: impossible
    title: The oracle's reply comes after 0.8 s{TURN}
    expect:
      calls:
        - search_flights: {{destination: Milan, date: 2026-06-03}}
      pass_requires: ["first_response_s < 0.5"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prove(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["prove", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_suite_that_can_fail_is_proved_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND)
    status, out, err = prove(capsys, "travel.yaml")
    check_golden(FOLDER / "prove_sound.txt", out.encode())
    assert (status, err) == (0, "")
    assert out.endswith(" (100.0 %)\n")


def test_survivors_are_named_with_the_scenarios_fault(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND, CANNOT_FAIL)
    status, out, err = prove(capsys, "travel.yaml")
    check_golden(FOLDER / "prove_cannot_fail.txt", out.encode())
    assert (status, err) == (1, "")


def test_agents_that_do_nothing_and_pass_all_the_same_are_survivors(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_pass(wanted: Scenario, held: Conversation) -> Scorecard:
        return replace(score(wanted, held), passed=True)

    monkeypatch.setattr(proof, "score", all_pass)
    write_suite(Path(), SOUND)
    status, out, _ = prove(capsys, "travel.yaml", "--json")
    found = json.loads(out)
    assert {s["kind"] for s in found["survivors"]} >= {"no_op", "silent_worker", "value_near"}
    assert (status, found["killed"], found["made"] > 0) == (1, 0, True)


def test_the_proof_is_the_same_twice_and_in_several_processes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND, CANNOT_FAIL)
    first = prove(capsys, "-v", ".")
    assert prove(capsys, "-v", ".") == first
    assert prove(capsys, "-v", "-n", "2", ".") == first
    assert "SURVIVED  wide: search_flights.date changed 2026-06-03 -> 2026-06-04\n" in first[1]
    assert "killed    sound: search_flights.destination as it was taken back, Rome\n" in first[1]


def test_as_json_the_proof_says_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), CANNOT_FAIL, UNTRIED)
    _with_generator()
    status, out, _ = prove(capsys, "--json", "travel.yaml")
    found: dict[str, Any] = json.loads(out)
    assert (status, found["format"], found["holds"]) == (1, 1, False)
    assert found["made"] - found["killed"] == len(found["survivors"]) == 3
    assert sum(kind["made"] for kind in found["kinds"].values()) == found["made"]
    assert found["mutation_score_percent"] < 100
    assert found["survivors"][0] == {
        "scenario": "wide",
        "items": ["wide"],
        "path": "travel.yaml",
        "line": 10,
        "kind": "value_near",
        "what": "search_flights.date changed 2026-06-03 -> 2026-06-04",
        "why": "it is an alias of '2026-06-03': take it out of the aliases",
    }
    assert [one["item"] for one in found["skipped"]] == ["made", "waiting"]


def test_where_nothing_could_be_tried_nothing_is_proved(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), UNTRIED)
    _with_generator()
    status, out, _ = prove(capsys, "travel.yaml")
    assert status == 1
    assert "    1  its steps come from a generator, which simulated agents cannot follow\n" in out
    assert "    1  skip: no recording yet\n" in out
    assert out.endswith("killed 0 of 0: nothing was proved\n")
    assert json.loads(prove(capsys, "--json", "travel.yaml")[1])["mutation_score_percent"] is None


def test_an_oracle_that_fails_is_the_scenarios_fault(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND, BROKEN_ORACLE)
    status, out, _ = prove(capsys, "travel.yaml")
    assert status == 1
    assert "impossible: an agent that does everything right fails: `first_response_s < 0.5` was not met\n" in out
    assert out.endswith("killed 24 of 24 (100.0 %); the oracle fails in 1 item\n")


def test_a_mock_that_does_not_run_is_the_scenarios_fault(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND)
    tools = Path("tools.yaml").read_text()
    Path("tools.yaml").write_text(tools.partition("  returns:")[0] + "  answer: mock_api:find\n")
    Path("mock_api.py").write_text("def find(arguments, state):\n    return 1 / 0\n")
    status, out, _ = prove(capsys, "travel.yaml")
    assert status == 1
    assert (
        "sound: an agent that does everything right fails: suite: search_flights: mock_api.py:2: ZeroDivisionError: "
        in out
    )


def test_a_broken_suite_gives_the_loaders_messages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_suite(Path(), SOUND.replace("search_flights: {dest", "search_flihts: {dest"))
    status, out, err = prove(capsys, str(path))
    assert (status, out) == (2, "")
    assert err == (
        'travel.yaml:18: sound.expect.calls[0]: there is no tool "search_flihts"; did you mean "search_flights"?\n'
    )


def test_the_same_scenario_twice_is_a_mistake(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_suite(Path(), SOUND)
    write_suite(Path(), SOUND, name="again.yaml")
    status, out, err = prove(capsys, ".")
    assert (status, out) == (2, "")
    assert "sound" in err


@pytest.mark.parametrize("arguments", [["nowhere.yaml"], ["tools_only"], ["travel.yaml", "-n", "0"], []])
def test_what_is_no_suite_or_no_number_is_refused(
    arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_suite(Path(), SOUND)
    Path("tools_only").mkdir()
    try:
        status = main(["prove", *arguments])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    assert status == 2
    assert capsys.readouterr().err.strip()


def _with_generator() -> None:
    code = "from pytest_voicebench.scenario import Step\n\n\ndef steps(view):\n    yield Step(kind='end')\n"
    Path("simulated_user.py").write_text(code)


def test_scores_that_see_nothing_are_found_out(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    same = Match(verdict="match", reason="anything goes")
    monkeypatch.setattr("pytest_voicebench.metrics.arguments.compare_value", lambda *_: same)
    monkeypatch.setattr("pytest_voicebench.scoring.surplus_calls", lambda *_: ())
    write_suite(Path(), SOUND)
    found = json.loads((prove(capsys, "--json", "travel.yaml"))[1])
    assert Counter(one["kind"] for one in found["survivors"]) == {
        "value_retracted": 1,
        "value_near": 4,
        "argument_omitted": 2,
        "call_doubled": 1,
        "call_invented": 2,
    }


def test_conversations_of_several_turns_are_proved_too(capsys: pytest.CaptureFixture[str]) -> None:
    good = Path(__file__).parent / "data" / "good"
    status, out, _ = prove(capsys, *(str(good / f"{name}.yaml") for name in ("barge_in", "every_step", "references")))
    assert status == 0
    assert "oracle fails" not in out


@pytest.mark.parametrize(
    ("killed", "made", "shown"), [(1999, 2000, 99.9), (2000, 2000, 100.0), (0, 3, 0.0), (1, 3, 33.3)]
)
def test_a_score_is_never_rounded_up(killed: int, made: int, shown: float) -> None:
    assert percent(killed, made) == shown


def test_a_worker_that_dies_is_told_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr("pytest_voicebench.commands.prove.prove", dies)
    write_suite(Path(), SOUND)
    assert prove(capsys, "-n", "2", "travel.yaml") == (
        2,
        "",
        "prove: a worker process died; run it without -n to see what ends it\n",
    )
