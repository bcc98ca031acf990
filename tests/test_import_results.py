"""Results of the official scripts become a run of ours: nothing is believed that was not measured, nothing is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from release_folders import (
    ANNA,
    BERT,
    ORDER,
    PROVIDER,
    SESSION_S,
    USER_END_S,
    add,
    agent_voice,
    call,
    metadata,
    output,
    request,
    result,
)
from results import a_result, a_run
from shared_data import RECORDINGS, SHARED, needs_recordings
from voice import silence, spoken

from pytest_voicebench.__main__ import main
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.conversation_files import load_conversation, load_recording
from pytest_voicebench.importers.call_shapes import read_call
from pytest_voicebench.importers.release import ImportRefused, read_release
from pytest_voicebench.importers.release_suite import import_release
from pytest_voicebench.importers.result_run import import_results
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import find_run
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.writers.junit import JUNIT_NAME

ROWS = SHARED / "fdb3" / "real_run_half.jsonl"
MAKER = SHARED / "fdb3" / "make_folders.py"


def run_of(root: Path, **options: Any) -> SavedRun:
    """The run that the results in a folder make."""
    return import_results(read_release(root), root.parent / "run", provider=PROVIDER, **options)


def one(root: Path, **options: Any) -> tuple[Result, Conversation]:
    """The only item of a folder of results, and its conversation."""
    run = run_of(root, **options)
    (found,) = run.results
    assert found.folder is not None
    return found, load_conversation(run.folder / found.folder)


def error_of(root: Path, **options: Any) -> str:
    """The cause of the only item's error."""
    (found,) = run_of(root, **options).results
    assert (found.outcome, found.scorecard) == ("error", None)
    assert found.cause is not None
    return found.cause


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "release"


def test_a_recording_of_the_agent_gives_its_speech(root: Path) -> None:
    folder = add(root)
    result(folder)
    output(folder, agent_voice(5.2, 1.5))
    found, held = one(root)
    assert found.outcome == "passed"
    assert found.scorecard is not None
    assert held.agent_speech is not None
    assert [s.start_ticks / RATE_HZ for s in held.agent_speech] == [pytest.approx(5.2, abs=0.02)]
    assert found.scorecard.times.first_response_latency_s == pytest.approx(5.2 - USER_END_S, abs=0.06)
    assert found.scorecard.times.tool_call_latency_s == pytest.approx(4.0 - USER_END_S, abs=0.06)
    assert not held.truncated
    assert held.transcripts[0].source == "recognised"
    assert all(c.self_reported for c in held.calls)
    assert found.official is not None


def test_the_users_end_is_that_of_the_recording_and_not_the_recognisers(root: Path) -> None:
    result(add(root), user_speech_end_rel=1.0)
    _, held = one(root)
    assert held.turns[0].end_ticks / RATE_HZ == pytest.approx(USER_END_S, abs=0.05)
    assert held.reported is not None
    assert held.reported.user_end_s == 1.0


def test_both_voices_are_kept_on_one_clock(root: Path) -> None:
    folder = add(root)
    result(folder)
    voice = agent_voice(5.2, 1.0, SESSION_S + 1)
    output(folder, voice)
    found, _ = one(root)
    recording = load_recording(root.parent / "run" / str(found.folder))
    assert len(recording.user) == len(recording.agent) == len(voice)
    assert not recording.user[len(request()) :].any()
    assert recording.agent.tolist() == voice.tolist()


def test_without_a_recording_speech_is_where_the_words_are_and_that_is_said(root: Path) -> None:
    result(add(root))
    found, held = one(root)
    assert found.warnings == ("speech from word times",)
    assert held.agent_speech is not None
    assert [(s.start_ticks / RATE_HZ, s.end_ticks / RATE_HZ) for s in held.agent_speech] == [(5.0, 6.0)]
    assert not (root.parent / "run" / str(found.folder) / "audio.flac").exists()


def test_the_scenarios_hash_is_that_of_the_imported_suite(root: Path) -> None:
    result(add(root))
    import_release(read_release(root), root.parent / "suite")
    first, _ = one(root)
    again = import_results(read_release(root), root.parent / "b", provider=PROVIDER, suite=root.parent / "suite")
    assert first.facts.scenario_sha256 == again.results[0].facts.scenario_sha256
    assert first.scorecard == again.results[0].scorecard


def test_an_unknown_end_stays_unknown(root: Path) -> None:  # E3
    folder = add(root, kind=None)
    late = call(start_s=17.91)
    result(
        folder,
        input_transcript="track my order",
        input_asr_chunks=[],
        user_speech_end_rel=0,
        actual_tool_calls=[late],
        latency={},
    )
    run = run_of(root)
    (found,) = run.results
    held = load_conversation(run.folder / str(found.folder))
    assert held.utterances == ()
    assert found.scorecard is not None
    times = found.scorecard.times
    assert (times.first_response_latency_s, times.tool_call_latency_s, times.cause) == (None, None, "no_user_end")
    assert found.scorecard.f1_names == 1.0
    assert "when the user spoke is unknown: neither a timing file nor word times" in found.warnings
    scores = run.summary().agents[0].overall
    assert (scores.first_response_latency_s.n, scores.tool_call_latency_s.n) == (0, 0)
    assert scores.latency_causes == {"no_user_end": 1}


def test_silence_never_becomes_a_latency_and_its_words_are_dropped(root: Path) -> None:  # E4, G1
    folder = add(root)
    words = [{"text": "Thank", "timestamp": [45.8, 46.0]}, {"text": "you.", "timestamp": [46.0, 46.2]}]
    result(folder, transcript="Thank you.", asr_chunks=words, audio_agent_speech_start=45.84)
    output(folder, silence(SESSION_S + 12))
    found, held = one(root)
    assert held.agent_speech == ()
    assert held.transcripts == ()
    assert found.outcome == "failed"
    assert found.scorecard is not None
    assert not found.scorecard.manners.turn_taken
    assert found.scorecard.times.first_response_latency_s is None
    assert found.scorecard.times.cause == "no_reply"
    assert "2 of 2 words lie outside the agent's detected speech; dropped" in found.warnings
    assert held.reported is not None
    assert held.reported.agent_start_s == 45.84


def test_words_outside_the_speech_are_dropped_and_the_others_kept(root: Path) -> None:
    folder = add(root)
    words = [{"text": "on", "timestamp": [5.1, 5.4]}, {"text": "way", "timestamp": [5.5, 6.0]}]
    result(folder, transcript="on way hm", asr_chunks=[*words, {"text": "hm", "timestamp": [7.2, 7.3]}])
    output(folder, agent_voice(5.0, 1.2))
    found, held = one(root)
    assert held.transcripts[0].text == "on way"
    assert "1 of 3 words lie outside the agent's detected speech; dropped" in found.warnings


def test_the_first_call_is_the_earliest_and_calls_without_a_time_are_listed(root: Path) -> None:  # E9
    calls = [call(start_s=4.9, order_id="Q78"), call("search_products", start_s=None, query="lamp"), call(start_s=4.1)]
    result(add(root), actual_tool_calls=calls)
    found, held = one(root)
    assert found.scorecard is not None
    assert found.scorecard.times.tool_call_latency_s == pytest.approx(4.1 - USER_END_S, abs=0.06)
    assert "1 of 3 calls have no time: search_products" in found.warnings
    assert [c.timed for c in held.calls] == [True, False, True]


def test_calls_without_any_time_have_no_latency(root: Path) -> None:
    result(add(root), actual_tool_calls=[call(start_s=None)])
    found, _ = one(root)
    assert found.outcome == "passed"
    assert found.scorecard is not None
    assert found.scorecard.times.tool_call_latency_s is None
    assert found.scorecard.manners.preemptive is None


def test_a_short_recording_of_the_agent_alone_is_refused_as_unaligned(root: Path) -> None:  # E11
    folder = add(root)
    result(folder)
    output(folder, spoken(3.0))
    assert error_of(root).startswith(f"output_{PROVIDER}.wav: unaligned: it is 3.0 s long, the session 5.5 s")


def test_without_the_users_recording_its_words_say_how_long_the_session_was_at_least(root: Path) -> None:
    folder = add(root, kind=None)
    result(folder, latency={})
    output(folder, spoken(1.5))
    assert error_of(root).startswith(f"output_{PROVIDER}.wav: unaligned: it is 1.5 s long, the session 3.3 s")


def test_an_agent_that_speaks_from_the_first_sample_on_is_remarked_on(root: Path) -> None:
    folder = add(root)
    result(folder)
    output(folder, agent_voice(0.0, 1.0))
    found, _ = one(root)
    assert "the agent speaks from its recording's first sample on: is that the session's first?" in found.warnings


@pytest.mark.parametrize("lacking_s", [0.0, 0.05, 0.9])
def test_a_recording_that_lacks_a_little_of_the_session_is_filled_up(root: Path, lacking_s: float) -> None:
    folder = add(root)
    result(folder)
    output(folder, agent_voice(3.8, 0.6, SESSION_S - lacking_s))
    found, held = one(root)
    assert held.duration_ticks == round(SESSION_S * RATE_HZ)
    assert found.outcome == "passed"


@pytest.mark.parametrize("start_s", [-3.2, 1.8e9])
def test_a_call_on_another_clock_is_flagged(root: Path, start_s: float) -> None:  # E12
    result(add(root), actual_tool_calls=[call(start_s=start_s)])
    assert error_of(root).endswith("lies outside the conversation: another clock")


def test_a_reply_that_runs_into_the_end_is_truncated(root: Path) -> None:  # F1
    folder = add(root)
    result(folder)
    output(folder, agent_voice(4.5, 1.0, SESSION_S))
    found, held = one(root)
    assert held.truncated
    assert "the agent was speaking when its recording ended: possibly truncated" in found.warnings
    assert found.scorecard is not None
    assert "truncated" in found.scorecard.notes


def test_a_recording_of_both_needs_to_know_which_side_is_the_agents(root: Path) -> None:  # F5
    folder = add(root)
    result(folder)
    user, agent = np.concatenate([request(), silence(3)]), agent_voice(6.0, 1.0, SESSION_S + 3)
    soundfile.write(folder / f"output_{PROVIDER}.wav", np.stack([user, agent], axis=1), RATE_HZ)
    refused = import_results(read_release(root), root.parent / "a", provider=PROVIDER).results[0]
    assert refused.cause == (
        f"output_{PROVIDER}.wav: has two channels; say which is the agent's: --agent-channel left or right"
    )
    _, held = one(root, side="right")
    assert held.agent_speech is not None
    assert [s.start_ticks / RATE_HZ for s in held.agent_speech] == [pytest.approx(6.0, abs=0.02)]


SHAPES: list[Any] = [
    {"function": "track_order", "args": {"order_id": "Q77"}},
    {"name": "track_order", "arguments": {"order_id": "Q77"}},
    {"type": "function", "id": "c1", "function": {"name": "track_order", "arguments": '{"order_id": "Q77"}'}},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_in_a_known_shape_is_read(root: Path, shape: dict[str, Any]) -> None:  # L4
    result(add(root), actual_tool_calls=[{**shape, "timestamp_start": 4.0, "timestamp_end": 4.1}])
    found, held = one(root)
    assert [(c.name, c.arguments) for c in held.calls] == [("track_order", {"order_id": "Q77"})]
    assert found.outcome == "passed"


@pytest.mark.parametrize("shape", [7, "track_order", {}, {"tool": "track_order"}, {"function": {"function": {}}}, None])
def test_a_call_in_another_shape_is_an_error_and_not_a_call_less(root: Path, shape: Any) -> None:
    assert read_call(shape) is None
    result(add(root), actual_tool_calls=[shape])
    assert "a call of a shape that is not known" in error_of(root)


def test_calls_have_the_status_that_our_tools_would_give_them(root: Path) -> None:
    broken = {**call(), "args": '{"order_id": "Q'}
    calls = [call("teleport", to="Oslo"), call("track_order", wings=2), broken, call()]
    result(add(root), actual_tool_calls=calls)
    _, held = one(root)
    assert [c.status for c in held.calls] == ["rejected", "failed", "rejected", "executed"]
    assert held.calls[2].arguments_text == '{"order_id": "Q'


@pytest.mark.parametrize("status", ["inference_failed", "inference_error", "no_output", None, 7])
def test_a_status_other_than_completed_is_an_error_and_no_score(root: Path, status: Any) -> None:  # L7
    result(add(root), status=status)
    assert "the conversation was not held to its end" in error_of(root)


def test_a_completed_result_without_a_call_log_is_an_error(root: Path) -> None:
    result(add(root), actual_tool_calls=None)
    assert error_of(root) == "it has no actual_tool_calls"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"status": NaN}', "[" * 5000, "\xff"])
def test_a_broken_file_is_an_error(root: Path, text: str) -> None:
    folder = add(root)
    (folder / f"result_{PROVIDER}.json").write_bytes(text.encode("latin-1"))
    assert error_of(root).startswith("broken: ")


@pytest.mark.parametrize("change", [{"example_id": "shop_99"}, {"example_id": None}, {"provider": "x"}, {"pid": BERT}])
def test_a_result_of_something_else_is_stale(root: Path, change: dict[str, Any]) -> None:
    result(add(root), **change)
    assert error_of(root).startswith(f"stale: shop_01_{ANNA}/result_{PROVIDER}.json: its ")


def test_a_missing_file_is_an_error_and_the_denominator_stays(root: Path) -> None:
    add(root, ANNA)
    result(add(root, BERT))
    run = run_of(root)
    assert [(r.item_id, r.outcome, r.cause) for r in run.results] == [
        (f"shop_01-{ANNA}", "error", f"missing: shop_01_{ANNA}/result_{PROVIDER}.json"),
        (f"shop_01-{BERT}", "passed", None),
    ]
    assert run.summary().counts.planned == 2


def test_two_results_of_one_item_are_an_error_naming_both(root: Path) -> None:  # C8
    folder = add(root)
    result(folder)
    (root / "old" / folder.name).mkdir(parents=True)
    result(root / "old" / folder.name)
    assert error_of(root) == f"two results of one item: old/{folder.name} and {folder.name}"


def test_a_folder_of_a_scenario_that_the_suite_lacks_counts_as_an_error(root: Path) -> None:
    result(add(root))
    import_release(read_release(root), root.parent / "suite")
    result(add(root, data=metadata("shop_02")))
    run = run_of(root, suite=root.parent / "suite")
    assert [(r.item_id, r.outcome) for r in run.results] == [("shop_01", "passed"), (f"shop_02_{ANNA}", "error")]


def test_a_scenario_of_the_suite_without_a_folder_counts_as_an_error(root: Path) -> None:
    add(root)
    add(root, data=metadata("shop_02"))
    import_release(read_release(root), root.parent / "suite")
    results = root.parent / "results"
    result(add(results, kind=None))
    run = import_results(read_release(results), root.parent / "run", provider=PROVIDER, suite=root.parent / "suite")
    assert [(r.item_id, r.outcome, r.cause) for r in run.results] == [
        ("shop_01", "passed", None),
        ("shop_02", "error", f"missing: no folder shop_02_{ANNA}"),
    ]
    assert run.summary().counts.planned == 2


def test_scenarios_nobody_has_spoken_are_skipped(root: Path) -> None:
    result(add(root))
    (root / "benchmark_data_v2.json").write_text(json.dumps({"scenarios": [metadata("shop_09")]}), encoding="utf-8")
    run = run_of(root)
    assert [(r.item_id, r.outcome, r.cause) for r in run.results] == [
        ("shop_01", "passed", None),
        ("shop_09", "skipped", "no recording"),
    ]


def test_a_run_folder_is_whole_and_written_once(root: Path) -> None:
    result(add(root))
    run = run_of(root)
    assert {p.name for p in run.folder.iterdir()} == {
        *("plan.json", "results.jsonl", "items", "summary.json", "summary.md", JUNIT_NAME, "manifest.json"),
    }
    assert load_run(run.folder).results == run.results
    assert run.header["run"] == "run"
    with pytest.raises(ImportRefused, match="exists already"):
        run_of(root)
    assert {p.name for p in root.parent.iterdir()} == {"release", "run"}


def test_importing_twice_gives_the_same_bytes(root: Path) -> None:
    folder = add(root)
    result(folder)
    output(folder, agent_voice(5.2, 1.0))
    found = [
        import_results(read_release(root), root.parent / name / "run", provider=PROVIDER).folder for name in ("a", "b")
    ]
    contents = [
        {p.relative_to(f).as_posix(): p.read_bytes() for p in sorted(f.rglob("*")) if p.is_file()} for f in found
    ]
    assert contents[0] == contents[1]


def test_the_terminal_names_what_was_wrong(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root.parent if root.parent.is_dir() else root)
    add(root, ANNA)
    result(add(root, BERT))
    (root / "notes").mkdir()
    assert main(["import", "fdb3-results", str(root), "--provider", PROVIDER]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        f"1 of 2 items scored: reports/{PROVIDER}-imported",
        "errors: 1",
        f"  shop_01-{ANNA}: missing: shop_01_{ANNA}/result_{PROVIDER}.json",
        "not imported: 1",
        "  notes: not named <scenario>_<24 hex digits of the speaker>",
        "warnings: 1",
        f"  shop_01-{BERT}: speech from word times",
    ]
    assert lines[-2:] == [
        "official: Pass 0.500 1/2, F1 1.000 (n=1), argument accuracy 1.000 (n=1), response latency s 1.700 (n=1)",
        f"official tables: python -m pytest_voicebench report {PROVIDER}-imported --scores official",
    ]
    assert "imported, held by others" in Path(f"reports/{PROVIDER}-imported/report.html").read_text()
    assert main(["report", "latest", "--scores", "official"]) == 0
    assert main(["import", "fdb3-results", str(root), "--provider", "../x"]) == 2
    assert main(["import", "fdb3-results", str(root), "--provider", PROVIDER]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "import: --provider '../x': letters, digits, _, - and . only, as in result_NAME.json",
        f"import: reports/{PROVIDER}-imported: exists already; give --force to replace it, "
        "or another folder with --out",
    ]


def test_an_import_is_replaced_on_request_and_a_run_that_no_import_wrote_never(root: Path) -> None:
    path = result(add(root))
    run = run_of(root)
    (run.folder / "note.txt").write_text("x", encoding="utf-8")
    path.write_text("{", encoding="utf-8")
    again = run_of(root, force=True)
    assert [r.outcome for r in again.results] == ["error"]
    assert not (run.folder / "note.txt").exists()
    other = a_run(root.parent / "other", a_result("a"))
    with pytest.raises(ImportRefused, match="not a run that an import wrote"):
        import_results(read_release(root), other, provider=PROVIDER, force=True)
    assert load_run(other).results


def test_an_import_is_the_latest_run_only_where_runs_are(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result(add(root))
    reports, elsewhere = root.parent / "reports", root.parent / "elsewhere"
    argv = ["import", "fdb3-results", str(root), "--provider", PROVIDER, "--reports", str(reports)]
    assert main([*argv, "--out", str(elsewhere / "x")]) == 0
    assert not (elsewhere / "latest").exists()
    assert main(argv) == 0
    assert find_run("latest", reports) == reports / f"{PROVIDER}-imported"
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(f"report {reports / f'{PROVIDER}-imported'} --scores official")


@pytest.mark.parametrize(
    ("others", "there"),
    [(("b", "a.1"), "there is: a.1, b"), ((), "there is no result file at all")],
)
def test_a_provider_that_no_folder_knows_is_refused_and_leaves_no_folder(
    root: Path, capsys: pytest.CaptureFixture[str], others: tuple[str, ...], there: str
) -> None:
    folder = add(root)
    for name in others:
        (folder / f"result_{name}.json").write_text("{}", encoding="utf-8")
    out = root.parent / "reports" / "run"
    assert main(["import", "fdb3-results", str(root), "--provider", "gpt", "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"import: no result_gpt.json in any folder of {root}; {there}\n"
    assert {p.name for p in root.parent.iterdir()} == {"release"}


@needs_recordings
def test_real_recordings_and_a_real_agent_are_heard_where_a_person_hears_them(root: Path) -> None:
    heard = {"ecommerce_02": (12.30, [18.12]), "housing_18": (16.87, [28.91]), "travel_10": (16.88, [15.10, 21.57])}
    for name in heard:
        folder = add(root, data=metadata(name, text="", expected_tool_calls=[]), kind=None)
        shutil.copyfile(RECORDINGS / name / "input.wav", folder / "input.wav")
        shutil.copyfile(RECORDINGS / name / "merged_nova_sonic.wav", folder / f"output_{PROVIDER}.wav")
        result(folder, asr_chunks=[], transcript="", actual_tool_calls=[], user_speech_end_rel=0)
    run = run_of(root, side="right")
    for found in run.results:
        held = load_conversation(run.folder / str(found.folder))
        end_s, onsets_s = heard[found.item_id]
        assert held.turns[0].end_ticks / RATE_HZ == pytest.approx(end_s, abs=0.15)
        assert held.agent_speech is not None
        starts = [s.start_ticks / RATE_HZ for s in held.agent_speech]
        assert all(any(abs(start - onset) <= 0.1 for start in starts) for onset in onsets_s)
        assert starts[0] == pytest.approx(onsets_s[0], abs=0.1)
    assert [r.scorecard.manners.interrupted for r in run.results if r.scorecard] == [False, False, True]


@pytest.mark.skipif(not ROWS.is_file(), reason=f"no real run in {SHARED}")
def test_the_real_run_is_imported_whole(tmp_path: Path) -> None:
    folders = tmp_path / "folders"
    subprocess.run([sys.executable, str(MAKER), str(ROWS), str(folders)], check=True, capture_output=True)
    run = import_results(read_release(folders), tmp_path / "run", provider="gemini2_5")
    rows = {row["id"]: row for row in map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())}
    assert len(run.results) == len(rows) == 50
    for found in run.results:
        row = rows[found.facts.scenario_id]
        held = load_conversation(run.folder / str(found.folder))
        assert held.reported is not None
        assert (held.reported.user_end_s, held.reported.agent_start_s) == (row["speech_end"], row["agent_start"])
        assert len(held.calls) == row["n_actual"]
        assert held.turns[0].end_ticks / RATE_HZ == pytest.approx(row["speech_end"], abs=0.06)
        assert found.outcome in ("passed", "failed")
        assert found.official is not None
        assert found.official.argument_accuracy == row["arg_acc"]
    assert sum(r.official.passed for r in run.results if r.official) == 26


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_number = st.floats(allow_nan=False) | st.integers() | st.none() | st.just("1.5")
_chunk = st.fixed_dictionaries({"text": st.text(max_size=5), "timestamp": st.lists(_number, max_size=3)})
_call = st.fixed_dictionaries(
    {
        "function": st.sampled_from(["track_order", "x"]),
        "args": _json,
        "timestamp_start": _number,
        "timestamp_end": _number,
    },
    optional={"voicebench": st.fixed_dictionaries({"status": _json, "answered_s": _number, "result": _json})},
)
_changes = st.fixed_dictionaries(
    {},
    optional={
        "asr_chunks": st.lists(_chunk, max_size=3) | _json,
        "input_asr_chunks": st.lists(_chunk, max_size=3) | _json,
        "actual_tool_calls": st.lists(_call, max_size=3) | _json,
        "latency": st.fixed_dictionaries({"input_duration_s": _number, "output_duration_s": _number}) | _json,
        "user_speech_end_rel": _number,
        "audio_agent_speech_start": _number,
        "transcript": _json,
        "voicebench": _json | st.fixed_dictionaries({"rejected_calls": st.lists(_call, max_size=2)}),
    },
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of one folder, imported."""
    home = tmp_path_factory.mktemp("imported")
    add(home / "release")
    import_release(read_release(home / "release"), home / "suite")
    return home


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=_changes)
def test_whatever_a_result_file_holds_there_is_one_result(suite: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    result(suite / "release" / f"shop_01_{ANNA}", **changes)
    out = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
    run = import_results(read_release(suite / "release"), out, provider=PROVIDER, suite=suite / "suite")
    (found,) = run.results
    assert found.outcome in ("passed", "failed", "error")
    assert found.outcome != "error" or found.cause


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200))
def test_whatever_bytes_a_file_or_a_recording_holds_there_is_one_result(
    suite: Path, tmp_path: Path, data: bytes
) -> None:
    folder = suite / "release" / f"shop_01_{ANNA}"
    for name in (f"result_{PROVIDER}.json", f"output_{PROVIDER}.wav"):
        result(folder)
        (folder / name).write_bytes(data)
        out = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        run = import_results(read_release(suite / "release"), out, provider=PROVIDER, suite=suite / "suite")
        (folder / name).unlink()
        assert run.results[0].outcome == "error"


def test_where_the_users_words_are_unknown_no_value_is_called_invented(root: Path) -> None:
    result(add(root, data=metadata(text="")), actual_tool_calls=[call(order_id="Z1")])
    found, _ = one(root)
    assert found.scorecard is not None
    assert found.scorecard.wrong_causes == {"other": 1}


def test_the_users_words_are_only_evidence_where_nothing_better_is_known(root: Path) -> None:
    result(add(root, kind=None), latency={"input_duration_s": 9.0})
    found, held = one(root)
    assert [(u.start_ticks / RATE_HZ, u.end_ticks / RATE_HZ) for u in held.utterances] == [(0.6, 3.3)]
    assert "when the user spoke is known from a recogniser's words only" in found.warnings
    assert held.utterances[0].text == ORDER
