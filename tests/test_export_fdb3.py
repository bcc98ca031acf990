"""A run of ours in the official layout: every key the scripts read, and back again with the same calls and times."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from release_folders import ANNA, PROVIDER, add, metadata, result
from results import a_result, a_run
from suites_for_pytest import scenario_yaml, write_suite

from pytest_voicebench.__main__ import main
from pytest_voicebench.conversation import Call, Conversation, Transcribed, Word, to_ticks
from pytest_voicebench.conversation_files import load_conversation, save_conversation
from pytest_voicebench.exporters.official_folders import ExportRefused, export_run, provider_name
from pytest_voicebench.importers.release import read_json_object, read_release
from pytest_voicebench.importers.release_suite import import_release
from pytest_voicebench.importers.result_run import folder_speaker, import_results
from pytest_voicebench.result_files import find_run
from pytest_voicebench.saved_run import SavedRun, load_run

RESULT_KEYS = {
    *("pid", "example_id", "category", "title", "provider", "evaluated_at", "inference_time_s", "room_name"),
    *("stream_start_time", "input_transcript", "input_asr_chunks", "user_speech_end_rel", "latency", "user_done_unix"),
    *("audio_agent_speech_start", "transcript", "asr_chunks", "actual_tool_calls", "status"),
}
METADATA_KEYS = {
    *("id", "domain", "title", "difficulty", "dialogue", "acting_notes", "disfluency_features"),
    *("expected_tool_calls", "num_expected_calls", "state_rollback_test", "latency_profile"),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a suite of three items was run: one of them by two speakers."""
    folder = tmp_path_factory.mktemp("held")
    two = scenario_yaml("travel_02", more="speakers: [a, b]\n    state_rollback: true")
    write_suite(folder / "suites", scenario_yaml("travel_01"), two)
    command = [sys.executable, "-m", "pytest", "suites", "--agent=simulated", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    return folder


@pytest.fixture
def run(held: Path, tmp_path: Path) -> SavedRun:
    """The run, in a folder of its own."""
    source = find_run("latest", held / "reports")
    return load_run(Path(shutil.copytree(source, tmp_path / source.name)))


def exported(folder: Path) -> dict[str, dict[str, Any]]:
    """Result files by folder."""
    return {p.parent.name: json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*/result_*.json"))}


def conversations(run: SavedRun) -> dict[str, Conversation]:
    return {r.item_id: load_conversation(run.folder / str(r.folder)) for r in run.results}


def changed_conversation(run: SavedRun, item_id: str, change: Callable[[Conversation], Conversation]) -> None:
    """Save another conversation for an item."""
    folder = next(run.folder / str(r.folder) for r in run.results if r.item_id == item_id)
    save_conversation(change(load_conversation(folder)), folder)


def test_every_file_and_key_of_the_layout_is_there(run: SavedRun, held: Path, tmp_path: Path) -> None:
    found = export_run(run, tmp_path / "out", suites=[held / "suites"])
    assert (found.items, found.providers, found.left_out, found.remarks) == (3, ["simulated"], [], [])
    names = {
        f"{name}_{folder_speaker(who)}" for name, who in (("travel_01", "a"), ("travel_02", "a"), ("travel_02", "b"))
    }
    assert {p.name for p in (tmp_path / "out").iterdir()} == names
    for folder in (tmp_path / "out").iterdir():
        assert {p.name for p in folder.iterdir()} == {
            *("metadata.json", "input.wav", "output_simulated.wav", "result_simulated.json"),
        }
        data = json.loads((folder / "result_simulated.json").read_text(encoding="utf-8"))
        described = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
        assert set(data) == RESULT_KEYS | {"voicebench"}
        assert set(described) == METADATA_KEYS | {"voicebench"}
        assert set(data["latency"]) == {"input_duration_s", "output_duration_s", "first_speech_s"}
        assert data["status"] == "completed"
        assert f"{data['example_id']}_{data['pid']}" == folder.name
        assert described["state_rollback_test"] == (described["id"] == "travel_02")
        assert described["disfluency_features"] == ["FILLER"]
        assert described["expected_tool_calls"] == [
            {"function": "search_flights", "args": {"destination": "Milan", "date": "2026-06-03"}}
        ]
        user, output = (soundfile.info(folder / name) for name in ("input.wav", "output_simulated.wav"))
        assert (user.frames, user.samplerate, user.channels) == (output.frames, output.samplerate, 1)


def test_the_users_end_is_by_the_official_rule_from_the_known_words(run: SavedRun, tmp_path: Path) -> None:
    def with_pause(held: Conversation) -> Conversation:
        (said,) = held.utterances
        late = [
            replace(w, start_ticks=w.start_ticks + to_ticks(2.5), end_ticks=w.end_ticks + to_ticks(2.5))
            for w in said.words
        ]
        return replace(held, utterances=(replace(said, words=(*said.words[:3], *late[3:])),))

    changed_conversation(run, "travel_01", with_pause)
    before = conversations(run)["travel_01"].utterances[0].words
    export_run(run, tmp_path / "out")
    data = exported(tmp_path / "out")[f"travel_01_{folder_speaker('a')}"]
    assert data["user_speech_end_rel"] == before[2].end_ticks / 24_000
    assert len(data["input_asr_chunks"]) == 9


def test_what_is_exported_comes_back_with_the_same_calls_and_times(run: SavedRun, held: Path, tmp_path: Path) -> None:
    rejected = Call(call_id="x", name="fly", arguments={}, status="rejected", at_ticks=100, reason="unknown tool fly")
    failed = Call(call_id="y", name="search_flights", arguments={"date": "x"}, status="failed", at_ticks=7, reason="no")
    changed_conversation(run, "travel_01", lambda c: replace(c, calls=(failed, rejected, *c.calls)))
    export_run(run, tmp_path / "out", suites=[held / "suites"])
    back = import_results(
        read_release(tmp_path / "out"), tmp_path / "back", provider="simulated", suite=held / "suites"
    )
    ours, theirs = conversations(run), conversations(back)
    assert list(ours) == list(theirs)
    for name, one in ours.items():
        other = theirs[name]
        for fact in ("name", "arguments", "status", "at_ticks", "finished_ticks", "answered_ticks", "result", "reason"):
            assert [getattr(c, fact) for c in other.calls] == [getattr(c, fact) for c in one.calls]
        assert other.utterances == one.utterances
        assert other.agent_speech == one.agent_speech
        assert other.duration_ticks == one.duration_ticks
        assert other.scenario_sha256 == one.scenario_sha256
    for before, after in zip(run.results, back.results, strict=True):
        if before.item_id != "travel_01":
            assert before.scorecard is not None
            assert after.scorecard is not None
            assert replace(after.scorecard, notes=()) == replace(before.scorecard, notes=())
            assert after.official is not None
            assert replace(after.official, inputs="derived") == before.official


def test_a_call_that_reached_no_tool_is_not_in_the_official_log(run: SavedRun, tmp_path: Path) -> None:
    rejected = Call(call_id="x", name="fly", arguments={}, status="rejected", at_ticks=100, arguments_text="{")
    cancelled = replace(rejected, status="cancelled")
    changed_conversation(run, "travel_01", lambda c: replace(c, calls=(rejected, cancelled, *c.calls)))
    export_run(run, tmp_path / "out")
    data = exported(tmp_path / "out")[f"travel_01_{folder_speaker('a')}"]
    assert [c["function"] for c in data["actual_tool_calls"]] == ["search_flights"]
    assert [(c["place"], c["function"]) for c in data["voicebench"]["rejected_calls"]] == [(0, "fly")]


def test_a_changed_scenario_makes_an_exported_result_stale(run: SavedRun, held: Path, tmp_path: Path) -> None:
    export_run(run, tmp_path / "out", suites=[held / "suites"])
    suites = Path(shutil.copytree(held / "suites", tmp_path / "suites"))
    path = suites / "travel.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("settle_s: 1.0", "settle_s: 2.0"), encoding="utf-8")
    back = import_results(read_release(tmp_path / "out"), tmp_path / "back", provider="simulated", suite=suites)
    assert {r.outcome for r in back.results} == {"error"}
    assert all("its scenario has changed since" in str(r.cause) for r in back.results)


def test_without_the_suite_folders_are_scored_by_their_own_labels_and_stay_synthetic(
    run: SavedRun, tmp_path: Path
) -> None:
    found = export_run(run, tmp_path / "out")
    assert len(found.remarks) == 3
    assert "expected calls are the scores' own" in found.remarks[0]
    back = import_results(read_release(tmp_path / "out"), tmp_path / "back", provider="simulated")
    assert [r.outcome for r in back.results] == ["passed"] * 3
    assert {r.facts.stimulus for r in back.results} == {"synthetic"}


def test_an_import_of_our_export_says_what_the_run_was_and_what_did_not_come_back(
    held: Path, run: SavedRun, tmp_path: Path
) -> None:
    def spoken(one: Conversation) -> Conversation:
        at = one.agent_speech[0] if one.agent_speech else None
        assert at is not None
        words = (Word(text="booked", start_ticks=at.start_ticks, end_ticks=at.end_ticks),)
        text = Transcribed(speaker="agent", text="booked", at_ticks=at.start_ticks, words=words, heard_text="booked")
        return replace(one, transcripts=(text,))

    for name in ("travel_01", "travel_02-a", "travel_02-b"):
        changed_conversation(run, name, spoken)
    facts = run.results[0].facts
    first = replace(run.results[0], facts=replace(facts, has_retraction=True))
    run = replace(run, results=(first, *run.results[1:]))
    export_run(run, tmp_path / "out")
    back = import_results(read_release(tmp_path / "out"), tmp_path / "back", provider="simulated")
    assert {r.facts.suite for r in back.results} == {facts.suite} != {"fdb3_official"}
    assert {r.agent.clock for r in back.results} == {"virtual"} == {r.agent.clock for r in run.results}
    assert {r.transcript_source for r in back.results} == {"provider"}
    assert back.plan.notices == (
        "values taken back (1): the layout cannot hold them; to score them give --suite, the suite they came from",
    )
    own = import_results(read_release(tmp_path / "out"), tmp_path / "o", provider="simulated", suite=held / "suites")
    assert own.plan.notices == ()


def test_words_and_issues_that_were_unknown_stay_so_through_a_round_trip(tmp_path: Path) -> None:
    wrong = [{"function": "track_order", "args": {"order_id": "Q77", "tool_lacks": "this"}}]
    result(add(tmp_path / "release", data=metadata("shop_01", text="")))
    result(add(tmp_path / "release", data=metadata("shop_02", text="", expected_tool_calls=wrong)))
    import_release(read_release(tmp_path / "release"), tmp_path / "suite")
    first = import_results(read_release(tmp_path / "release"), tmp_path / "1", provider=PROVIDER)
    export_run(first, tmp_path / "out")
    assert read_json_object(tmp_path / "out" / f"shop_01_{ANNA}" / "metadata.json")["dialogue"][0]["user"] == ""
    file = exported(tmp_path / "out")[f"shop_01_{ANNA}"]
    original = exported(tmp_path / "release")[f"shop_01_{ANNA}"]
    for key in ("input_transcript", "input_asr_chunks", "user_speech_end_rel", "transcript", "asr_chunks"):
        assert file[key] == original[key]
    second = import_results(read_release(tmp_path / "out"), tmp_path / "2", provider=PROVIDER)
    issues = [[r.facts.known_issue for r in run.results] for run in (first, second)]
    assert issues[0] == issues[1]
    assert issues[0][0] is None
    assert issues[0][1] is not None
    assert [r.facts.expect_sha256 for r in second.results] == [r.facts.expect_sha256 for r in first.results]
    assert [r.official for r in second.results] == [r.official for r in first.results]


def test_a_known_issue_comes_back_as_the_run_had_it_and_is_not_judged_anew(tmp_path: Path) -> None:
    for name in ("shop_01", "shop_02"):
        result(add(tmp_path / "release", data=metadata(name, text="Where is my order?")))
    first = import_results(read_release(tmp_path / "release"), tmp_path / "1", provider=PROVIDER)
    assert all(r.facts.known_issue for r in first.results)
    kept, cleared = first.results
    cleared = replace(cleared, facts=replace(cleared.facts, known_issue=None))
    export_run(replace(first, results=(kept, cleared)), tmp_path / "out")
    second = import_results(read_release(tmp_path / "out"), tmp_path / "2", provider=PROVIDER)
    assert [r.facts.known_issue for r in second.results] == [kept.facts.known_issue, None]


def test_a_round_trip_beside_its_suite_gives_the_same_scenario(tmp_path: Path) -> None:
    result(add(tmp_path / "release", data=metadata(text="")))
    import_release(read_release(tmp_path / "release"), tmp_path / "suite")
    release, suite = read_release(tmp_path / "release"), tmp_path / "suite"
    first = import_results(release, tmp_path / "1", provider=PROVIDER, suite=suite)
    export_run(first, tmp_path / "out", suites=[tmp_path / "suite"])
    second = import_results(read_release(tmp_path / "out"), tmp_path / "2", provider=PROVIDER)
    assert second.results[0].facts.scenario_sha256 == first.results[0].facts.scenario_sha256
    assert second.results[0].scorecard == first.results[0].scorecard


def test_items_that_were_not_measured_are_exported_as_such(tmp_path: Path, held: Path, run: SavedRun) -> None:
    rows = [replace(run.results[0], outcome="error", scorecard=None, folder=None, cause="no agent"), *run.results[1:]]
    lost = load_run(a_run(tmp_path / "lost", *rows))
    for row in run.results[1:]:
        shutil.copytree(run.folder / str(row.folder), lost.folder / str(row.folder))
    found = export_run(lost, tmp_path / "out", suites=[held / "suites"])
    assert found.items == 3
    assert [d["status"] for d in exported(tmp_path / "out").values()].count("inference_failed") == 1
    back = import_results(read_release(tmp_path / "out"), tmp_path / "back", provider="simulated")
    assert sorted(r.outcome for r in back.results) == ["error", "passed", "passed"]


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    run = load_run(
        a_run(tmp_path / "run", a_result("a"), a_result("b", "skipped", cause="later"), a_result("c", "error"))
    )
    found = export_run(run, tmp_path / "out")
    assert found.items == 1
    assert found.left_out == ["b: later", "c: what it expects is unknown; name its suite with --suite"]


def test_two_items_of_one_folder_are_not_written_over_each_other(tmp_path: Path) -> None:
    again = a_result("travel_01", facts=a_result("travel_01").facts)
    run = load_run(a_run(tmp_path / "run", a_result("travel_01"), replace(again, item_id="travel_01-2")))
    found = export_run(run, tmp_path / "out")
    assert found.items == 1
    assert found.left_out == ["travel_01-2: the layout has one result of local for a speaker's scenario"]


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_run(tmp_path / "run", a_result("a"), a_result("b", agent=replace(a_result("b").agent, name="other")))
    run = load_run(folder)
    with pytest.raises(ExportRefused, match="holds 2 agents"):
        export_run(run, tmp_path / "out", provider="x")
    assert main(["export", "fdb3-results", str(folder), "--provider", "a/b"]) == 2
    assert main(["export", "fdb3-results", str(tmp_path / "nowhere")]) == 2
    assert main(["export", "fdb3-results", str(folder), "--out", str(tmp_path)]) == 2
    assert main(["export", "fdb3-results", str(folder), "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 3
    assert captured.out.splitlines()[0] == f"2 of 2 items as result_local/other.json: {tmp_path / 'out'}"
    assert {p.name for p in tmp_path.iterdir()} == {"run", "out"}


@pytest.mark.parametrize(
    ("agent", "provider"), [("local", "local"), ("my agent: v2", "my_agent_v2"), ("../x", "x"), ("é", "agent")]
)
def test_an_agents_name_becomes_a_file_name(agent: str, provider: str) -> None:
    assert provider_name(agent) == provider


def test_speakers_of_the_release_keep_their_digits_and_others_get_some() -> None:
    assert folder_speaker("0123456789abcdef01234567") == "0123456789abcdef01234567"
    assert folder_speaker("a") == "ca978112ca1bbdcafac231b3"
    assert folder_speaker(None) == "e3b0c44298fc1c149afbf4c8"
