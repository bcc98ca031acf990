"""The terminal tables. Golden files: see golden.py for how to write them anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from golden import FOLDER, check_golden
from hypothesis import given
from hypothesis import strategies as st
from summaries import a_mute_agent, a_summary, an_agent, rate, scores

from pytest_voicebench.summary import Summary, SurplusRow
from pytest_voicebench.writers.cells import rate_cells
from pytest_voicebench.writers.grid import Grid, grid_lines, plain
from pytest_voicebench.writers.plain_text import columns, encodable, one_line, pad
from pytest_voicebench.writers.terminal import render, render_short

GROK = an_agent("grok", shift=8, model="grok-voice", transport="websocket", clock="wall", warnings=("late blocks",))
Page = Callable[..., str]
TWO = a_summary(an_agent(), GROK)


@pytest.mark.parametrize(
    ("name", "summary"),
    [("terminal_one_agent", a_summary()), ("terminal_two_agents", TWO), ("terminal_mute", a_summary(a_mute_agent()))],
)
def test_the_tables_look_as_they_did(name: str, summary: Summary) -> None:
    check_golden(FOLDER / f"{name}.txt", render(summary, color=False).encode())


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_short_tables_look_as_they_did(name: str) -> None:
    summary = a_summary() if name == "one" else TWO
    check_golden(FOLDER / f"terminal_short_{name}.txt", render_short(summary, color=False).encode())


@pytest.mark.parametrize("page", [render, render_short])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("agents", [1, 2, 3, 5])
def test_no_line_is_wider_than_asked(page: Page, width: int, agents: int) -> None:
    names = ["local", "grok", "a_very_long_agent_name_that_goes_on_and_on", "会話エージェント", "e"]
    text = page(a_summary(*(an_agent(name) for name in names[:agents])), width=width, color=False)
    assert max(columns(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("agents", [0, 1, 2, 5])
@pytest.mark.parametrize("notices", [0, 1, 2, 3, 9])
def test_the_short_head_has_at_most_six_lines_with_stimulus_and_judge(agents: int, notices: int) -> None:
    said = tuple(f"notice {n}" for n in range(notices))
    summary = replace(a_summary(notices=said), agents=tuple(an_agent(f"a{n}") for n in range(agents)))
    head = render_short(summary, color=False).split("\n\n")[0]
    assert len(head.splitlines()) <= 6
    assert "stimulus: synthetic - not comparable with published figures" in head
    assert "judge: none" in head
    assert "2 error (2 infrastructure)" in head
    told = head.count("notice ")
    assert told == notices or f"and {notices - told} more notices: see -v" in head


@pytest.mark.parametrize(
    "title", ["The same over other", "By number of expected", "By speaker", "Behaviour", "end_sil"]
)
def test_what_few_look_at_is_not_in_the_short_tables(title: str) -> None:
    assert title in render(a_summary(), color=False)
    assert title not in render_short(a_summary(), color=False)


def _by_speaker(**items: int) -> str:
    """The part of the page on speakers who have so many items."""
    by = {name.lstrip("_"): scores(1, n, taken=n, interrupted=0, f1=1.0) for name, n in items.items()}
    agent = an_agent()
    page = render(a_summary(replace(agent, by={**agent.by, "speaker": by})), color=False)
    return page[page.index("By speaker") :].split("\n\n")[0].rstrip("\n")


def test_speakers_with_one_item_each_are_a_line_and_no_table() -> None:
    assert _by_speaker(a=1, b=1) == "By speaker: no speaker has more than one item"


def test_speakers_are_shown_by_short_ids_where_these_differ() -> None:
    one, two, like_one = "43c250a47166d2a59dcbdbbf", "_872ba0d47944536060128795", "43c250a4ffffffffffffffff"
    lines = _by_speaker(**{f"_{one}": 2, two: 3, "anna": 2, "b": 1}).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["43c250a4", "872ba0d4", "anna"]
    assert lines[5:] == ["  and 1 more with one item each"]
    assert one in _by_speaker(**{f"_{one}": 2, f"_{like_one}": 2})


def test_silence_causes_and_surplus_calls_are_in_the_short_tables_where_there_are_any() -> None:
    agent = an_agent()
    quiet = replace(agent.silence, overall=replace(agent.silence.overall, silent=0))
    fine = replace(agent, silence=quiet, wrong_arguments={"stale": 0}, surplus_calls=())
    for title in ("Silence", "Causes of wrong", "Calls that nobody"):
        assert title in render_short(a_summary(), color=False)
        assert title not in render_short(a_summary(fine), color=False)


@pytest.mark.parametrize(("committed", "of", "whole", "short"), [(5, 17, 1, 1), (0, 17, 1, 0), (0, 0, 0, 0)])
def test_self_correction_is_shown_of_runs_with_retractions_and_in_short_where_one_was_called_with(
    committed: int, of: int, whole: int, short: int
) -> None:
    agent = an_agent()
    summary = a_summary(replace(agent, commits=replace(agent.commits, premature_commit_rate=rate(committed, of))))
    found = [page(summary, color=False).count("Self-correction: calls with values") for page in (render, render_short)]
    assert found == [whole, short]


def test_the_short_tables_show_five_kinds_of_surplus_calls() -> None:
    rows = tuple(SurplusRow(domain=None, tool=f"tool_{n}", tool_domain=None, calls=9 - n) for n in range(7))
    text = render_short(a_summary(replace(an_agent(), surplus_calls=rows)), color=False)
    assert [f"tool_{n}" in text for n in range(7)] == [True] * 5 + [False] * 2
    assert "and 7 more" in text


@pytest.mark.parametrize(("scored", "shown"), [(1, "26"), (4, "26"), (5, "23456")])
def test_a_run_of_few_items_has_tables_2_and_6_only(scored: int, shown: str) -> None:
    few = a_summary(an_agent(), counts=replace(a_summary().counts, passed=scored, failed=0))
    text = render_short(few, color=False)
    assert "".join(re.findall(r"^Table (\d)", text, re.MULTILINE)) == shown
    assert ("Silence" in text) is (scored >= 5)
    assert "Table 3" in render(few, color=False)


@pytest.mark.parametrize("page", [render, render_short])
def test_where_nothing_was_scored_one_line_says_so(page: Page) -> None:
    none = a_summary(an_agent(), counts=replace(a_summary().counts, passed=0, failed=0))
    text = page(none, color=False)
    assert text.endswith("\n\nnothing was scored\n")
    assert "n/a" not in text
    assert "Table" not in text


@pytest.mark.parametrize("page", [render, render_short])
@pytest.mark.parametrize("width", [80, 100])
def test_the_tables_say_once_whose_numbers_they_have(page: Page, width: int) -> None:
    text = page(TWO, width=width, color=False)
    assert text.count("numbered as in the benchmark") == 1


@pytest.mark.parametrize("summary", [a_summary(), TWO])
def test_100_columns_show_every_column(summary: Summary) -> None:
    text = render(summary, color=False)
    assert "..." not in text
    assert "do not fit" not in text


def test_what_was_not_measured_is_said_with_its_n() -> None:
    text = render(a_summary(a_mute_agent()), color=False)
    assert re.search(r"interruption / turns taken +n/a +\(n=0\)", text)
    assert re.search(r"first response +n/a +n/a +n/a +n/a +\(n=0\)", text)


def test_a_run_without_agents_or_header_is_still_printed() -> None:
    text = render(replace(a_summary(), agents=(), header={}), color=False)
    assert "judge: none" in text


@pytest.mark.parametrize(
    "line",
    [
        "voicebench: fdb3, 95/100 scored, run 2026-11-29_12-00-00",
        "stimulus: synthetic - not comparable with published figures",
        "items    planned 100 = 57 passed + 38 failed + 2 error + 1 skipped + 2 not run",
        "errors   2 infrastructure",
        "agent    local (model tiny.en, transport process, virtual clock, end_silence_s=0.8, voice=flite)",
        "scores   voicebench 1, judge: none, numbers given as text are read and noted",
    ],
)
def test_the_header_says_what_was_measured_and_how(line: str) -> None:
    assert line in render(a_summary(), color=False).splitlines()


def test_the_header_names_data_workers_and_versions() -> None:
    head = " ".join(render(a_summary(), color=False).split("\n\n")[0].split())
    for fact in ("sha256 5f70bf18a0", "2 workers", "pytest-voicebench 0.1.0", "python 3.11.9", "pytest 9.2.0"):
        assert fact in head


@pytest.mark.parametrize("notices", [(), ("synthetic speech: not comparable with published figures", "1/2 scored")])
def test_the_stimulus_is_named_once_whatever_the_notices(notices: tuple[str, ...]) -> None:
    head = render(a_summary(notices=notices), color=False).split("\n\n")[0]
    assert head.count("not comparable with published figures") == 1
    assert "stimulus: synthetic - not comparable with published figures" in head.splitlines()
    assert all(notice in head for notice in notices[1:])


def test_a_human_stimulus_is_named_without_a_warning() -> None:
    text = render(a_summary(notices=(), stimulus="human"), color=False)
    assert "stimulus: human\n" in text
    assert "not comparable" not in text


def test_latencies_of_different_clocks_have_no_difference() -> None:
    assert re.search(r"latency, mean .*\(n=78\)$", render(TWO, color=False), re.MULTILINE)
    same = render(a_summary(an_agent(), an_agent("b")), color=False)
    assert re.search(r"latency, mean .*\(n=78\) +\+0\.00$", same, re.MULTILINE)


def test_a_rate_has_its_wilson_interval_and_its_count() -> None:
    assert rate_cells(rate(3, 5), percent=False) == ("0.600", "0.23-0.88", "3/5")
    assert rate_cells(rate(3, 5), percent=True) == ("60.0 %", "23.1-88.2", "3/5")
    assert rate_cells(rate(0, 0), percent=True) == ("n/a", "", "(n=0)")


def test_agents_that_share_a_name_are_told_apart_by_what_differs() -> None:
    oracle = an_agent("simulated", settings={"behaviour": "oracle", "seed": 1})
    slow = an_agent("simulated", settings={"behaviour": "slow", "seed": 1})
    text = render(a_summary(oracle, slow, an_agent("local")), color=False)
    assert re.search(r"^ +simulated behaviour=oracle +simulated behaviour=slow$", text, re.MULTILINE)
    assert "local end_silence" not in text


def test_two_agents_are_told_apart_by_the_settings_that_they_were_given() -> None:
    given = {"simulated": {"behaviour": "stale_commit", "delay_s": 0.5}, "local_pico": {"voice": "pico"}}
    summary = a_summary(an_agent("local_pico"), an_agent("simulated"))
    text = render(replace(summary, header={**summary.header, "given": given}), color=False)
    assert re.search(r"^ +local_pico +simulated stale_commit", text, re.MULTILINE)
    assert ": simulated stale_commit delay_s=0.5\n" in text


def test_the_short_head_names_the_settings_given_and_no_others() -> None:
    summary = a_summary(an_agent("simulated", settings={"behaviour": "stale_commit", "delay_s": 0.0}))
    header = {**summary.header, "given": {"simulated": {"behaviour": "stale_commit"}}}
    head = render_short(replace(summary, header=header), color=False).split("\n\n")[0]
    assert "agent    simulated behaviour=stale_commit (" in head
    assert "delay_s" not in head


def test_the_head_breaks_lines_that_are_too_long() -> None:
    long = " ".join(f"word{n}" for n in range(40))
    summary = a_summary(an_agent("a" * 60), an_agent("b" * 60), notices=(long,))
    summary = replace(summary, header={**summary.header, "run": long})
    whole, short = (page(summary, color=False).split("\n\n")[0] for page in (render, render_short))
    assert whole.split().count("word39") == 2
    for head in (whole, short):
        assert "b" * 60 in head
        assert max(columns(line) for line in head.splitlines()) <= 100


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (46, "item  Pass@1  95 % int.  k/n  turn-take  k/n"),
        (45, "item  Pass@1  95 % int.  k/n"),
        (30, "item  Pass@1  95 % int.  k/n"),
        (29, "item"),
    ],
)
def test_a_figure_that_loses_its_count_is_left_out_with_it(width: int, head: str) -> None:
    row = ("a", "1.000", "0.21-1.0", "1/1", "100.0 %", "1/1")
    grid = Grid(title="T", head=("item", "Pass@1", "95 % int.", "k/n", "turn-take", "k/n"), rows=[row])
    assert grid_lines(grid, width=width, paint=plain)[1].strip() == head


def test_one_column_that_does_not_fit_is_one() -> None:
    grid = Grid(title="T", head=("tool", "calls"), rows=[("x" * 30, "1")])
    assert grid_lines(grid, width=35, paint=plain)[-1].strip() == "1 column does not fit into 35"


def test_a_table_of_two_agents_that_does_not_fit_is_one_for_each() -> None:
    names = ("premature_commit_rate", "before_correction", "repaired_rate")
    always: dict[str, Any] = {name: rate(50, 50) for name in names}
    agents = [replace(agent, commits=replace(agent.commits, **always)) for agent in (an_agent(), GROK)]
    text = render(a_summary(*agents), color=False)
    title = "Self-correction: calls with values that the user took back"
    assert [line for line in text.splitlines() if line.startswith(title)] == [f"{title}: local", f"{title}: grok"]
    assert text.count("50/50") == 6
    assert "not fit into" not in text


def test_colour_changes_nothing_but_colour() -> None:
    coloured = render(TWO, color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == render(TWO, color=False)


@given(st.text())
def test_names_that_others_chose_cannot_act_on_the_terminal(name: str) -> None:
    hostile = an_agent(name, settings={name: name}, warnings=(name,))
    text = render(a_summary(hostile, suites=(name,), header={"run": name}), color=False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", text)
    assert max(columns(line) for line in text.split("\n")) <= 100


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_the_tables_can_be_printed_in_any_encoding(encoding: str) -> None:
    text = render(a_summary(an_agent("café ☕")), color=False)
    encodable(text, encoding).encode(encoding)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202eevil", r"\u202eevil"),
        ("\ud800", r"\ud800"),
        ("café ☕ 会", "café ☕ 会"),
    ],
)
def test_text_of_others_is_shown_on_one_line_with_nothing_hidden(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(st.text(), st.integers(3, 30))
def test_padded_text_is_exactly_as_wide_as_asked(text: str, width: int) -> None:
    assert columns(pad(text, width)) == width
