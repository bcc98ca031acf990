"""Runs of every kind that a page may be about, small and made by hand; the tests of the page open each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pages import STALE, TALKER, a_talk, an_item, two_agents
from planted import planted
from results import a_result, a_run

from pytest_voicebench.conversation import Conversation, Delivery, Problem, Reported
from pytest_voicebench.conversation_files import save_conversation
from pytest_voicebench.page.items import linked
from pytest_voicebench.page.write import PAGE_NAME, page_html
from pytest_voicebench.redacting import Redactor
from pytest_voicebench.result import Result
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.summary import Summary

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitaen" * 8
LONG_TEXT = " and then I said to him" * 400


def silent_talk(**changes: Any) -> Conversation:
    """The agent neither spoke nor called."""
    return replace(a_talk(), agent_speech=(), calls=(), transcripts=(), clears_ticks=(), **changes)


def no_talk() -> Conversation:
    """The agent was never reached, so nothing was said."""
    return Conversation(
        item_id="one", scenario_sha256="0" * 64, agent=TALKER, duration_ticks=0, ended="problem",
        problems=(Problem(kind="agent_absent", message="nobody listens there"),),
        delivery=Delivery(planned_blocks=0, sent_blocks=0),
    )  # fmt: skip


def an_error(folder: Path, item_id: str) -> Result:
    """An item of an absent agent, with the conversation that never began."""
    save_conversation(replace(no_talk(), item_id=item_id), folder / "items" / item_id)
    told = {"error_kind": "agent_absent", "cause": "agent_absent: ws://127.0.0.1:9: nobody listens there"}
    return a_result(item_id, "error", agent=TALKER, folder=f"items/{item_id}", duration_s=0.0, **told)


def redacted(folder: Path) -> Path:
    search = Redactor(patterns=(re.compile("[A-Z][a-z]+"),))
    item = an_item(folder, "travel_01", replace(search.conversation(a_talk("Rome")), withheld=("text",)))
    kept = replace(search.data(item), withheld=("text",))
    return a_run(folder, kept, withheld={"sound": False, "patterns": 1})


def without_audio(folder: Path) -> Path:
    item = an_item(folder, "travel_01", a_talk("Rome", recording=None, withheld=("sound",)))
    return a_run(folder, replace(item, withheld=("sound",)), withheld={"sound": True, "patterns": 0})


def merged(folder: Path) -> Path:
    items = [an_item(folder, name, a_talk()) for name in ("travel_01", "travel_02")]
    head = {"shards": "3 of 3: 1 of a, 2 of b", "merged": "1 of 2 items from B laid over A"}
    return a_run(folder, items[0], replace(items[1], taken_from="B", attempts=("error", "passed")), **head)


def imported(folder: Path) -> Path:
    talk = a_talk("Rome")
    calls = tuple(replace(call, self_reported=True, timed=False, result=None) for call in talk.calls)
    held = replace(talk, calls=calls, recording=None, reported=Reported(provider="x", status="completed"))
    item = replace(an_item(folder, "travel_01", held), usd_unknown="others held it")
    return a_run(folder, item, imported="result_x.json of release")


def rescored(folder: Path) -> Path:
    head = {"rescored_from": "old", "held_at": "noon", "scored_before": ["voicebench 0"], "scored_now": "voicebench 1"}
    return a_run(folder, an_item(folder, "travel_01", a_talk("Rome")), **head)


def all_errors(folder: Path) -> Path:
    return a_run(folder, *(an_error(folder, f"travel_{n}") for n in range(3)))


def killed(folder: Path) -> Path:
    return a_run(folder, planned=tuple(a_result(f"travel_{n}", agent=TALKER) for n in range(3)))


def interrupted(folder: Path) -> Path:
    return a_run(folder, an_item(folder, "travel_01", a_talk()), planned=(a_result("travel_02", agent=TALKER),))


def trials(folder: Path) -> Path:
    held = [an_item(folder, f"travel_01-t{n}", a_talk("Rome" if n == 2 else "Milan")) for n in (1, 2, 3)]
    same = held[0].facts
    return a_run(folder, *(replace(one, facts=same, trial=n) for n, one in enumerate(held, 1)), trials=3)


def nothing_selected(folder: Path) -> Path:
    folder.mkdir()
    (folder / "results.jsonl").touch()
    return a_run(folder)


def mute(folder: Path) -> Path:
    return a_run(folder, an_item(folder, "travel_01", silent_talk()), an_item(folder, "travel_02", silent_talk()))


def long_texts(folder: Path) -> Path:
    agents = (
        replace(TALKER, name="x" * 120, settings={"prompt": "y" * 600}),
        replace(STALE, name="a name " * 12 + "x"),
    )
    items = [
        an_item(folder, "a" * 190, a_talk(text=LONG_TEXT), agent=agents[0], text=LONG_WORD),
        an_item(folder, "b" * 190, a_talk("Rome", text=LONG_WORD), agent=agents[1], text="a tag " * 60),
    ]
    return a_run(folder, *items, planned=(a_result("c" * 180, agent=agents[0]),))


def a_thousand(folder: Path) -> Path:
    items = [a_result(f"travel_{n:04}", ("failed", "passed")[n % 2], agent=TALKER) for n in range(999)]
    return a_run(folder, an_item(folder, "travel_9999", a_talk("Rome")), *items)


KINDS: tuple[Callable[[Path], Path], ...] = (
    redacted, without_audio, merged, imported, rescored, all_errors, killed, interrupted, trials, two_agents,
    nothing_selected, mute, long_texts, a_thousand,
)  # fmt: skip


def page_of(folder: Path, **changes: Any) -> Path:
    """The page of a run as a file; `changes` are made to its summary."""
    run: SavedRun = load_run(folder)
    page = folder / PAGE_NAME
    page.write_text(page_html(run, replace(run.summary(), **changes), linked), encoding="utf-8")
    return page


def decided() -> dict[str, Any]:
    """Gates and a baseline, each with every part that they can have."""
    words = planted(Summary, "some words of theirs")
    return {"gates": words.gates, "baseline": words.baseline}
