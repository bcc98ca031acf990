"""The leaderboard: who passed more over the same items, who cannot be told apart, and what must not be compared."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from golden import FOLDER, check_golden
from hypothesis import given
from hypothesis import strategies as st
from results import a_result, a_run

from pytest_voicebench.__main__ import main
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.official_card import OfficialCard, ToolSelection
from pytest_voicebench.published import ITEMS, STRATA
from pytest_voicebench.ranking import RankingRefused, _groups, _letters, rank, two_sided_p
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.leaderboard import markdown, page


def saved(folder, agent, passed, n=40, name="", **facts):
    """A run of n scenarios of which the agent passed those numbered in `passed`."""
    info = AgentInfo(name=agent, clock="wall")
    rows = []
    for number in range(n):
        row = a_result(f"item_{number:02}", "passed" if number in passed else "failed", agent=info)
        rows.append(replace(row, facts=replace(row.facts, **facts)))
    return load_run(a_run(folder / (name or agent), *rows))


@pytest.fixture
def three(tmp_path):
    """Good and fair pass nearly the same items, poor far fewer."""
    return [
        saved(tmp_path, "poor", range(5)),
        saved(tmp_path, "good", range(30)),
        saved(tmp_path, "fair", range(2, 29)),
    ]


def test_agents_are_ranked_and_those_alike_share_a_letter(three):
    found = rank(three)
    assert [(row.name, row.place, row.groups, row.scores.overall.pass_at_1.k) for row in found.rows] == [
        ("good", 1, "a", 30),
        ("fair", 2, "a", 27),
        ("poor", 3, "b", 5),
    ]
    assert found.items == 40
    pair = next(p for p in found.pairings if {p.first, p.second} == {"good", "fair"})
    assert (pair.won, pair.lost, pair.p) == (3, 0, 0.25)


def test_a_chain_of_agents_of_which_only_the_ends_differ_has_two_groups(tmp_path):
    runs = [saved(tmp_path, name, range(k)) for name, k in (("a", 30), ("b", 26), ("c", 21))]
    groups = {row.name: row.groups for row in rank(runs).rows}
    assert len(groups["b"]) == 2
    assert not set(groups["a"]) & set(groups["c"])
    assert set(groups["b"]) == set(groups["a"]) | set(groups["c"])


@pytest.mark.parametrize(
    ("drops", "p"),
    [([], 1.0), ([0, 0], 1.0), ([1], 1.0), ([1, 1, 1], 0.25), ([1] * 6, 2 / 64), ([2, 1], 0.5), ([1, -1], 1.0)],
)
def test_the_paired_test_is_exact(drops, p):
    assert two_sided_p(drops) == pytest.approx(p, abs=1e-15)


@given(st.integers(0, 30), st.integers(0, 30))
def test_with_one_item_a_scenario_it_is_mcnemars_exact_test(won, lost):
    n, least = won + lost, min(won, lost)
    tail = sum(math.comb(n, k) for k in range(least + 1)) / 2**n
    assert two_sided_p([1] * won + [-1] * lost) == pytest.approx(min(1.0, 2 * tail) if won != lost else 1.0)


def test_it_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    assert two_sided_p([1] * 12 + [-1] * 3) == pytest.approx(stats.binomtest(3, 15).pvalue)


def test_only_items_that_ask_the_same_are_compared_and_the_rest_is_named(tmp_path):
    full = saved(tmp_path, "full", range(20))
    half = saved(tmp_path, "half", range(20), n=25)
    found = rank([full, half])
    assert found.items == 25
    assert "left out: 15 of full" in found.notices[0]


def test_items_that_were_not_measured_are_named(tmp_path):
    rows = [a_result("item_00"), a_result("item_01", "error")]
    broken = load_run(a_run(tmp_path / "broken", *rows, planned=(a_result("item_02"),)))
    found = rank([broken, saved(tmp_path, "whole", [0])])
    assert "planned and not measured, so in nobody's figures: 2 of local" in found.notices


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"suite": "other"}, "they ran other suites"),
        ({"scenario_sha256": "9" * 64}, "suites changed between the runs"),
        ({"expect_sha256": ""}, "suites changed between the runs"),
    ],
)
def test_runs_without_a_common_item_are_refused_with_the_reason(tmp_path, changes, told):
    with pytest.raises(RankingRefused, match=told):
        rank([saved(tmp_path, "a", [1]), saved(tmp_path, "b", [1], **changes)])


def test_scores_of_other_rules_and_a_run_given_twice_are_refused(tmp_path):
    a, b = saved(tmp_path, "a", [1]), saved(tmp_path, "b", [1])
    old = replace(b, results=tuple(replace(r, scorecard=replace(r.scorecard, version=0)) for r in b.results))
    with pytest.raises(RankingRefused, match="scores by different rules"):
        rank([a, old])
    with pytest.raises(RankingRefused, match="given 2 times"):
        rank([a, a])


def test_one_agent_in_two_runs_is_two_rows_told_apart_by_their_runs(tmp_path):
    runs = [saved(tmp_path, "a", range(k), name=name) for name, k in (("monday", 9), ("friday", 9))]
    assert [(row.name, row.place) for row in rank(runs).rows] == [("a (friday)", 1), ("a (monday)", 1)]


def test_agents_of_one_name_are_told_apart_by_the_settings_they_were_given(tmp_path):
    runs = []
    for name, settings in (("monday", {}), ("friday", {"a": {"voice": "Ara"}})):
        run = saved(tmp_path, "a", range(9), name=name)
        runs.append(replace(run, plan=replace(run.plan, header={**run.plan.header, "given": settings})))
    assert [row.name for row in rank(runs).rows] == ["a", "a voice=Ara"]


def card():
    tools = ToolSelection(matched=1, expected=1, actual=1, f1=1.0, precision=1.0, recall=1.0)
    return OfficialCard(
        inputs="derived", tools=tools, calls=(), argument_accuracy=1.0, passed=True, failure=None, turn_taken=True,
        user_end_s=1.0, agent_start_s=2.0, response_latency_s=1.0, interruption=False,
        first_response_latency_s=1.0, tool_call_latency_s=0.5,
    )  # fmt: skip


def test_published_rows_stand_beside_human_speech_alone(tmp_path):
    other = saved(tmp_path, "o", range(40), n=100, stimulus="human")
    other = replace(other, results=tuple(replace(row, official=card()) for row in other.results))
    assert rank([other]).published == ()  # a hundred items, and not those
    strata = [(name, level) for name, levels in STRATA.items() for level, n in levels.items() for _ in range(n)]
    facts = [
        replace(row.facts, domain=name, difficulty=level)
        for row, (name, level) in zip(other.results, strata, strict=True)
    ]
    rows = [replace(row, facts=fact) for row, fact in zip(other.results, facts, strict=True)]
    human = replace(other, results=tuple(rows))
    found = rank([human])
    assert (len(found.published), found.official[0].passed, found.official[0].items) == (6, 100, 100)
    assert "GPT-Realtime" in markdown(found)
    assert sum(n for levels in STRATA.values() for n in levels.values()) == ITEMS
    part = rank([replace(human, results=human.results[:99])])
    assert (part.published, len(part.official)) == ((), 1)
    synthetic = rank([saved(tmp_path, "b", range(9))])
    assert (synthetic.published, synthetic.official) == ((), ())
    assert "GPT-Realtime" not in markdown(synthetic) + page(synthetic)
    assert "not comparable with published figures" in markdown(synthetic)


def test_markdown_and_page_look_as_they_did_when_somebody_read_them(three):
    check_golden(FOLDER / "leaderboard.md", markdown(rank(three)).encode())
    check_golden(FOLDER / "leaderboard.html", page(rank(three)).encode())


def test_names_of_agents_are_text_and_nothing_else(tmp_path):
    hostile = "</script><img src=x onerror=1>|`[x](javascript:1)`"
    found = rank([saved(tmp_path, hostile, range(9), name="r")])
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(page(found))
    assert "img" not in tags
    assert "script" not in tags
    assert "default-src 'none'" in page(found)
    (row,) = [line for line in markdown(found).splitlines() if "onerror" in line]
    assert "<" not in row
    assert row.count(" | ") == 14


def test_names_of_agents_mention_nobody_and_link_nowhere_in_markdown(tmp_path):
    text = markdown(rank([saved(tmp_path, "@acme/team https://evil.example ~~gone~~ $x$", range(9), name="r")]))
    assert not [part for part in ("@acme", "://evil", "~~", "$x") if part in text]
    assert "acme/team" in text


def test_the_command_prints_writes_and_refuses_in_one_line(three, tmp_path, capsys):
    names = [run.name for run in three]
    assert main(["leaderboard", *names, "--reports", str(tmp_path)]) == 0
    assert "| 1 | good | a |" in capsys.readouterr().out
    out = tmp_path / "board.html"
    assert main(["leaderboard", *names, "--html", "--out", str(out), "--reports", str(tmp_path)]) == 0
    assert out.read_text().startswith("<!doctype html>")
    capsys.readouterr()
    assert main(["leaderboard", names[0], names[0], "--reports", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "leaderboard: poor is given 2 times: a run cannot be compared with itself\n"


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] < pair[1])))
def test_groups_are_all_largest_sets_of_which_no_two_are_apart(numbers):
    names = [f"n{k}" for k in range(7)]
    apart = {(names[a], names[b]) for a, b in numbers}
    sets = [set(s) for size in range(1, 8) for s in itertools.combinations(names, size)]
    alike = [s for s in sets if not any(set(pair) <= s for pair in apart)]
    largest = {frozenset(s) for s in alike if not any(s < other for other in alike)}
    found = _groups(names, apart)
    assert len(found) == len(largest)
    assert set(found) == largest


def test_sixty_agents_that_are_all_alike_are_one_group_at_once():
    names = [f"n{k:02}" for k in range(60)]
    assert set(_letters(names, set()).values()) == {"a"}


def test_more_groups_than_letters_have_names_that_can_be_told_apart():
    names = [f"n{k:02}" for k in range(30)]
    everyone_but_neighbours = {(a, b) for a, b in itertools.combinations(names, 2) if int(b[1:]) - int(a[1:]) > 1}
    found = [_letters(names, everyone_but_neighbours)[name].split(",") for name in names]
    assert found[0] == ["a"]
    assert found[26] == ["z", "aa"]
    assert all(set(a) & set(b) for a, b in itertools.pairwise(found))
    assert not any(set(found[k]) & set(found[k + 2]) for k in range(28))
