"""What rescoring takes from an earlier run: which item is which, what changed since, and the evidence it keeps."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import AgentInfo, Conversation, Utterance, to_seconds, to_ticks
from pytest_voicebench.counted import counted
from pytest_voicebench.files import link_or_copy
from pytest_voicebench.official_card import OfficialCard
from pytest_voicebench.plan import DAMAGE, UNKNOWN_AGENT
from pytest_voicebench.result import Outcome, Result, score_sets
from pytest_voicebench.result_files import RESULT_NAME
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.scenario import Scenario, Step

Json = Any

SPOKEN = ("say", "backchannel", "insert")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """The run whose conversations are judged again: its items by id and by node id."""

    saved: SavedRun
    items: Mapping[str, Result]
    nodes: Mapping[str, Result]

    @property
    def name(self) -> str:
        """The run's name."""
        return self.saved.name

    def item(self, nodeid: str, *item_ids: str) -> Result | None:
        """The run's item of that node id, else of the first id that it has; None where it has none of them."""
        found = self.nodes.get(nodeid)
        return found or next((self.items[i] for i in item_ids if i in self.items), None)

    def labels(self, scenarios: Iterable[Scenario]) -> tuple[str, ...]:
        """What stands before the scenarios' own ids in the run's ids, in its order; nothing where one agent ran."""
        ids = {(s.suite.name, s.id, s.speaker.id if s.speaker else None, s.trial): s.item_id for s in scenarios}
        found: dict[str, None] = {}
        for row in self.saved.plan.selection:
            own = ids.get((row.facts.suite, row.facts.scenario_id, row.facts.speaker, row.trial))
            if own is not None and row.item_id.endswith(f"-{own}"):
                found[row.item_id.removesuffix(f"-{own}")] = None
        return tuple(found)

    def agent(self, item_id: str, label: str = "") -> AgentInfo:
        """Who held the item's conversation; of an item that the run lacks, who would have: the label's, or the one."""
        if item_id in self.items:
            return self.items[item_id].agent
        agents: list[AgentInfo] = []
        for row in self.items.values():
            if row.item_id.startswith(f"{label}-" if label else "") and row.agent not in agents:
                agents.append(row.agent)
        return agents[0] if len(agents) == 1 else UNKNOWN_AGENT

    def header(self, scored_now: str) -> dict[str, Json]:
        """What the head of the new summary says: the run, when its conversations were held, who scored then and now."""
        old = self.saved.header
        return {
            "rescored_from": self.name,
            "held_at": old.get("held_at", old.get("started_at")),
            "scored_before": score_sets(self.items.values()),
            "scored_now": scored_now,
            **({"given": old["given"]} if "given" in old else {}),
            **({DAMAGE: self.saved.damage_told} if self.saved.damage_told else {}),
        }


def recorded_run(saved: SavedRun) -> RecordedRun:
    """The run, ready to be asked for its items."""
    return RecordedRun(
        saved=saved,
        items={row.item_id: row for row in saved.results},
        nodes={row.nodeid: row for row in saved.results},
    )


def take_evidence(source: Path, target: Path, *, leave_out: Container[str] = ()) -> None:
    """The files of a conversation in another run's folder too, as hard links where possible, else as copies.

    The result of the earlier run, the folders of its other attempts, and files of the names `leave_out` stay behind.
    Linked files take no room, and stay whole when either run is deleted; nobody writes into them, because files are
    replaced and never changed.
    """
    if not source.is_dir():
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        taken = path.name != RESULT_NAME and path.name not in leave_out and not path.name.startswith(".")
        if taken and path.is_file():
            link_or_copy(path, target / path.name)


def carried(row: Result, planned: Result, folder: str, official: OfficialCard | None) -> Result:
    """The result of an item that was not measured in the earlier run, as one of this run's: what it was, it stays.

    The official scripts score also what is no measurement: `official` is their card by the scenario as it is now.
    """
    return replace(
        row,
        item_id=planned.item_id,
        nodeid=planned.nodeid,
        facts=planned.facts,
        folder=folder if row.folder else None,
        official=official,
    )


def rescoring_notices(run: RecordedRun) -> tuple[str, ...]:
    """What should be known before the run is judged again, a line each: what of it cannot be."""
    lost = [run.saved.damage_told] * (run.saved.damage is not None)
    told = (f"rescoring {run.name}: no agent is called", _unscorable_text(run), *lost)
    return tuple(filter(None, told))


def _unscorable_text(run: RecordedRun) -> str:
    """One line for what was redacted; empty where nothing was."""
    number = sum("text" in row.withheld and row.scorecard is not None for row in run.items.values())
    of = f"of {number} of {counted(len(run.items), 'item')}"
    return f"{of} text was redacted (--voicebench-redact): they cannot be judged again" if number else ""


def attempts_with(row: Result, outcome: Outcome) -> tuple[str, ...]:
    """The outcomes of the item's attempts, with the new one in place of that which counted."""
    if row.outcome not in row.attempts:
        return row.attempts
    at = row.attempts.index(row.outcome)
    return (*row.attempts[:at], outcome, *row.attempts[at + 1 :])


def stimulus_change(scenario: Scenario, held: Conversation) -> str | None:
    """What was said to the agent then and would not be said now; None where the scenario is the one that was held.

    A hash tells whether anything changed; what, is told as far as the conversation shows it.
    """
    if held.scenario_sha256 == scenario.sha256:
        return None
    hashes = f"scenario {held.scenario_sha256[:12] or 'without a hash'} then, {scenario.sha256[:12]} now"
    changes = _spoken_changes(scenario.steps, held.utterances) if scenario.steps else []
    rest = "a recording, the room, tools, mock answers, instructions, documents, steps or rules changed"
    return f"{changes[0] if changes else rest} ({hashes})"


def _spoken_changes(steps: tuple[Step, ...], utterances: tuple[Utterance, ...]) -> list[str]:
    found = []
    for said in utterances:
        step = steps[said.step] if said.step < len(steps) else None
        if step is None or step.kind not in SPOKEN:
            found.append(f"step {said.step + 1} said {said.text!r} and is gone")
        elif step.text != said.text:
            found.append(f"step {said.step + 1} said {said.text!r} and now says {step.text!r}")
        elif step.timing is not None and _other_speech(step, said):
            found.append(f"the recording of step {said.step + 1} has its speech at other times")
    spoken = [n for n, step in enumerate(steps) if step.kind in SPOKEN]
    found += [f"step {n + 1} was not said: {steps[n].text!r}" for n in spoken if n not in {u.step for u in utterances}]
    return found


def _other_speech(step: Step, said: Utterance) -> bool:
    """Whether the recording's speech is not as long as what was heard, to the millisecond."""
    if step.timing is None or not step.timing.speech:
        return False
    length = to_ticks(step.timing.speech[-1][1] - step.timing.speech[0][0])
    return abs(to_seconds(length - (said.end_ticks - said.start_ticks))) > 0.001
