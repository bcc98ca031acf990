"""Items that did not pass, made by hand: a stale value, a silent agent with wrong tools, hostile text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from builders import call, conversation, expected, heard, scenario, turn

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.scenario import Retraction, Scenario
from pytest_voicebench.scorecard import ArgumentScore, Commit, Manners, Pair, Rollback, Scorecard, Times
from pytest_voicebench.writers.failure import failure_text

Item = tuple[Scenario, Conversation, Scorecard]

NODE = "suites/fdb3/travel.yaml::scenario[travel_19-b]"
RERUN = f"pytest '{NODE}' --agent=simulated,behaviour=stale_commit"


def text(item: Item) -> str:
    """The failure text of an item."""
    return failure_text(*item, folder=Path("reports/run/items/travel_19-b"), rerun_command=RERUN)


def argument(name: str, wanted: object, found: object, verdict: str = "match", **more: object) -> ArgumentScore:
    """One judged argument."""
    values = {"reason": "", "strict": verdict == "match", **more}
    return ArgumentScore(name=name, expected=wanted, actual=found, verdict=verdict, **values)  # type: ignore[arg-type]


def card(*pairs: Pair, taken: bool = True, **changes: object) -> Scorecard:
    """A scorecard of an item that did not pass."""
    values = {
        "score_set": "voicebench",
        "version": 1,
        "passed": False,
        "tools_ok": True,
        "args_ok": False,
        "spoke": taken,
        "f1_names": 1.0,
        "f1_match": 0.0,
        "f1_strict": 0.0,
        "precision": 1.0,
        "recall": 1.0,
        "argument_accuracy": 0.5,
        "argument_accuracy_strict": 0.5,
        "pairs": pairs,
        "manners": Manners(turn_taken=taken, interrupted=False),
    }
    return Scorecard(**values | changes)  # type: ignore[arg-type]


def stale() -> Item:
    """Called with the city that was taken back, before the user had finished."""
    said = "Find me a flight to Rome, um, no wait, to Milan, on June first. Sorry, June third."
    item = replace(
        scenario(
            expected("search_flights", destination="Milan", date="2026-06-03"),
            text=said,
            retracted=(Retraction(tool="search_flights", args={"destination": "Rome"}, until="to Milan"),),
        ),
        item_id="travel_19-b",
        title="Two corrections in one breath",
        domain="travel_identity",
        difficulty="hard",
        disfluency=("self_correction", "filler"),
    )
    made = call("search_flights", 7.15, args={"destination": "Rome", "date": "June third"})
    talk = conversation(
        made,
        speech=((11.98, 14.0),),
        turns=(turn(0.31, 9.42, text=said),),
        said=(
            heard("find me a flight to rome um no wait to milan on june third", 9.9, speaker="user"),
            heard("I found one flight to Rome on June third, for 450 dollars.", 14.0),
        ),
    )
    pair = Pair(
        expected=0,
        actual=0,
        tool="search_flights",
        arguments=(
            argument("destination", "Milan", "Rome", "mismatch", reason="another place", cause="stale"),
            argument("date", "2026-06-03", "June third", strict=False),
        ),
    )
    times = Times(
        user_end_s=9.42,
        reply_start_s=11.98,
        first_response_latency_s=2.56,
        tool_call_latency_s=-2.27,
        task_completion_latency_s=2.56,
    )
    taken_back = Rollback(
        retraction=0,
        tool="search_flights",
        retracted={"destination": "Rome"},
        final={"destination": "Milan"},
        verdict="stale",
        heard_s=7.92,
        commits=(Commit(call=0, at_s=7.15, executed=True, after_correction=False),),
        said_retracted=True,
        said_final=False,
    )
    checks = {"mentions": False, "order": True}
    return item, talk, card(pair, premature_commits=(0,), rollback=(taken_back,), times=times, diagnostics=checks)


def silent() -> Item:
    """Never spoke, called the wrong tool, left the right ones out."""
    wanted = (
        expected("search_apartments", city="Denver", bedrooms=2, max_price=1800),
        expected("calculate_commute", origin_address="$RESULT_0.apartments[0].address", destination_address="work"),
    )
    item = replace(scenario(*wanted, text="Two bedrooms in Denver."), item_id="housing_03", title="Commute included")
    made = (
        call("search_flights", 6.1, args={"destination": "Denver", "date": "tomorrow"}),
        call("make_coffee", 6.2, args={}, status="rejected", reason="unknown tool"),
        call("search_apartments", 6.3, status="cancelled"),
    )
    talk = conversation(*made, speech=(), turns=(turn(0.5, 5.0, text="Two bedrooms in Denver."),))
    pairs = (
        Pair(
            expected=0,
            actual=None,
            tool="search_apartments",
            arguments=(argument("city", "Denver", None, "mismatch"), argument("bedrooms", 2, None, "mismatch")),
        ),
        Pair(expected=1, actual=None, tool="calculate_commute"),
    )
    times = Times(user_end_s=5.0, tool_call_latency_s=1.1, cause="no_reply")
    return item, talk, card(*pairs, taken=False, tools_ok=False, surplus=(0, 1), times=times)


def hostile() -> Item:
    """Every text that somebody else wrote tries to act on the terminal."""
    evil = "\x1b[2J\x1b]0;owned\x07\r\nFAKE: all passed\u202e\x00\u2028" + "long " * 40
    item = replace(
        scenario(expected("weather", city=evil), text=evil), item_id="evil_1", title=evil, disfluency=("filler",)
    )
    made = call("weather", args={"city": evil}, status="failed", reason=evil)
    talk = conversation(made, turns=(turn(0.0, 5.0, text=evil),), said=(heard(evil, speaker="user"), heard(evil)))
    pair = Pair(
        expected=0,
        actual=0,
        tool="weather",
        arguments=(argument("city", evil, [evil], "mismatch", reason=evil, cause="invented"),),
        extra=(evil,),
    )
    return item, talk, card(pair, requirements={"mentions": None}, notes=(evil,))


def crowded() -> Item:
    """More calls and arguments than fit on a screen."""
    wanted = tuple(expected("ping") for _ in range(20))
    made = tuple(call("ping", 10 + i / 10) for i in range(40))
    pairs = tuple(
        Pair(expected=i, actual=i, tool="ping", arguments=(argument("x", i, i + 1, "mismatch", cause="other"),))
        for i in range(20)
    )
    return scenario(*wanted), conversation(*made), card(*pairs, surplus=tuple(range(20, 40)))


EXAMPLES = (stale(), silent(), hostile(), crowded())
