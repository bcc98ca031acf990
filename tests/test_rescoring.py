"""What rescoring takes from a run: items, agents, attempts, files; and what it says of a scenario that changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from results import AGENT, a_result, a_run
from stage import scenario

from pytest_voicebench.conversation import AgentInfo, Conversation, Utterance, to_ticks
from pytest_voicebench.files import link_or_copy
from pytest_voicebench.plan import UNKNOWN_AGENT
from pytest_voicebench.rescoring import (
    RecordedRun,
    attempts_with,
    recorded_run,
    stimulus_change,
    take_evidence,
)
from pytest_voicebench.result import Outcome, Result
from pytest_voicebench.result_files import RunUnreadable, folder_of
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scenario import Scenario, Speaker, Step, Timing

OTHER = AgentInfo(name="other")


def recorded(folder: Path, *results: Result) -> RecordedRun:
    """A run written and read."""
    return recorded_run(load_run(a_run(folder / "run", *results)))


def of(item_id: str, scenario_id: str = "travel_01", **changes: Any) -> Result:
    """An item of that scenario, spoken by a."""
    row = a_result(item_id, **changes)
    return replace(row, facts=replace(row.facts, scenario_id=scenario_id))


def spoken(folder: Path, scenario_id: str = "travel_01", item_id: str = "travel_01") -> Scenario:
    """A scenario of the suite fdb3, spoken by a."""
    found = scenario(folder, Step(kind="say", text="Hello."), item_id=item_id)
    suite = replace(found.suite, name="fdb3")
    return replace(found, id=scenario_id, suite=suite, speaker=Speaker(id="a"))


def test_an_item_is_found_by_its_node_and_by_its_ids(tmp_path: Path) -> None:
    run = recorded(tmp_path, of("travel_01"), of("travel_02"))
    first = run.items["travel_01"]
    assert run.item(first.nodeid, "travel_02") == first
    assert run.item("moved.yaml::scenario[travel_02]", "gone", "travel_02") == run.items["travel_02"]
    assert run.item("moved.yaml::scenario[gone]", "gone") is None


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (["travel_01"], ()),
        (["local-travel_01", "other-travel_01"], ("local", "other")),
        (["other-travel_01", "local-travel_01"], ("other", "local")),
        (["y/../z-travel_01", "x-y-travel_01"], ("y/../z", "x-y")),
        (["local-travel_011"], ()),
    ],
)
def test_labels_are_what_stands_before_the_scenarios_ids(
    tmp_path: Path, ids: list[str], labels: tuple[str, ...]
) -> None:
    run = recorded(tmp_path, *(of(item_id) for item_id in ids))
    assert run.labels([spoken(tmp_path)]) == labels


def test_a_speaker_is_no_label(tmp_path: Path) -> None:
    run = recorded(tmp_path, of("local-travel_01-a"), of("other-travel_01-a"))
    assert run.labels([spoken(tmp_path, item_id="travel_01-a")]) == ("local", "other")
    assert run.labels([spoken(tmp_path, item_id="travel_01-a", scenario_id="a")]) == ()


def test_an_item_that_the_run_lacks_has_the_agent_that_would_have_held_it(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", of("travel_01"))
    two = recorded(tmp_path / "two", of("local-travel_01"), of("other-travel_01", agent=OTHER))
    assert (one.agent("travel_01"), one.agent("gone")) == (AGENT, AGENT)
    assert two.agent("other-travel_01") == OTHER
    assert two.agent("other-gone", "other") == OTHER
    assert two.agent("gone") == UNKNOWN_AGENT


@pytest.mark.parametrize(
    ("attempts", "old", "new", "expected"),
    [
        ((), "passed", "failed", ()),
        (("error", "passed"), "passed", "failed", ("error", "failed")),
        (("failed", "passed"), "failed", "passed", ("passed", "passed")),
        (("failed", "passed"), "passed", "failed", ("failed", "failed")),
        (("error", "error", "failed"), "failed", "failed", ("error", "error", "failed")),
        (("error", "passed"), "passed", "error", ("error", "error")),
    ],
)
def test_the_attempt_that_counted_gets_the_new_outcome(
    attempts: tuple[str, ...], old: Outcome, new: Outcome, expected: tuple[str, ...]
) -> None:
    assert attempts_with(a_result(outcome=old, attempts=attempts), new) == expected


HELD = Utterance(step=0, kind="turn", text="Hello.", start_ticks=to_ticks(0.5), end_ticks=to_ticks(1.5))


def timed(end_s: float) -> Timing:
    """A recording with speech from 0.5 s on."""
    return Timing(audio_sha256="", rate_hz=24_000, speech=((0.5, end_s),), words=())


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((Step(kind="say", text="Hi."),), "step 1 said 'Hello.' and now says 'Hi.'"),
        ((Step(kind="wait", seconds=1.0),), "step 1 said 'Hello.' and is gone"),
        ((), "a recording, the room, tools"),
        ((Step(kind="say", text="Hello."), Step(kind="say", text="More.")), "step 2 was not said: 'More.'"),
        ((Step(kind="say", text="Hello.", timing=timed(1.5)),), "a recording, the room, tools"),
        (
            (Step(kind="say", text="Hello.", timing=timed(1.6)),),
            "the recording of step 1 has its speech at other times",
        ),
    ],
)
def test_what_changed_of_a_scenario_is_told_as_far_as_the_conversation_shows_it(
    tmp_path: Path, steps: tuple[Step, ...], told: str
) -> None:
    held = Conversation(
        item_id="travel_01",
        scenario_sha256="1" * 64,
        agent=AGENT,
        duration_ticks=0,
        ended="settled",
        utterances=(HELD,),
    )
    asked = replace(spoken(tmp_path), steps=steps, sha256="2" * 64, generator=None if steps else "m:f")
    change = stimulus_change(asked, held)
    assert change is not None
    assert change.startswith(told)
    assert change.endswith("(scenario 111111111111 then, 222222222222 now)")
    assert stimulus_change(replace(asked, sha256="1" * 64), held) is None
    assert "without a hash then" in str(stimulus_change(asked, replace(held, scenario_sha256="")))


@pytest.mark.parametrize("folder", [None, "..", ".", "../other", "/", "items/\0", "circle/x"])
def test_evidence_lies_inside_its_run(tmp_path: Path, folder: str | None) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(RunUnreadable):
        folder_of(tmp_path, of("travel_01", folder=folder))


def test_evidence_is_taken_without_the_old_result_and_other_attempts(tmp_path: Path) -> None:
    source, target = tmp_path / "old", tmp_path / "new"
    (source / "attempt_2").mkdir(parents=True)
    for name in ("conversation.json", "audio.flac", "result.json", ".half.tmp", "attempt_2/audio.flac"):
        (source / name).write_text(name)
    take_evidence(source, target)
    take_evidence(source, target)  # as a rerun does
    assert sorted(p.name for p in target.iterdir()) == ["audio.flac", "conversation.json"]
    take_evidence(tmp_path / "gone", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_symbolic_link_is_copied_and_an_old_file_replaced(tmp_path: Path) -> None:
    real, link, target = tmp_path / "real", tmp_path / "link", tmp_path / "target"
    real.write_text("content")
    link.symlink_to(real)
    target.write_text("old")
    link_or_copy(link, target)
    assert target.read_text() == "content"
    assert not target.is_symlink()
    assert not target.samefile(real)


def test_a_run_that_was_rescored_itself_says_when_its_conversations_were_held(tmp_path: Path) -> None:
    run = recorded(tmp_path, of("travel_01"))
    for header, held_at in (
        ({"started_at": "2026-05-01"}, "2026-05-01"),
        ({"started_at": "2026-06-01", "held_at": "2026-05-01"}, "2026-05-01"),
        ({}, None),
    ):
        old = replace(run, saved=replace(run.saved, plan=replace(run.saved.plan, header=header)))
        assert old.header("voicebench 1") == {
            "rescored_from": "run",
            "held_at": held_at,
            "scored_before": ["voicebench 1"],
            "scored_now": "voicebench 1",
        }
