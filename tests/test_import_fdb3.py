"""The official release becomes a suite of ours that points at its recordings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from flite import needs_flite, say
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from release_folders import ANNA, BERT, ORDER, USER_END_S, add, metadata, request, write_wav
from voice import silence, spoken

from pytest_voicebench.__main__ import main
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.importers import release_suite
from pytest_voicebench.importers.labels import read_labels
from pytest_voicebench.importers.recording_timing import loud_part, read_voice, spoken_part
from pytest_voicebench.importers.release import ImportRefused, read_release
from pytest_voicebench.importers.release_suite import import_release, shipped_files
from pytest_voicebench.importers.suite_text import quoted
from pytest_voicebench.importers.wrong_labels import unsaid
from pytest_voicebench.loading import load_suite
from pytest_voicebench.loading.document import plain, read_document
from pytest_voicebench.loading.mistakes import Report
from pytest_voicebench.loading.tool_file import read_tools
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.tools import Toolset


def imported(root: Path, out: Path, **options: Any) -> dict[str, Scenario]:
    """The items of an imported release."""
    import_release(read_release(root), out, **options)
    found: dict[str, Scenario] = {}
    for path in sorted(out.glob("*.yaml")):
        if path.name not in ("tools.yaml", "speakers.yaml"):
            found |= {s.item_id: s for s in load_suite(path).scenarios}
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    ("kind", "channel", "rate"), [("48k", None, 48_000), ("stereo", "right", 48_000), ("16k", None, 16_000)]
)
def test_each_kind_of_recording_is_pointed_at_and_its_speech_is_found(
    tmp_path: Path, kind: str, channel: str | None, rate: int
) -> None:
    folder = add(tmp_path / "release", kind=kind)
    (item,) = imported(tmp_path / "release", tmp_path / "out").values()
    (step,) = item.steps
    assert isinstance(step.audio, Path)
    assert step.audio.samefile(folder / "input.wav")
    assert step.channel == channel
    assert step.timing is not None
    assert step.timing.rate_hz == rate
    assert step.timing.words == ()
    assert step.timing.speech[-1][1] == pytest.approx(USER_END_S, abs=0.05)
    assert item.suite.stimulus == "human"


def test_nothing_of_the_recordings_is_copied(tmp_path: Path) -> None:
    add(tmp_path / "release")
    imported(tmp_path / "release", tmp_path / "out")
    assert {Path(name).suffix for name in contents(tmp_path / "out")} == {".yaml", ".json", ".py", ".md"}


def test_two_speakers_of_a_scenario_are_two_items_of_it(tmp_path: Path) -> None:
    add(tmp_path, ANNA)
    add(tmp_path, BERT, kind="48k")
    items = imported(tmp_path, tmp_path / "out")
    assert list(items) == [f"shop_01-{ANNA}", f"shop_01-{BERT}"]
    assert {item.id for item in items.values()} == {"shop_01"}


def test_speakers_whose_labels_differ_keep_their_own(tmp_path: Path) -> None:
    add(tmp_path, ANNA)
    add(tmp_path, BERT, metadata(expected_tool_calls=[]))
    items = imported(tmp_path, tmp_path / "out")
    assert [(name, len(item.expect.calls)) for name, item in items.items()] == [("shop_01", 1), (f"shop_01_{BERT}", 0)]


def test_the_labels_arrive(tmp_path: Path) -> None:
    add(tmp_path, data=metadata(state_rollback_test=True, latency_profile="slow", difficulty="HARD"))
    (item,) = imported(tmp_path, tmp_path / "out").values()
    assert (item.domain, item.difficulty, item.disfluency, item.title) == (
        "ecommerce_support",
        "hard",
        ("filler",),
        "A late order",
    )
    assert (item.state_rollback, item.latency_profile, item.known_issue) == (True, "slow", None)
    assert item.stimulus_text == ORDER
    assert [(c.tool, c.args) for c in item.expect.calls] == [("track_order", {"order_id": "Q77"})]


def test_annotations_are_no_words() -> None:
    text = "So [pause] where <filler>um</filler> is it (sighs) *uh* now?"
    assert read_labels("a", metadata(text=text), []).said == "So where um is it now?"


def test_the_same_release_gives_the_same_bytes(tmp_path: Path) -> None:
    add(tmp_path / "release", ANNA)
    add(tmp_path / "release", BERT, kind="stereo")
    for name in ("a", "b"):
        import_release(read_release(tmp_path / "release"), tmp_path / name / "official")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_folder_that_is_there_is_refused_and_replaced_only_on_request_and_only_if_we_wrote_it(tmp_path: Path) -> None:
    add(tmp_path / "release")
    out = tmp_path / "out"
    release = read_release(tmp_path / "release")
    import_release(release, out)
    (out / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ImportRefused, match="exists already; give --force"):
        import_release(release, out)
    import_release(release, out, force=True)
    assert not (out / "mine.txt").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ImportRefused, match="not a folder that an import wrote"):
        import_release(release, other, force=True)
    assert contents(other) == {"mine.txt": b"x"}


def test_an_import_that_fails_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path / "release")
    out = tmp_path / "out"
    import_release(read_release(tmp_path / "release"), out)
    before = contents(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(release_suite, "write_timing", full)
    with pytest.raises(ImportRefused, match="No space left on device"):
        import_release(read_release(tmp_path / "release"), out, force=True)
    assert contents(tmp_path) == before


def test_what_is_not_understood_is_named_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "fdb_v3_data_released"
    add(root)
    add(root, data=metadata("shop_02"), kind=None)
    (root / "old backup").mkdir()
    write_wav(root / f"shop_03_{ANNA}" / "input.wav", request())
    add(root, data=metadata("shop_04"))
    (root / f"shop_04_{ANNA}").rename(root / f"shop_05_{ANNA}")
    add(root, data=metadata("shop_06"))
    (root / f"shop_06_{ANNA}" / "metadata.json").write_text("{", encoding="utf-8")
    (root / f"shop_07_{ANNA}").mkdir()
    (root / f"shop_07_{ANNA}" / "metadata.json").write_text(
        json.dumps(metadata("shop_07", expected_tool_calls="none")), encoding="utf-8"
    )
    benchmark = {"scenarios": [metadata("shop_01"), metadata("shop_08"), {"id": 7}]}
    (tmp_path / "benchmark_data_v2.json").write_text(json.dumps(benchmark), encoding="utf-8")
    assert main(["import", "fdb3", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.replace("\n    ", " ").splitlines()  # long ones are wrapped
    assert lines[0] == f"3 scenarios, 1 recording of 1 speaker: {tmp_path / 'out'}"
    assert lines[1] == "without a recording, skipped: 2: shop_02, shop_08"
    assert lines[2] == "not imported: 7"
    assert sorted(line.strip() for line in lines[3:10]) == [
        "benchmark_data_v2.json: scenario 2 has no usable id: 7",
        "old backup: not named <scenario>_<24 hex digits of the speaker>",
        f"shop_02_{ANNA}: no input.wav",
        f"shop_03_{ANNA}: metadata.json: no such file: a recording without its scenario",
        f'shop_05_{ANNA}: its metadata.json is of another scenario: "shop_04"',
        f"shop_06_{ANNA}: metadata.json: not JSON: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1): a recording without its scenario",
        "shop_07: expected_tool_calls is not a list",
    ]
    assert lines[-1] == f"run it: pytest {tmp_path / 'out'} --agent=..."


def test_a_folder_without_metadata_is_described_by_the_benchmark_file(tmp_path: Path) -> None:
    folder = add(tmp_path)
    (folder / "metadata.json").unlink()
    (tmp_path / "benchmark_data_v2.json").write_text(json.dumps({"scenarios": [metadata()]}), encoding="utf-8")
    assert list(imported(tmp_path, tmp_path / "out")) == ["shop_01"]


def test_a_silent_recording_is_named_and_its_scenario_skipped(tmp_path: Path) -> None:
    folder = add(tmp_path)
    add(tmp_path, data=metadata("shop_02"))
    write_wav(folder / "input.wav", silence(3.0))
    found = import_release(read_release(tmp_path), tmp_path / "out")
    assert found.left_out == [f"shop_01_{ANNA}/input.wav: no speech was detected in it"]
    skipped, _ = load_suite(tmp_path / "out" / "ecommerce_support.yaml").scenarios
    assert skipped.skip == "no recording"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.unlink(), f"shop_01_{ANNA}: no input.wav"),
        (lambda path: write_wav(path, silence(3.0)), f"shop_01_{ANNA}/input.wav: no speech was detected in it"),
    ],
)
def test_a_release_without_a_usable_recording_is_refused_and_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(add(tmp_path / "release") / "input.wav")
    assert main(["import", "fdb3", str(tmp_path / "release"), "--out", str(tmp_path / "new" / "suites" / "x")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"holds no recording that can be used, so nothing could run: {reason}")
    assert {p.name for p in tmp_path.iterdir()} == {"release"}


def test_long_lists_are_wrapped_to_100_columns_and_no_word_of_them_is_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"shop_{n:02}" for n in range(30)]
    add(tmp_path / "release", data=metadata("shop_99"))
    (tmp_path / "release" / "benchmark_data_v2.json").write_text(
        json.dumps({"scenarios": [metadata(n) for n in names]})
    )
    assert main(["import", "fdb3", str(tmp_path / "release"), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()[1:-1]
    assert max(map(len, lines)) <= 100
    assert " ".join(" ".join(lines).split()) == f"without a recording, skipped: 30: {', '.join(names)}"


def test_an_end_inside_a_frame_of_10_ms_is_the_end_of_that_frame() -> None:
    rng = np.random.default_rng(1)
    samples = rng.integers(-8, 9, size=16_000 * 3).astype(np.int16)
    for end, expected_s in ((32_000, 2.0), (32_001, 2.01)):  # one sample of the sound at 2.0 s: it is there, and counts
        sound = samples.copy()
        sound[8_000:end] = 6_000
        assert loud_part(Audio(samples=sound, rate_hz=16_000)) == ((0.5, expected_s),)


def _header_of_length_0(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = bytes(4)
    path.write_bytes(data)


def _half_a_sample_less(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _too_loud(path: Path) -> None:
    soundfile.write(path, request().astype(float) / 3_000, RATE_HZ, subtype="FLOAT")


def _very_quiet(path: Path) -> None:
    soundfile.write(path, request().astype(float) / 32768 / 200, RATE_HZ, subtype="FLOAT")


REMARKABLE: list[tuple[Callable[[Path], object], str]] = [  # N1, N4, N7, N11
    (_header_of_length_0, "the header says 0.000 s of sound"),
    (_half_a_sample_less, "are part of a sample and were dropped"),
    (_too_loud, "samples beyond full scale were clipped"),
    (_very_quiet, "very quiet"),
]


@pytest.mark.parametrize(("spoil", "remark"), REMARKABLE)
def test_a_recording_with_a_flaw_is_used_and_its_flaw_told(
    tmp_path: Path, spoil: Callable[[Path], object], remark: str
) -> None:
    folder = add(tmp_path)
    spoil(folder / "input.wav")
    found = import_release(read_release(tmp_path), tmp_path / "out")
    assert found.recordings == 1
    assert any(remark in line for line in found.remarks)
    (scenario,) = load_suite(tmp_path / "out" / "ecommerce_support.yaml").scenarios
    assert scenario.steps[0].timing is not None
    assert scenario.steps[0].timing.speech[-1][1] == pytest.approx(USER_END_S, abs=0.06)


UNUSABLE: list[tuple[Callable[[Path], object], str]] = [  # N5, N7
    (lambda path: path.write_bytes(b""), "no audio: the file is empty"),
    (lambda path: path.write_bytes(path.read_bytes()[:44]), "no audio: the file has a header and no samples"),
    (lambda path: soundfile.write(path, np.full(9_000, np.nan), RATE_HZ, subtype="FLOAT"), "are not numbers"),
    (lambda path: path.write_text("RIFF of nothing"), "not a sound file we can read"),
    (lambda path: soundfile.write(path, np.zeros((9_000, 3)), RATE_HZ), "has 3 channels"),
]


@pytest.mark.parametrize(("spoil", "reason"), UNUSABLE)
def test_a_recording_that_cannot_be_used_is_named(tmp_path: Path, spoil: Callable[[Path], object], reason: str) -> None:
    folder = add(tmp_path)
    add(tmp_path, data=metadata("shop_02"))
    spoil(folder / "input.wav")
    found = import_release(read_release(tmp_path), tmp_path / "out")
    assert found.recordings == 1
    assert len(found.left_out) == 1
    assert found.left_out[0].startswith(f"shop_01_{ANNA}/input.wav: ")
    assert reason in found.left_out[0]


def test_a_link_out_of_the_release_is_not_followed(tmp_path: Path) -> None:
    folder = add(tmp_path / "release")
    add(tmp_path / "release", data=metadata("shop_02"))
    (folder / "input.wav").rename(tmp_path / "elsewhere.wav")
    (folder / "input.wav").symlink_to(tmp_path / "elsewhere.wav")
    found = import_release(read_release(tmp_path / "release"), tmp_path / "out")
    assert found.left_out == [
        f"shop_01_{ANNA}/input.wav: a link that leads out of the release, where nothing is read; copy it"
    ]


@pytest.mark.parametrize(
    ("left", "right", "channel"),
    [(1.0, 1.0, "left"), (1.0, 0.1, "left"), (0.1, 1.0, "right"), (0.9, 0.7, "mix"), (0.9, -0.9, "left")],
)
def test_the_channel_with_the_voice_is_chosen(tmp_path: Path, left: float, right: float, channel: str) -> None:
    voice = spoken(1.0).astype(float)
    table = np.stack([voice * left, voice * right], axis=1).astype(np.int16)
    soundfile.write(tmp_path / "x.wav", table, RATE_HZ)
    audio, chosen, _ = read_voice(tmp_path / "x.wav")
    assert chosen == channel
    assert len(audio.samples) == len(voice)


def test_one_channel_word_serves_all_recordings_of_a_scenario(tmp_path: Path) -> None:
    add(tmp_path, ANNA, kind="stereo")
    add(tmp_path, BERT, kind="16k")
    items = imported(tmp_path, tmp_path / "out")
    assert {item.steps[0].channel for item in items.values()} == {"mix"}


KNOWN_ISSUES = [
    ("track_order", {"order_id": "Q77", "color": "red"}, 'calls[0].track_order: track_order has no argument "color"'),
    ("track_order", {}, 'calls[0].track_order: track_order needs the argument "order_id"'),
    ("teleport", {"to": "Oslo"}, 'calls[0]: there is no tool "teleport"'),
    ("track_order", {"order_id": "Z99"}, 'calls[0].track_order.order_id: nobody says "Z99"'),
    ("update_search_filter", {"filter_name": "max_price", "value": 900}, "expected text, got the number 900"),
]


@pytest.mark.parametrize(("tool", "args", "reason"), KNOWN_ISSUES)
def test_a_label_that_looks_wrong_is_a_known_issue_and_the_item_runs(
    tmp_path: Path, tool: str, args: dict[str, Any], reason: str
) -> None:
    add(tmp_path, data=metadata(expected_tool_calls=[{"function": tool, "args": args}]))
    (item,) = imported(tmp_path, tmp_path / "out").values()
    assert item.known_issue is not None
    assert reason in item.known_issue
    assert item.skip is None
    assert [(c.tool, c.args) for c in item.expect.calls] == [(tool, args)]


@pytest.mark.parametrize(
    ("path", "is_wrong"), [("products[0].product_id", False), ("products[0].color", True), ("products[9].price", True)]
)
def test_a_reference_must_resolve_in_our_mocks(tmp_path: Path, path: str, is_wrong: bool) -> None:
    calls = [
        {"function": "search_products", "args": {"query": "desk"}},
        {"function": "add_to_cart", "args": {"product_id": f"$RESULT_0.{path}", "quantity": 1}},
    ]
    add(tmp_path, data=metadata(text="Find a desk and take the first.", expected_tool_calls=calls))
    (item,) = imported(tmp_path, tmp_path / "out").values()
    assert (item.known_issue is not None) == is_wrong


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Toolset:
    """The tools of an imported suite."""
    folder = tmp_path_factory.mktemp("tools")
    for name, text in shipped_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    report = Report(folder / "tools.yaml")
    found = read_tools(folder / "tools.yaml", report)
    assert found is not None
    return found


SAID = [
    ("track_order", {"order_id": "Q77"}, "my order Q seven seven"),
    ("track_order", {"order_id": "Q77"}, "it is Q-77, please"),
    ("track_order", {"order_id": "Q77"}, "Q double seven"),
    ("track_order", {"order_id": "B0B"}, "that is B oh B"),
    ("track_order", {"order_id": "AC9"}, "A as in apple, C as in cat, nine"),
    ("add_to_cart", {"product_id": "P5", "quantity": 1}, "put P five into my cart"),
    ("add_to_cart", {"product_id": "P5", "quantity": 2}, "a couple of P five"),
    ("add_to_cart", {"product_id": "P5", "quantity": 3}, "three of P five"),
    ("add_to_cart", {"product_id": "$RESULT_0.products[0].product_id"}, "take the first"),
    (
        "search_apartments",
        {"city": "Oslo", "bedrooms": 2, "max_price": 1800},
        "two bedrooms in Oslo under eighteen hundred",
    ),
    ("search_apartments", {"city": "New York", "bedrooms": 0, "max_price": 950.0}, "a studio in York for 950"),
    ("get_exchange_rate", {"amount": 1500, "from_currency": "USD", "to_currency": "EUR"}, "$1,500 into euros"),
    ("search_flights", {"destination": "Lima", "date": "May 3"}, "to Lima tomorrow"),
    (
        "calculate_commute",
        {"origin_address": "my home", "destination_address": "12 Oak St", "mode": "driving"},
        "from home to Oak Street",
    ),
    ("track_order", {"order_id": "Z9"}, ""),
]
UNSAID = [
    ("track_order", {"order_id": "Q78"}, "my order Q seven seven", "order_id"),
    ("track_order", {"order_id": "Q777"}, "my order Q seven seven", "order_id"),
    ("add_to_cart", {"product_id": "P5", "quantity": 4}, "three of P five", "quantity"),
    (
        "search_apartments",
        {"city": "Bergen", "bedrooms": 2, "max_price": 1800},
        "two bedrooms in Oslo for 1800",
        "city",
    ),
    (
        "search_apartments",
        {"city": "Oslo", "bedrooms": 2, "max_price": 800},
        "two bedrooms in Oslo for 900",
        "max_price",
    ),
]


@pytest.mark.parametrize(("tool", "args", "text"), SAID)
def test_a_value_that_is_said_in_any_words_is_let_be(
    tools: Toolset, tool: str, args: dict[str, Any], text: str
) -> None:
    data = metadata(text=text, expected_tool_calls=[{"function": tool, "args": args}])
    assert unsaid(read_labels("a", data, []), tools) is None


@pytest.mark.parametrize(("tool", "args", "text", "name"), UNSAID)
def test_a_value_nobody_says_is_found(tools: Toolset, tool: str, args: dict[str, Any], text: str, name: str) -> None:
    data = metadata(text=text, expected_tool_calls=[{"function": tool, "args": args}])
    assert f".{name}: nobody says" in str(unsaid(read_labels("a", data, []), tools))


def test_our_mocks_answer_any_text_that_the_release_uses(tmp_path: Path) -> None:
    calls = [
        {"function": "get_card_benefits", "args": {"card_type": "diamond"}},
        {
            "function": "calculate_commute",
            "args": {"origin_address": "home", "destination_address": "work", "mode": "rowing"},
        },
    ]
    add(tmp_path, data=metadata(text="", expected_tool_calls=calls))
    (item,) = imported(tmp_path, tmp_path / "out").values()
    assert item.known_issue is None
    assert main(["validate", str(tmp_path / "out")]) == 0


@needs_flite
def test_with_alignment_speech_in_the_tail_does_not_move_the_end(tmp_path: Path) -> None:
    pytest.importorskip("pocketsphinx")
    text = "please find a small green lamp for my desk"
    request, rest = say(text), say("not now my friend")
    folder = add(tmp_path, data=metadata(text=text, expected_tool_calls=[]))
    write_wav(folder / "input.wav", np.concatenate([silence(0.5), request, silence(1.5), rest, silence(1.0)]))
    end_s = 0.5 + len(request) / RATE_HZ
    (detected,) = imported(tmp_path, tmp_path / "a").values()
    (aligned,) = imported(tmp_path, tmp_path / "b", with_words=True).values()
    first, second = detected.steps[0].timing, aligned.steps[0].timing
    assert first is not None
    assert second is not None
    assert first.speech[-1][1] > end_s + 1.5
    assert second.speech[-1][1] == pytest.approx(end_s, abs=0.05)
    assert [word for word, _, _ in second.words] == text.split()
    assert first.words == ()


@needs_flite
def test_words_that_cannot_be_aligned_are_a_remark_and_speech_is_detected(tmp_path: Path) -> None:
    pytest.importorskip("pocketsphinx")
    add(tmp_path, data=metadata(text="order 77 please", expected_tool_calls=[]))
    found = import_release(read_release(tmp_path), tmp_path / "out", with_words=True)
    assert any("words not aligned" in remark for remark in found.remarks)
    assert found.recordings == 1


def test_alignment_without_its_package_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path)
    monkeypatch.setattr(release_suite, "find_spec", lambda _: None)
    with pytest.raises(ImportRefused, match=r"pip install \"pytest-voicebench\[align\]\""):
        import_release(read_release(tmp_path), tmp_path / "out", with_words=True)


def test_the_spoken_part_is_bounded_by_the_words() -> None:
    words = (("a", 1.0, 1.4), ("b", 3.0, 3.5))
    assert spoken_part(((0.2, 0.3), (0.9, 1.5), (2.9, 3.6), (5.0, 6.0)), words) == ((1.0, 1.5), (2.9, 3.5))
    assert spoken_part(((7.0, 8.0),), words) == ((1.0, 3.5),)


def test_there_must_be_something_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "fdb3", str(tmp_path / "nowhere")]) == 2
    assert main(["import", "fdb3", str(tmp_path)]) == 2
    (tmp_path / f"shop_01_{ANNA}").mkdir()
    assert main(["import", "fdb3", str(tmp_path)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in errors[:2]] == [
        "no such folder; give the one that holds fdb_v3_data_released",
        "holds no folder named <scenario>_<24 hex digits>; give the one that holds fdb_v3_data_released",
    ]
    assert "holds no scenario that can be imported" in errors[2]
    assert len(errors) == 3


def test_an_imported_suite_runs_and_its_known_issues_are_left_out_on_request(tmp_path: Path) -> None:
    root = tmp_path / "release"
    add(root, data=metadata(latency_profile="slow"))
    add(root, data=metadata("shop_02", expected_tool_calls=[{"function": "track_order", "args": {"order_id": "Z9"}}]))
    import_release(read_release(root), tmp_path / "suites" / "official")
    command = [sys.executable, "-m", "pytest", "suites/official", "--agent=simulated", "-p", "no:cacheprovider"]
    both = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "2 passed" in both.stdout
    assert "known issues: 1 item, 1 passed" in both.stdout
    assert "Known issues, apart" in both.stdout
    assert "latency_profile slow (1) is not simulated: tools answer as tools.yaml says" in both.stdout
    one = subprocess.run(
        [*command, "--voicebench-skip-known-issues"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 passed, 1 skipped" in one.stdout
    assert "known issues: 1 item, left out" in one.stdout


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(metadata())), _json, max_size=6))
def test_whatever_the_metadata_holds_it_becomes_a_suite_or_a_line(tmp_path: Path, changes: dict[str, Any]) -> None:
    root, out = tmp_path / "release", tmp_path / "out"
    folder = root / f"shop_01_{ANNA}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata.json").write_text(json.dumps({**metadata(), **changes}), encoding="utf-8")
    if not (folder / "input.wav").exists():
        write_wav(folder / "input.wav", request())
    release = read_release(root)
    if not release.folders or read_labels("shop_01", release.folders[0].metadata or {}, []).unusable:
        with pytest.raises(ImportRefused, match="holds no scenario that can be imported"):
            import_release(release, out, force=True)
        return
    found = import_release(release, out, force=True)
    assert [e.labels.id for e in found.entries] == ["shop_01"]
    for path in out.glob("*.yaml"):
        if path.name not in ("tools.yaml", "speakers.yaml"):
            assert load_suite(path).scenarios


@given(st.text(max_size=30))
def test_text_comes_back_from_the_yaml_as_it_was(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.yaml")
        path.write_text(f"a: {quoted(text)}\n", encoding="utf-8")
        root = read_document(path, Report(path))
        assert root is not None
        assert plain(root) == {"a": text}
