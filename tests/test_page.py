"""report.html without a browser: what it says, that nothing of it is taken for markup, and what is missing is named."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import BASELINE, HOSTILE, a_talk, an_item, hostile_run, two_agents
from results import AGENT, a_result, a_run
from summaries import a_mute_agent, a_summary, an_agent

from pytest_voicebench.codec import to_json
from pytest_voicebench.commands import report
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.decisions import BaselineComparison, GateResult
from pytest_voicebench.page.data import Item
from pytest_voicebench.page.items import linked, page_items
from pytest_voicebench.page.markup import el, json_text
from pytest_voicebench.page.packing import packed, shapes
from pytest_voicebench.page.plots import Scale
from pytest_voicebench.page.waveform import LETTERS, POINTS, outline
from pytest_voicebench.page.write import PAGE_NAME, page_html, write_page, write_page_with_sound
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.summary import Counts

GATES = (
    GateResult(expression="pass_at_1 >= 0.55", agent="local", holds=True, found="0.600", source="--voicebench-gate"),
    GateResult(
        expression="must_pass(travel_19)",
        agent="local",
        holds=False,
        found="failed",
        source="ini",
        items=("travel_19",),
    ),
    GateResult(expression="f1 >= 0.9", agent="local", holds=None, found="n/a", source="ini", why="nothing measured"),
)


def html_of(run_folder: Path, **changes: object) -> str:
    run = load_run(run_folder)
    return page_html(run, replace(run.summary(), **changes), linked)


def items_of(run_folder: Path) -> list[Item]:
    run = load_run(run_folder)
    return list(page_items(run, run.summary(), linked))


def text_of(html: str) -> str:
    """What a reader sees of the page's own HTML, on one line."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


# Outlines


@pytest.mark.parametrize(
    ("samples", "letters"),
    [
        ([], ""),
        ([0], "A"),
        ([32767], "_"),
        ([-32768], "_"),
        ([8192, -8192], "gg"),  # the root of a quarter of full scale is one half: 31.5, to even
        ([0, 0, 0, -32768], "AAA_"),
    ],
)
def test_an_outline_is_the_root_of_each_peak(samples, letters):
    assert outline(np.array(samples, np.int16)) == letters


@given(st.integers(1, 5000), st.integers(-32768, 32767))
def test_an_outline_has_at_most_200_points_and_keeps_the_loudest_sample(length, peak):
    samples = np.zeros(length, np.int16)
    samples[-1] = peak
    found = outline(samples)
    assert 1 <= len(found) <= POINTS
    assert max(map(LETTERS.index, found)) == LETTERS.index(outline(np.array([peak], np.int16)))


# Markup


@given(st.text())
def test_no_text_becomes_markup(text):
    found = el("td", text, title=text)
    assert re.fullmatch(r'<td title="[^"<>]*">[^<>]*</td>', found)


@given(st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner), max_leaves=8))
def test_data_cannot_end_the_script_that_holds_it_and_are_read_back_whole(value):
    text = json_text(value)
    assert not set(text) & set("<>&\n")
    assert json.loads(text) == value


def test_what_was_marked_up_is_not_marked_up_twice():
    assert el("p", el("b", "a<b"), " & ", ["c", None, 3]) == "<p><b>a&lt;b</b> &amp; c3</p>"


# Packing


def unpacked(shape: str, values: list, known: dict) -> dict:
    """As the page's script reads it."""
    found = {}
    for n, (name, kind, empty) in enumerate(known[shape]):
        value = values[n] if n < len(values) and values[n] is not None else empty
        if kind is not None and value is not None:
            value = (
                [unpacked(kind, v, known) for v in value] if isinstance(empty, list) else unpacked(kind, value, known)
            )
        found[name] = value
    return found


def test_an_item_is_read_back_from_its_small_form(tmp_path):
    for item in items_of(two_agents(tmp_path / "run")):
        assert unpacked("Item", packed(item), shapes(Item)) == to_json(item)


# What the page says


def test_the_header_says_what_was_measured_and_hides_secrets(tmp_path):
    text = text_of(html_of(hostile_run(tmp_path / "run")))
    assert "Judge off (exact match)" in text
    assert "Mode live" in text
    assert "synthetic - not comparable with published figures" in text
    assert "1 of 3 items planned 3 = 0 passed + 1 failed + 1 error (1 infrastructure) + 1 skipped + 0 not run" in text
    assert "2 workers" in text
    assert "api_key=***" in text
    assert "s3cret" not in html_of(tmp_path / "run")


def test_a_summary_with_suites_versions_and_rules_shows_them(tmp_path):
    header = {
        "suites": {"fdb3": "5f70"},
        "versions": {"python": "3.11.9"},
        "rules": {"tolerance": "none", "pass": "all"},
    }
    text = text_of(html_of(two_agents(tmp_path / "run"), header=header))
    assert "fdb3, sha256 5f70" in text
    assert "python 3.11.9" in text
    assert "Tolerance none; numbers given as text are read and noted" in text


@pytest.mark.parametrize(
    ("header", "mode"),
    [
        ({}, "Mode live Suite"),
        (
            {"rescored_from": "old", "held_at": "noon", "scored_now": "voicebench 1"},
            "Mode rescored: conversations of old",
        ),
        ({"imported": "result_x.json of release"}, "Mode imported, held by others: result_x.json of release"),
        ({"merged": "2 of 3 items from B laid over A"}, "Mode live, merged: 2 of 3 items from B laid over A"),
    ],
)
def test_the_mode_is_named(tmp_path, header, mode):
    assert mode in text_of(html_of(two_agents(tmp_path / "run"), header=header))


def test_gates_and_baseline_come_first(tmp_path):
    html = html_of(two_agents(tmp_path / "run"), gates=GATES, baseline=BASELINE)
    text = text_of(html)
    assert text.index("1 of 3 gates fails") < text.index("What was measured Run")
    assert "regressed against last_week" in text
    assert "fails must_pass(travel_19) local failed travel_19 ini" in text
    assert "cannot tell f1 &gt;= 0.9 local n/a nothing measured ini" in text
    assert "pass_at_1 ✗ regressed 0.700 0.600 -0.100 -0.180 to -0.020 &lt;0.001 0.001 0.110 95 first" in text
    assert "first_response_latency_s.mean ? inconclusive 0.80 s 0.90 s +0.100 n/a n/a n/a 60" in text
    assert 'newly failed: <a href="#item=travel_19">travel_19</a>' in html
    assert "the baseline ran on another machine" in text


def test_a_figure_of_pairs_alone_says_so_beside_that_of_the_whole_run(tmp_path):
    folder = two_agents(tmp_path / "run")
    text = text_of(html_of(folder, baseline=replace(BASELINE, unmeasured=("travel_09",))))
    assert "regressed against last_week pass_at_1 0.700 → 0.600 in 95 pairs" in text
    assert "0/4 of the whole run, 95 % interval" in text
    assert "not measured in both runs: 1 (travel_09)" in text
    assert "of the whole run" not in text_of(html_of(folder))


ALL_MEASURED = Counts(planned=9, passed=8, failed=1, error=0, skipped=0, not_run=0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gates": GATES[:1]}, "failed, though all gates hold (1): "),
        ({"gates": GATES[:1], "counts": ALL_MEASURED}, "passed: all gates hold (1)"),
        ({"gates": (GATES[0], GATES[2]), "counts": ALL_MEASURED}, "inconclusive: 1 of 2 gates cannot be told"),
        (
            {"baseline": BaselineComparison(run="b", compared=0, refused="other suites")},
            "not compared with b: other suites",
        ),
        ({}, "No gate was set. No baseline was given."),
    ],
)
def test_the_verdict_is_a_sentence(tmp_path, changes, sentence):
    assert sentence in text_of(html_of(two_agents(tmp_path / "run"), **changes))


def test_the_benchmarks_tables_stand_with_their_intervals(tmp_path):
    text = text_of(html_of(two_agents(tmp_path / "run"), agents=(an_agent(), an_agent("other", shift=8)), header={}))
    for title in ("Table 2. Overall", "Table 3. By difficulty", "Table 6. Seconds", "Silence:", "Behaviour:"):
        assert title in text
    assert "Pass@1 0.600 0.50-0.69 57/95 0.684 0.59-0.77 65/95 +0.08" in text


def test_a_run_in_which_nothing_was_scored_has_a_page(tmp_path):
    text = text_of(html_of(a_run(tmp_path / "run", a_result("one", "error", cause="no network"))))
    assert "Nothing was scored" in text
    assert "infrastructure: no network" in text


def test_where_nobody_spoke_figures_are_not_available_and_the_page_comes(tmp_path):
    text = text_of(html_of(two_agents(tmp_path / "run"), agents=(a_mute_agent(),)))
    assert "interruption / turns taken n/a (n=0)" in text


def test_characters_that_nobody_sees_are_shown(tmp_path):
    folder = tmp_path / "run"
    result = an_item(folder, "travel_01", a_talk(text="\x00 ]]> \u202e\x1b[31m"))
    html = html_of(a_run(folder, result))
    assert "\\\\x00 ]]\\u003e \\\\u202e\\\\x1b[31m" in html
    assert not set(html) & set("\x00\x1b\u202e")


def test_agents_of_many_figures_are_drawn_with_what_they_show_in_words(tmp_path):
    html = html_of(two_agents(tmp_path / "run"))
    assert 'aria-label="First response. stale: n=0; talker: p50 0.80 s, p95 0.80 s, n=4"' in html
    assert "Pass@1 by disfluency" in html


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-2.5, 7, [-2, 0, 2, 4, 6]),
        (0, 12, [0, 2, 4, 6, 8, 10, 12]),
        (0, 0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_an_axis_has_round_values(low, high, ticks):
    assert Scale(low=low, high=high, start=0, end=100).ticks() == ticks


# Items


def test_an_item_has_its_timeline_pairing_and_marks(tmp_path):
    items = {item.id: item for item in items_of(two_agents(tmp_path / "run"))}
    right, stale = items["travel_19"].evidence, items["travel_19-s"].evidence
    assert [call.role for call in right.calls] == ["ok", "surplus"]
    assert [call.role for call in stale.calls] == ["wrong", "surplus"]
    assert [(mark.kind, mark.at) for mark in stale.marks if mark.kind != "retraction"] == [
        ("interruption", 6.0),
        ("user_end", 8.5),
        ("clear", 11.5),
    ]
    assert stale.calls[0].premature
    (expected,) = items["travel_19-s"].expected
    assert [(a.name, a.expected, a.actual, a.wrong) for a in expected.arguments] == [
        ("destination", '"Milan"', '"Rome"', "mismatch"),
        ("date", '"2026-06-03"', "", ""),
    ]
    assert expected.arguments[0].cause.startswith("stale: ")
    assert items["travel_19-s"].line.wrong == 'destination "Rome"'
    assert items["travel_19"].group == items["travel_19-s"].group
    assert items["travel_20"].outcome == "not_run"


def test_recordings_and_logs_are_linked_by_relative_path(tmp_path):
    folder = hostile_run(tmp_path / "run")
    item = items_of(folder)[0]
    assert (item.audio, item.events) == ("./items/travel_01/audio.flac", "./items/travel_01/events.jsonl")
    assert str(tmp_path) not in html_of(folder)


def test_sound_and_logs_can_be_put_into_the_page(tmp_path):
    folder = hostile_run(tmp_path / "run")
    run = load_run(folder)
    page = write_page_with_sound(run, run.summary()).read_text()
    sound = base64.b64encode((folder / "items/travel_01/audio.flac").read_bytes()).decode()
    assert f"data:audio/flac;base64,{sound}" in page
    assert "./items/" not in page
    assert '{\\"type\\": \\"hello' in page


@pytest.mark.parametrize(
    ("damage", "missing"),
    [
        (lambda item: (item / "conversation.json").write_text("{"), ["items/travel_19/conversation.json: not JSON"]),
        (lambda item: (item / "conversation.json").unlink(), ["items/travel_19/conversation.json: No such file"]),
        (lambda item: (item / "audio.flac").unlink(), ["items/travel_19/audio.flac: no such file"]),
        (lambda item: (item / "audio.flac").write_bytes(b"fLaC"), ["items/travel_19/audio.flac: not a sound file"]),
        (
            lambda item: (item / "conversation.json").write_text('{"format": 9}'),
            ["items/travel_19/conversation.json: format 9"],
        ),
    ],
)
def test_damaged_evidence_is_named_by_its_item_and_the_page_still_comes(tmp_path, damage, missing):
    folder = two_agents(tmp_path / "run")
    damage(folder / "items" / "travel_19")
    html_of(folder)
    found = {item.id: item for item in items_of(folder)}
    assert [line.startswith(start) for line, start in zip(found["travel_19"].missing, missing, strict=True)] == [True]
    assert found["travel_01"].missing == ()
    assert found["travel_01"].evidence is not None


def test_a_conversation_that_is_not_the_one_that_was_scored_costs_only_its_reasons(tmp_path):
    folder = tmp_path / "run"
    result = an_item(folder, "travel_19", a_talk("Rome"))
    other = an_item(tmp_path / "other", "travel_19", replace(a_talk(), calls=()))
    (tmp_path / "other/items/travel_19/conversation.json").replace(folder / "items/travel_19/conversation.json")
    assert other.item_id == result.item_id
    (item,) = items_of(a_run(folder, result))
    assert item.why == "not all tools right; not all arguments right"


def test_results_without_a_folder_and_outside_the_run_are_said_to_have_no_evidence(tmp_path):
    results = [a_result("one"), a_result("two", folder="../../etc"), a_result("three", "error")]
    found = items_of(a_run(tmp_path / "run", *results))
    assert [item.missing for item in found] == [
        ("no conversation was saved",),
        ("run: the folder of two lies outside the run: ../../etc",),
        (),
    ]


def test_long_texts_and_floods_of_calls_do_not_fill_the_page(tmp_path):
    talk = a_talk(text="x" * 100_000)
    flood = replace(talk, calls=tuple(replace(talk.calls[0], call_id=str(n)) for n in range(500)))
    folder = a_run(tmp_path / "run", an_item(tmp_path / "run", "travel_01", flood))
    assert len(html_of(folder)) < 500_000


# Hostile text


def test_hostile_text_in_every_field_is_never_markup(tmp_path):
    html = html_of(
        hostile_run(tmp_path / "run"),
        gates=(replace(GATES[1], expression=HOSTILE, found=HOSTILE, why=HOSTILE, items=(HOSTILE,)),),
    )
    assert "<img" not in html
    assert html.count("</script>") == html.count("<script") == 4
    assert "onerror=window.pwned=1&gt;" in html


def test_only_the_pages_own_script_and_style_may_be_used(tmp_path):
    html = html_of(two_agents(tmp_path / "run"))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#x27;", "'")
    script = re.search(r'<script type="module">(.*?)</script>', html, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; ")
    assert not re.search(r"\bstyle=|\bon\w+=\"|https?://(?!www\.w3\.org)", html)


# Size and writing


def test_a_hundred_items_take_at_most_400_kilobytes(tmp_path):
    folder = tmp_path / "run"
    results = [an_item(folder, f"travel_{n:03}", a_talk("Rome" if n % 2 else "Milan")) for n in range(100)]
    run = load_run(a_run(folder, *results))
    assert write_page(run, run.summary()).stat().st_size <= 400_000


def test_equal_runs_give_equal_pages(tmp_path):
    folder = two_agents(tmp_path / "run")
    assert html_of(folder) == html_of(folder)


def test_report_writes_the_page_and_says_where_it_could_not(tmp_path, capsys, monkeypatch):
    folder = two_agents(tmp_path / "run")
    assert report.run([str(folder)]) == 0
    linked_size = (folder / PAGE_NAME).stat().st_size
    assert report.run([str(folder), "--voicebench-html-embed"]) == 0
    assert (folder / PAGE_NAME).stat().st_size > linked_size
    (folder / PAGE_NAME).unlink()
    (folder / PAGE_NAME).mkdir()
    capsys.readouterr()
    assert report.run([str(folder), "--json"]) == 0
    assert "note: cannot write " in capsys.readouterr().err


def test_items_stand_under_their_own_agent_whatever_the_page_calls_it(tmp_path):
    names = ("local", "stale")
    rows = [a_result(f"{name}-one", agent=AgentInfo(name=name, settings={"pace": name})) for name in names]
    run = load_run(a_run(tmp_path / "run", *rows, given={"stale": {"behaviour": "stale_commit"}}))
    text = page_html(run, run.summary(), linked)
    assert [item.agent for item in page_items(run, run.summary(), linked)] == [0, 1]
    rows = re.findall(r"#item=(\w+)-one.*?<td>(.*?)</td>", text)
    assert rows == [("local", "local"), ("stale", "stale stale_commit")]


def test_an_agent_that_no_summary_knows_is_the_first(tmp_path):
    run = load_run(a_run(tmp_path / "run", a_result("one", agent=AGENT)))
    (item,) = page_items(run, a_summary(), linked)
    assert item.agent == 0
