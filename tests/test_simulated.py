"""Every behaviour of design section 8 has exactly its profile: in process, and through a socket in another process."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import wait

import pytest

from pytest_voicebench.agents.behaviours import BEHAVIOURS, mixed_behaviour
from pytest_voicebench.agents.simulated import build
from pytest_voicebench.loading import load_suite
from pytest_voicebench.runner import Runner
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.validity import blocks_were_late, measurement_problems
from tests import profile_suite, stage
from tests.servers.socket_agent import SocketAgent, simulated_server
from tests.stage import hold

DELAY_S = 0.75
BUSY_MACHINE_S = 0.25
"""How late the server's own timers may fire; half of what sets any two behaviours apart. Exact times: in process."""

AT_ONCE = 22


@pytest.fixture(scope="module")
def suite_path(tmp_path_factory):
    return profile_suite.write(
        tmp_path_factory.mktemp("profiles") / "suite", extra="settle_s: 3.0\nmax_duration_s: 17.0\n"
    )


@pytest.fixture(scope="module")
def scenarios(suite_path):
    return load_suite(suite_path).scenarios


def judged(scenario, conversation):
    """The scorecard of a conversation whose measurement was sound."""
    conversation = detect_speech(conversation)
    assert conversation.problems == ()
    assert measurement_problems(scenario, conversation) == ()
    return score(scenario, conversation)


def in_process(scenarios, behaviour, delay_s=0.0):
    agents = [build(s, behaviour=behaviour, delay_s=delay_s) for s in scenarios]
    return [judged(s, hold(s, a)) for s, a in zip(scenarios, agents, strict=True)]


def near(tolerance_s):
    return lambda seconds: pytest.approx(seconds, abs=tolerance_s)


def check_profile(behaviour, scenarios, cards, approx):
    """What design section 8 says of a behaviour, item by item."""
    for scenario, card in zip(scenarios, cards, strict=True):
        n = len(scenario.expect.calls)
        manners, times, has_calls = card.manners, card.times, made(behaviour, n) > 0
        expected = {
            "passed": behaviour not in FAILS and not (behaviour == "stale_commit" and scenario.retracted),
            "tools_ok": behaviour not in {"no_op", "tool_inventor", "call_dropper"},
            "spoke": behaviour not in {"no_op", "silent_worker"},
            "interrupted": behaviour == "interrupter",
            "filler": behaviour == "eager_filler" if behaviour not in NO_ANSWER_AFTER_THE_LAST_RESULT else None,
            "preemptive": behaviour == "early_caller" if has_calls else None,
            "premature": behaviour == "stale_commit" and bool(scenario.retracted),
        }
        found = {
            "passed": card.passed,
            "tools_ok": card.tools_ok,
            "spoke": card.spoke,
            "interrupted": manners.interrupted,
            "filler": manners.filler,
            "preemptive": manners.preemptive,
            "premature": bool(card.premature_commits),
        }
        assert found == expected, (behaviour, scenario.id, card)
        precision = PRECISION.get(behaviour, lambda n: 1.0)(n) if made(behaviour, n) else 0.0
        assert card.precision == pytest.approx(precision)
        assert card.recall == pytest.approx(RECALL.get(behaviour, lambda n: 1.0)(n))
        assert times_of(times) == {
            name: None if value is None else approx(value) for name, value in expected_times(behaviour, n).items()
        }, (behaviour, scenario.id)
        assert times.interruption_depth_s == (approx(1.5) if behaviour == "interrupter" else None)


FAILS = {"no_op", "silent_worker", "argument_swapper", "tool_inventor", "call_dropper"}
NO_ANSWER_AFTER_THE_LAST_RESULT = {"no_op", "silent_worker", "interrupter", "call_dropper"}
PRECISION = {"tool_inventor": lambda n: n / (n + 1)}
RECALL = {"no_op": lambda n: 0.0, "call_dropper": lambda n: (n - 1) / n}


def made(behaviour, n):
    """How many calls a behaviour makes where n are expected."""
    return {"no_op": 0, "call_dropper": n - 1, "tool_inventor": n + 1}.get(behaviour, n)


def times_of(times):
    return {
        "response": times.first_response_latency_s,
        "call": times.tool_call_latency_s,
        "completion": times.task_completion_latency_s,
    }


def expected_times(behaviour, n):
    """Seconds after the user's end: by construction of the behaviours, not by the code under test."""
    response, called, completion = {
        "no_op": (None, None, None),
        "silent_worker": (None, 0.3, None),
        "eager_filler": (0.2, 0.6, 2.5),
        "interrupter": (None, None, None),
        "early_caller": (0.8, -1.0, 0.8),
        "slow": (0.8 + DELAY_S, 0.3 + DELAY_S, 0.8 + DELAY_S),
    }.get(behaviour, (0.8, 0.3, 0.8))
    if behaviour == "call_dropper":
        return {"response": response, "call": called if n > 1 else None, "completion": None}
    if behaviour in SILENT_ABOUT_CALLS:
        called = None
    return {"response": response, "call": called, "completion": completion}


SILENT_ABOUT_CALLS = {"no_op"}


@pytest.mark.parametrize("behaviour", [*BEHAVIOURS, "slow"])
def test_a_behaviour_in_process_has_exactly_its_profile(behaviour, scenarios):
    cards = in_process(scenarios, behaviour, DELAY_S if behaviour == "slow" else 0.0)
    check_profile(behaviour, scenarios, cards, near(1 / 24_000 + 1e-9))


def test_arguments_of_the_swapper_are_all_wrong(scenarios):
    cards = in_process(scenarios, "argument_swapper")
    assert [card.argument_accuracy for card in cards] == [0.0] * len(scenarios)
    assert all(a.verdict != "match" for card in cards for pair in card.pairs for a in pair.arguments)


def test_a_stale_commit_is_told_apart_from_other_wrong_arguments(scenarios):
    causes = Counter()
    for card in in_process(scenarios, "stale_commit"):
        causes.update(card.wrong_causes)
    assert causes == {"stale": 1}


def test_the_interrupter_and_the_oracle_differ_in_nothing_but_the_interruption(scenarios):
    for one, other in zip(in_process(scenarios, "interrupter"), in_process(scenarios, "oracle"), strict=True):
        assert one.pairs == other.pairs
        assert one.passed
        assert other.passed


def held_through_socket(suite_path, pairs):
    """Conversations by (scenario, behaviour), side by side on the wall clock."""
    runner = Runner()
    with simulated_server(suite_path) as port:
        futures = {
            (s.item_id, name): runner.submit(s, SocketAgent(port, s.item_id, name, DELAY_S if name == "slow" else 0.0))
            for s, name in pairs
        }
        wait(futures.values())
        runner.close()
    return {key: future.result() for key, future in futures.items()}


def test_every_behaviour_through_a_socket_in_another_process_has_its_profile(suite_path, scenarios):
    todo = [(s, name) for name in (*BEHAVIOURS, "slow") for s in scenarios]
    held = {}
    for _ in range(8):
        # A busy machine sends blocks late; the harness says so, gives no latencies, and they are held again.
        batch, todo = todo[:AT_ONCE], todo[AT_ONCE:]
        held |= held_through_socket(suite_path, batch)
        todo += [(s, name) for s, name in batch if blocks_were_late(held[s.item_id, name])]
    for name in (*BEHAVIOURS, "slow"):
        cards = [judged(s, held[s.item_id, name]) for s in scenarios]
        check_profile(name, scenarios, cards, near(BUSY_MACHINE_S))


def test_mix_gives_every_item_one_behaviour_by_its_id_whatever_else_runs(scenarios):
    for scenario in scenarios:
        one = judged(scenario, hold(scenario, build(scenario, behaviour="mix")))
        name = mixed_behaviour(scenario.item_id)
        delay_s = 1.5 if name == "slow" else 0.0
        alone = judged(scenario, hold(scenario, build(scenario, behaviour=name, delay_s=delay_s)))
        assert one == alone


def test_an_unknown_behaviour_is_named_with_those_that_exist(scenarios):
    with pytest.raises(ValueError, match=r"unknown behaviour 'orcale'.*oracle"):
        build(scenarios[0], behaviour="orcale")


@pytest.mark.parametrize("patience_s", [0.5, 1.5, 5.0])
def test_the_oracle_talks_long_enough_to_be_interrupted_and_stops_as_a_person_would(tmp_path, patience_s):
    one, stop = stage.say(tmp_path, "one"), stage.say(tmp_path, "stop", when=stage.into_agent(patience_s))
    scenario = stage.scenario(tmp_path, one, stop)
    assert judged(scenario, hold(scenario, build(scenario))).passed
    held = detect_speech(hold(scenario, build(scenario)))
    cut_ticks = held.agent_speech[0].end_ticks - held.turns[1].start_ticks
    assert 0 < cut_ticks / 24_000 <= 0.25


def test_the_oracle_speaks_first_where_the_user_waits_for_it_and_a_silent_agent_does_not(tmp_path):
    steps = [stage.say(tmp_path, "one", when=stage.after_agent(0.5)), stage.say(tmp_path, "two")]
    scenario = stage.scenario(tmp_path, *steps)
    card = judged(scenario, hold(scenario, build(scenario)))
    assert (card.passed, card.manners.greetings) == (True, 1)
    silent = detect_speech(hold(scenario, build(scenario, behaviour="silent_worker")))
    assert (silent.ended, silent.agent_speech) == ("no_response", ())
