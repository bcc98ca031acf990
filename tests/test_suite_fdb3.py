"""The suite fdb3: its numbers are the benchmark's, its words are heard where it says, its voices can be told apart."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
import soundfile
import yaml

from pytest_voicebench.loading import load_suite
from pytest_voicebench.phrases import count_phrase, find_phrase, words_of
from pytest_voicebench.rehearsal import rehearse
from pytest_voicebench.scenario import Scenario, Suite, Timing
from pytest_voicebench.synthesis.markup import transcript
from pytest_voicebench.synthesis.script import Utterance, read_script
from pytest_voicebench.synthesis.splice import FILLERS

FOLDER = Path(__file__).parents[1] / "suites" / "fdb3"
FILES = ("travel", "finance", "housing", "ecommerce")
REFERENCE = re.compile(r"\$RESULT_(\d+)\.")


@pytest.fixture(scope="module")
def suites() -> list[Suite]:
    return [load_suite(FOLDER / f"{name}.yaml") for name in FILES]


@pytest.fixture(scope="module")
def items(suites: list[Suite]) -> list[Scenario]:
    return [scenario for suite in suites for scenario in suite.scenarios]


@pytest.fixture(scope="module")
def scenarios(items: list[Scenario]) -> list[Scenario]:
    """One item of each scenario."""
    return list({item.id: item for item in items}.values())


@pytest.fixture(scope="module")
def script() -> tuple[Utterance, ...]:
    return read_script(FOLDER / "speech_script.yaml")


def timing_of(item: Scenario) -> Timing:
    (step,) = item.steps
    assert step.timing is not None
    return step.timing


def pauses_s(item: Scenario) -> list[float]:
    return [b[0] - a[1] for a, b in itertools.pairwise(timing_of(item).speech)]


def longest_pause_s(item: Scenario) -> float:
    return round(max(pauses_s(item), default=0.0), 3)


def with_label(items: list[Scenario], label: str) -> list[Scenario]:
    return [item for item in items if label in item.disfluency]


# -- the benchmark's numbers


def test_there_are_79_scenarios_100_recordings_and_21_scenarios_with_two_speakers(items: list[Scenario]) -> None:
    spoken_by = Counter(item.id for item in items)
    assert (len(spoken_by), len(items)) == (79, 100)
    assert Counter(spoken_by.values()) == {1: 58, 2: 21}


def test_recordings_per_domain_and_difficulty_are_the_benchmarks(items: list[Scenario]) -> None:
    cells = Counter((item.domain, item.difficulty) for item in items)
    table = {
        domain: tuple(cells[domain, level] for level in ("easy", "medium", "hard"))
        for domain in ("ecommerce_support", "finance_billing", "housing_location", "travel_identity")
    }
    assert table == {
        "ecommerce_support": (9, 12, 8),
        "finance_billing": (11, 8, 6),
        "housing_location": (8, 10, 8),
        "travel_identity": (8, 4, 8),
    }
    assert sum(cells.values()) == 100


def test_recordings_per_disfluency_are_the_benchmarks(items: list[Scenario]) -> None:
    labels = Counter(label for item in items for label in item.disfluency)
    assert labels == {"filler": 29, "pause": 18, "hesitation": 10, "false_start": 12, "self_correction": 17}
    assert any(not item.disfluency for item in items)
    assert any(len(item.disfluency) > 1 for item in items)


def test_recordings_per_number_of_calls_are_the_benchmarks(items: list[Scenario]) -> None:
    assert Counter(len(item.expect.calls) for item in items) == {1: 66, 2: 18, 3: 16}
    assert all(len(item.expect.calls) == 1 for item in items if item.difficulty == "easy")


def test_ten_scenarios_use_one_tool_twice(scenarios: list[Scenario]) -> None:
    twice = [s.id for s in scenarios if max(Counter(c.tool for c in s.expect.calls).values()) > 1]
    assert len(twice) == 10


def test_the_tools_are_the_benchmarks_by_name_and_parameter(suites: list[Suite]) -> None:
    tools = {name: " ".join(tool.parameters) for name, tool in suites[0].info.tools.items()}
    assert tools == {
        "search_flights": "destination date",
        "book_flight": "passenger_name flight_id",
        "update_identity_doc": "doc_type doc_number",
        "get_card_benefits": "card_type",
        "get_exchange_rate": "amount from_currency to_currency",
        "modify_autopay": "bill_type source_account",
        "search_apartments": "city bedrooms max_price",
        "calculate_commute": "origin_address destination_address mode",
        "update_search_filter": "filter_name value",
        "track_order": "order_id",
        "search_products": "query max_price",
        "add_to_cart": "product_id quantity",
    }
    assert {name for name, tool in suites[0].info.tools.items() if tool.writes} == {
        "book_flight",
        "update_identity_doc",
        "modify_autopay",
        "update_search_filter",
        "add_to_cart",
    }


def test_every_tool_is_expected_somewhere(items: list[Scenario], suites: list[Suite]) -> None:
    assert {call.tool for item in items for call in item.expect.calls} == set(suites[0].info.tools)


def test_quick_is_a_fifth_of_the_suite_in_the_same_proportions(items: list[Scenario]) -> None:
    quick = [item for item in items if "quick" in item.tags]
    assert len(quick) == 20
    assert Counter(item.difficulty for item in quick) == {"easy": 7, "medium": 7, "hard": 6}
    assert Counter(item.domain for item in quick) == {
        "ecommerce_support": 6,
        "finance_billing": 5,
        "housing_location": 5,
        "travel_identity": 4,
    }
    assert {label for item in quick for label in item.disfluency} == {
        "filler",
        "pause",
        "hesitation",
        "false_start",
        "self_correction",
    }


def test_no_name_or_trait_but_the_label_selects_self_corrections(items: list[Scenario]) -> None:
    def words(item: Scenario) -> str:
        traits = item.speaker.traits.values() if item.speaker else ()
        return " ".join([item.item_id, str(item.domain), str(item.difficulty), *item.tags, *map(str, traits)])

    assert not any("self_correction" in words(item) for item in items)
    assert sum(item.difficulty == "hard" and item.domain == "housing_location" for item in items) == 8


def test_scenarios_that_reports_speak_of_are_there(scenarios: list[Scenario]) -> None:
    by_id = {s.id: s for s in scenarios}
    assert {"travel_19", "finance_18", "ecommerce_02", "housing_18"} <= set(by_id)
    assert by_id["travel_19"].expect.calls[0].args == {"destination": "Milan", "date": "2026-06-03"}
    assert [dict(r.args) for r in by_id["travel_19"].retracted] == [{"destination": "Rome"}, {"date": "2026-06-01"}]
    assert len(by_id["finance_18"].expect.calls) == 3
    assert by_id["finance_18"].disfluency == ()


def test_every_suite_says_that_its_voices_are_synthetic(suites: list[Suite]) -> None:
    assert {suite.info.stimulus for suite in suites} == {"synthetic"}
    assert {suite.info.today.isoformat() for suite in suites} == {"2026-04-06"}


# -- what is expected can be met


def test_references_resolve_when_the_expected_calls_are_made_on_the_mocks(suites: list[Suite]) -> None:
    assert [mistake for suite in suites for mistake in rehearse(suite)] == []


def test_references_are_used_in_every_domain_but_point_back_only(scenarios: list[Scenario]) -> None:
    domains = set()
    for s in scenarios:
        for index, call in enumerate(s.expect.calls):
            for value in call.args.values():
                if isinstance(value, str) and (match := REFERENCE.match(value)):
                    domains.add(s.domain)
                    assert int(match[1]) < index, s.id
    assert len(domains) == 4


def test_retracted_values_are_there_exactly_for_self_corrections_and_differ(items: list[Scenario]) -> None:
    assert {i.item_id for i in items if i.retracted} == {i.item_id for i in with_label(items, "self_correction")}
    assert sum(bool(item.retracted) for item in items) == 17
    for item in items:
        for retraction in item.retracted:
            finals = [call.args for call in item.expect.calls if call.tool == retraction.tool]
            assert finals, item.id
            for name, value in retraction.args.items():
                assert all(args.get(name) != value for args in finals), (item.id, name)


def test_the_phrase_that_ends_a_correction_is_heard_once_and_after_the_retracted_value(items: list[Scenario]) -> None:
    for item in items:
        heard = [word for word, _, _ in timing_of(item).words]
        for retraction in item.retracted:
            assert count_phrase(retraction.until, item.steps[0].text) == 1, item.item_id
            assert len(find_phrase(retraction.until, heard)) == 1, item.item_id


ALSO_SAID = {
    "drivers_license": "driver's license",
    "national_id": "national identity card",
    "residence_permit": "residence permit",
    "cash_back": "cash back",
    "credit_card": "credit card",
    "electricity": "electricity",
    "pets_allowed": "pets are allowed",
    "max_price": "maximum price",
    "min_bathrooms": "at least two bathrooms",
    "min_bedrooms": "minimum number of bedrooms",
    "cycling": "bicycle",
    "walking": "on foot",
    "driving": "driv",
    "transit": "public transit",
    "USD": "dollars",
    "EUR": "euros",
    "JPY": "Japanese yen",
    "CHF": "Swiss francs",
    "GBP": "British pounds",
    "CAD": "Canadian dollars",
    "MXN": "Mexican pesos",
    "AUD": "Australian dollars",
    "SGD": "Singapore dollars",
}


def test_every_expected_name_was_said(scenarios: list[Scenario]) -> None:
    for s in scenarios:
        said = s.stimulus_text.lower()
        for call in s.expect.calls:
            for name, value in call.args.items():
                if not isinstance(value, str) or value.startswith("$") or re.search(r"\d", value) or value == "yes":
                    continue
                assert ALSO_SAID.get(value, value).lower() in said, (s.id, name, value)


NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DIGITS = {word: str(digit) for digit, word in enumerate(NUMBERS)}
TENS = {"twenty": "2", "thirty": "3", "forty": "4", "fifty": "5", "sixty": "6", "seventy": "7", "eighty": "8"}


def spelled(text: str) -> str:
    """What remains when digits and letters said one by one are written together: "K seven seven two M" = K772M."""
    found, words = "", re.sub(r"[ABC-Z] as in [A-Z]?\s?\w+", lambda m: m[0][0], text).replace(",", " ").split()
    for index, word in enumerate(words):
        plain = word.strip(".?!").lower()
        after = words[index + 1].strip(",.?!").lower() if index + 1 < len(words) else ""
        if plain in TENS:
            found += TENS[plain] + ("" if after in DIGITS else "0")
        elif plain == "eighteen":
            found += "18"
        elif plain in DIGITS:
            found += DIGITS[plain]
        elif len(plain) == 1 and word[0].isupper() and plain not in "ai":
            found += plain.upper()
        else:
            found += " "
    return re.sub(" +", " ", found)


def test_every_expected_identifier_was_spelled_out(scenarios: list[Scenario]) -> None:
    checked = 0
    for s in scenarios:
        for call in s.expect.calls:
            for name in ("doc_number", "order_id", "product_id", "flight_id"):
                value = call.args.get(name, "$")
                if not value.startswith("$"):
                    assert value in spelled(s.stimulus_text), (s.id, value)
                    checked += 1
    assert checked >= 20


# -- the words


def test_no_two_scenarios_share_six_words_in_a_row(scenarios: list[Scenario]) -> None:
    runs: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for s in scenarios:
        words = words_of(s.stimulus_text)
        for at in range(len(words) - 5):
            runs[tuple(words[at : at + 6])].add(s.id)
    assert {run: ids for run, ids in runs.items() if len(ids) > 1} == {}


def test_no_three_first_words_occur_more_than_four_times(scenarios: list[Scenario]) -> None:
    openings = Counter(tuple(words_of(s.stimulus_text)[:3]) for s in scenarios)
    assert max(openings.values()) <= 4


def test_the_words_of_the_timing_files_are_the_words_of_the_text(items: list[Scenario]) -> None:
    for item in items:
        heard = [word for entry, _, _ in timing_of(item).words for word in words_of(entry)]
        assert heard == words_of(item.steps[0].text), item.item_id


def test_the_speech_script_says_what_the_scenarios_say(items: list[Scenario], script: tuple[Utterance, ...]) -> None:
    marked = {utterance.audio: utterance.text for utterance in script}
    assert len(marked) == 100
    for item in items:
        (step,) = item.steps
        assert step.audio is not None
        assert transcript(marked[step.audio.resolve()]) == step.text, item.item_id


def test_a_recording_has_the_label_filler_exactly_if_one_is_said(items: list[Scenario]) -> None:
    for item in items:
        assert ("filler" in item.disfluency) == bool(FILLERS & set(words_of(item.steps[0].text))), item.item_id


def test_hesitations_cut_a_word_or_begin_it_twice(items: list[Scenario]) -> None:
    for item in with_label(items, "hesitation"):
        text = item.steps[0].text
        assert re.search(r"\w-\s", text) or re.search(r"\b(\w+ \w+), \1\b", text), item.item_id


def test_a_recording_has_the_label_pause_exactly_if_a_sentence_holds_a_second_of_silence(
    items: list[Scenario], script: tuple[Utterance, ...]
) -> None:
    long_inside = re.compile(r"[^.?!\s]\s+\[([1-9]\d*(?:\.\d+)?)\]")
    labelled = {item.steps[0].audio.resolve(): "pause" in item.disfluency for item in items if item.steps[0].audio}
    for utterance in script:
        assert labelled[utterance.audio] == bool(long_inside.search(utterance.text)), utterance.audio.name


# -- the sound


def test_pauses_are_distributed_as_in_the_benchmark(items: list[Scenario]) -> None:
    longest = [longest_pause_s(item) for item in items]
    assert [sum(pause >= least for pause in longest) for least in (0.55, 1.0, 2.0)] == [72, 25, 5]
    assert max(longest) <= 3.5


def test_speech_lasts_6_to_26_seconds_and_15_in_the_middle(items: list[Scenario]) -> None:
    lengths = [timing_of(item).speech[-1][1] - timing_of(item).speech[0][0] for item in items]
    assert min(lengths) >= 6.0
    assert max(lengths) <= 26.0
    assert 13.0 <= float(np.median(lengths)) <= 16.5


def test_all_word_times_are_known_and_lie_in_the_speech(items: list[Scenario]) -> None:
    for item in items:
        timing = timing_of(item)
        assert timing.unsure == (), item.item_id
        assert timing.words[0][1] == pytest.approx(timing.speech[0][0], abs=0.15), item.item_id
        assert timing.words[-1][2] == pytest.approx(timing.speech[-1][1], abs=0.15), item.item_id


def test_recordings_are_as_loud_as_promised_and_silent_in_their_pauses(items: list[Scenario]) -> None:
    for item in items:
        samples, rate_hz = read(item)
        spoken = np.concatenate([cut(samples, rate_hz, *span) for span in timing_of(item).speech])
        assert -26.0 < dbfs(spoken) < -21.0, item.item_id
        for before, after in itertools.pairwise(timing_of(item).speech):
            if after[0] - before[1] >= 0.55:  # shorter ones may be the engine's own
                assert dbfs(cut(samples, rate_hz, before[1] + 0.1, after[0] - 0.1)) < -65.0, item.item_id


def test_the_audio_folder_is_under_12_megabytes_and_holds_nothing_else(items: list[Scenario]) -> None:
    files = list((FOLDER / "audio").iterdir())
    assert sum(file.stat().st_size for file in files) < 12_000_000
    names = {item.steps[0].audio.stem for item in items if item.steps[0].audio}
    assert {file.name for file in files} == {f"{name}{end}" for name in names for end in (".ogg", ".json")}


def test_any_two_speakers_differ_by_engine_voice_or_12_percent_in_median_pitch(items: list[Scenario]) -> None:
    voices: dict[str, str] = {}
    pitches: dict[str, list[float]] = defaultdict(list)
    for item in items:
        assert item.speaker is not None
        voices[item.speaker.id] = str(item.speaker.traits["voice"])
        if len(pitches[item.speaker.id]) < 3:
            pitches[item.speaker.id].append(median_pitch_hz(*read(item)))
    assert len(voices) == 12
    assert len(set(voices.values())) >= 4
    for one, other in itertools.combinations(sorted(voices), 2):
        if voices[one] == voices[other]:
            low, high = sorted(float(np.median(pitches[who])) for who in (one, other))
            assert high / low >= 1.12, (one, other, low, high)


def test_every_speaker_has_a_room_and_two_rooms_are_noisy(items: list[Scenario]) -> None:
    speakers = {item.speaker.id: item.speaker for item in items if item.speaker}
    tones = [speaker.tone for speaker in speakers.values() if speaker.tone]
    assert len(tones) == len({tone.seed for tone in tones}) == 12
    assert all(-70 <= tone.level_dbfs <= -45 for tone in tones)
    assert sum(tone.level_dbfs >= -50 for tone in tones) == 2
    assert all(timing_of(item).tone == item.speaker.tone for item in items if item.speaker)


def test_traits_name_the_voices_that_the_script_used(script: tuple[Utterance, ...]) -> None:
    traits = yaml.safe_load((FOLDER / "speakers.yaml").read_text(encoding="utf-8"))
    used = {utterance.speaker: utterance.voice for utterance in script}
    for speaker, voice in used.items():
        engine, _, name = traits[speaker]["voice"].partition("_")
        assert engine == voice.engine
        assert all(part in voice.name for part in name.split("_"))
        assert (traits[speaker]["microphone"] == "telephone") == (voice.band_hz is not None)


# -- measuring


def read(item: Scenario) -> tuple[np.ndarray, int]:
    samples, rate_hz = soundfile.read(str(item.steps[0].audio), dtype="float64")
    return samples, int(rate_hz)


def cut(samples: np.ndarray, rate_hz: int, start_s: float, end_s: float) -> np.ndarray:
    return samples[round(start_s * rate_hz) : round(end_s * rate_hz)]


def dbfs(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.maximum(np.mean(samples**2), 1e-12)))


def median_pitch_hz(samples: np.ndarray, rate_hz: int) -> float:
    """Median over voiced 40 ms frames of the lag with the highest autocorrelation, between 60 and 400 Hz."""
    size, step = rate_hz // 25, rate_hz // 50
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::step]
    frames = frames[np.sqrt((frames**2).mean(axis=1)) > 0.02]
    frames = frames - frames.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(frames, 2 * size, axis=1)) ** 2
    correlation = np.fft.irfft(power, axis=1)[:, :size]
    low, high = rate_hz // 400, rate_hz // 60
    lags = correlation[:, low:high].argmax(axis=1) + low
    best = np.take_along_axis(correlation, lags[:, None], axis=1)[:, 0] / correlation[:, 0]
    return float(np.median(rate_hz / lags[best > 0.5]))
