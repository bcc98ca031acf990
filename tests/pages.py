"""Runs made by hand for the tests of the page: a request with a correction, answered and saved with its sound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from builders import call, conversation, expected, heard, scenario, span, turn
from results import a_result, a_run

from pytest_voicebench.conversation import AgentInfo, Conversation, Recording, Utterance, Word, to_ticks
from pytest_voicebench.conversation_files import save_conversation
from pytest_voicebench.decisions import AgentComparison, BaselineComparison, MetricComparison
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import Retraction
from pytest_voicebench.scoring import score

SAID = "Find me a flight to Rome, um, no wait, to Milan, on June first. Sorry, June third."
HOSTILE = "</script><img src=x onerror=window.pwned=1>"
TALKER = AgentInfo(name="talker", model="t-1", clock="virtual", settings={"voice": "kim"})
STALE = AgentInfo(name="stale", model="t-1", clock="virtual", settings={"voice": "lee"})
BASELINE = BaselineComparison(
    run="last_week",
    compared=95,
    agents=(
        AgentComparison(
            name="local",
            before="local 0.9",
            metrics=(
                MetricComparison(
                    metric="pass_at_1", verdict="regressed", method="exact McNemar", worse=-1, pairs=95, clusters=79,
                    before=0.7, after=0.6, effect=-0.1, low=-0.18, high=-0.02, p=0.0004, p_corrected=0.0012,
                    detectable=0.11,
                ),
                MetricComparison(
                    metric="first_response_latency_s.mean", verdict="inconclusive", method="paired cluster bootstrap",
                    worse=1, pairs=60, clusters=50, before=0.8, after=0.9, effect=0.1,
                ),
            ),
            newly_failed=("travel_19",),
        ),
    ),
    changed=("travel_02",),
    cautions=("the baseline ran on another machine",),
)  # fmt: skip


def spoken(text: str, start_s: float, end_s: float) -> Utterance:
    """What the user said, word by word, with a pause of 0.6 s in the middle."""
    words = text.split()
    step_s = (end_s - start_s) / len(words)
    middle_s = start_s + (len(words) // 2) * step_s
    places = [
        Word(text=word, start_ticks=to_ticks(start_s + n * step_s), end_ticks=to_ticks(start_s + (n + 0.8) * step_s))
        for n, word in enumerate(words)
    ]
    speech = (span(start_s, middle_s - 0.3), span(middle_s + 0.3, end_s))
    return replace(turn(start_s, end_s, text=text), words=tuple(places), speech=speech)


def sound(duration_s: float, *loud: tuple[float, float]) -> Any:
    """A track that is loud in these stretches."""
    samples = np.zeros(to_ticks(duration_s), np.int16)
    for start_s, end_s in loud:
        part = np.arange(to_ticks(start_s), to_ticks(end_s))
        samples[part] = (9000 * np.sin(part / 20)).astype(np.int16)
    return samples


def a_talk(city: str = "Milan", *, text: str = "", early: bool = False, **changes: Any) -> Conversation:
    """The user asks from 0.5 s to 8.5 s of 16 s; `text` is put into every text; `early`: the agent interrupts."""
    reply = (6.0, 8.0) if early else (9.3, 11.5)
    given = {"destination": f"{city}{text}", "date": "2026-06-03"}
    talk = conversation(
        call("search_flights", 8.8, args=given, result={"flights": [{"flight_id": f"FL1{text}"}]}),
        call("track_order", 9.0, args={"order_id": f"A1{text}"}, status="failed", reason=f"no such order{text}"),
        speech=(reply,),
        turns=(spoken(f"{SAID}{text}", 0.5, 8.5),),
        said=(
            heard(f"{SAID}{text}", 8.5, speaker="user"),
            replace(
                heard(f"A flight to {city} at nine.{text}", reply[0], heard_text=f"A flight to {city}{text}"),
                words=(Word(text=f"A{text}", start_ticks=to_ticks(reply[0]), end_ticks=to_ticks(reply[0] + 0.3)),),
            ),
        ),
        duration_s=16.0,
        clears_ticks=(to_ticks(11.5),),
        warnings=(f"a remark{text}",) if text else (),
        wire_events=(f'{{"type": "hello{text}"}}',) if text else (),
        recording=Recording(user=sound(16.0, (0.5, 4.2), (4.8, 8.5)), agent=sound(16.0, reply)),
    )
    return replace(talk, **changes)


def an_item(folder: Path, item_id: str, talk: Conversation, *, agent: AgentInfo = TALKER, text: str = "") -> Result:
    """The talk saved in the run's folder and scored, as the item that it became."""
    asked = scenario(
        expected("search_flights", destination="Milan", date="2026-06-03"),
        text=SAID,
        retracted=(Retraction(tool="search_flights", args={"destination": "Rome"}, until="to Milan"),),
    )
    card = score(asked, talk)
    save_conversation(replace(talk, item_id=item_id, agent=agent), folder / "items" / item_id)
    base = a_result(item_id, "passed" if card.passed else "failed")
    traits = ("self_correction", "filler") if item_id.endswith(("9", "9-s")) else ()
    facts = replace(
        base.facts,
        scenario_id=item_id.removesuffix("-s"),
        title=f"Two corrections{text}",
        disfluency=(*traits, text) if text else traits,
        domain=text or base.facts.domain,
        difficulty=text or ("hard" if traits else "easy"),
        speaker=text or "b",
        has_retraction=True,
    )
    remarks = {"warnings": (text,), "ended": text, "transcript_source": None, "usd_unknown": text} if text else {}
    return replace(base, scorecard=card, facts=facts, agent=agent, folder=f"items/{item_id}", **remarks)


def two_agents(folder: Path) -> Path:
    """A run of two agents: four requests each; the second calls with the old city and interrupts."""
    names = ("travel_01", "travel_02", "travel_03", "travel_19")
    results = [an_item(folder, name, a_talk()) for name in names]
    results += [an_item(folder, f"{name}-s", a_talk("Rome", early=True), agent=STALE) for name in names]
    return a_run(folder, *results, planned=(a_result("travel_20", agent=TALKER),))


def hostile_run(folder: Path) -> Path:
    """A run in which everybody who can write a text writes markup."""
    agent = AgentInfo(
        name=f"x{HOSTILE}", model=HOSTILE, transport=HOSTILE, settings={HOSTILE: HOSTILE, "api_key": "s3cret"}
    )
    results = [
        an_item(folder, "travel_01", a_talk(text=HOSTILE), agent=agent, text=HOSTILE),
        a_result(f"bad{HOSTILE}", "error", cause=HOSTILE, agent=agent),
        a_result("lost", "skipped", cause=HOSTILE, agent=replace(agent, name=f"y{HOSTILE}")),
    ]
    return a_run(folder, *results)
