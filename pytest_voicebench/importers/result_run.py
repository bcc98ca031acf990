"""Folders with results of the official scripts become a run folder of ours, scored by our own code."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_voicebench.audio_files import AudioError
from pytest_voicebench.codec import CodecError
from pytest_voicebench.conversation import AgentInfo, Conversation, to_seconds
from pytest_voicebench.conversation_files import save_conversation
from pytest_voicebench.facts import facts_of
from pytest_voicebench.importers.agent_track import Side
from pytest_voicebench.importers.imported_folder import replaced
from pytest_voicebench.importers.own_export import clock_of, lost_in_the_layout, suite_name
from pytest_voicebench.importers.release import FOLDER, ImportRefused, Release, ReleasedFolder
from pytest_voicebench.importers.release_suite import (
    DEFAULT_NAME,
    load_suites,
    write_suite,
)
from pytest_voicebench.importers.reported_conversation import conversation_of
from pytest_voicebench.importers.result_file import StaleResult, read_result_file
from pytest_voicebench.manifest import manifest_of, write_manifest
from pytest_voicebench.metrics.official import official_card
from pytest_voicebench.plan import Plan, read_plan, suite_hashes, write_plan
from pytest_voicebench.result import ErrorKind, Facts, Result
from pytest_voicebench.result_files import ITEMS_NAME, item_folder_name, save_result
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.scenario import Scenario, Speaker, Suite
from pytest_voicebench.scoring import RULES, score
from pytest_voicebench.validity import measurement_problems
from pytest_voicebench.writers.junit import JUNIT_NAME, write_junit
from pytest_voicebench.writers.markdown import write_markdown
from pytest_voicebench.writers.summary_json import write_summary

_MOST_DEPTH = 3  # folders below the release in which a second result of an item is looked for

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One item of the run: its scenario (None: nobody knows it) and its folder (None: it is not there)."""

    planned: Result
    scenario: Scenario | None
    folder: ReleasedFolder | None


def import_results(
    release: Release,
    out: Path,
    *,
    provider: str,
    side: Side | None = None,
    suite: Path | None = None,
    force: bool = False,
    progress: Progress = lambda _: None,
) -> SavedRun:
    """Write the run folder `out`, whole or not at all, and read it back; `force` replaces an earlier import.

    Items are those of the suite folder `suite`; without one, those of the release, by the same code as `import fdb3`.
    Each has a result: a missing, broken, doubled or stale file is an error. Raises ImportRefused, also where no folder
    has a result of that provider.
    """
    _check_out(out, force)
    _check_provider(release, provider)
    with replaced(out) as stage, tempfile.TemporaryDirectory() as temporary:
        suites = _suites(release, suite, Path(temporary), progress)
        _write_run(release, suites, stage, out.name, provider, side, progress, suite is not None)
    return load_run(out)


def _check_out(out: Path, force: bool) -> None:
    """Only what an import wrote is replaced: the evidence of a run of ours may have cost real calls."""
    if not out.exists():
        return
    if not force:
        raise ImportRefused(f"{out}: exists already; give --force to replace it, or another folder with --out")
    try:
        plan = read_plan(out)
    except CodecError:
        plan = None
    if plan is None or "imported" not in plan.header or "merged" in plan.header:
        raise ImportRefused(f"{out}: is not a run that an import wrote; remove it yourself, or give another --out")


def _check_provider(release: Release, provider: str) -> None:
    """A name that stands in no file at all is a slip of the pen, not a run in which everything is missing."""
    found = {path.name for folder in release.folders for path in folder.path.glob("result_*.json")}
    if f"result_{provider}.json" in found:
        return
    names = sorted(name.removeprefix("result_").removesuffix(".json") for name in found)
    there = f"there is: {', '.join(names)}" if names else "there is no result file at all"
    raise ImportRefused(f"no result_{provider}.json in any folder of {release.root}; {there}")


def folder_speaker(speaker: str | None) -> str:
    """The 24 hex digits by which the official layout knows a speaker; those of the release are such already."""
    if speaker is not None and FOLDER.fullmatch(f"x_{speaker}"):
        return speaker
    return hashlib.sha256((speaker or "").encode()).hexdigest()[:24]


def _write_run(
    release: Release,
    suites: Sequence[tuple[Suite, str]],
    stage: Path,
    name: str,
    provider: str,
    side: Side | None,
    progress: Progress,
    is_own_suite: bool,
) -> None:
    agent = AgentInfo(name=provider, transport="imported", clock=clock_of(release, provider))
    items = list(_items(release, suites, agent, provider))
    if not any(item.folder for item in items):
        raise ImportRefused(f"{release.root}: holds no folder of any of the suite's scenarios")
    planned = tuple(item.planned for item in items)
    header = {
        "run": name,
        "imported": f"result_{provider}.json of {release.root.name}",
        "rules": dict(RULES),
        "suites": suite_hashes(item.facts for item in planned),
    }
    lost = () if is_own_suite else lost_in_the_layout(release)
    notices = (*release.remarks, *lost)
    write_plan(stage, Plan(collected=len(items), items=planned, header=header, notices=notices))
    doubles = _doubles(release.root, provider)
    for item in items:
        progress(item.planned.item_id)
        save_result(stage, _result(item, stage, provider, side, doubles, is_own_suite))
    run = load_run(stage)
    summary = run.summary()
    write_summary(stage, summary)
    write_markdown(stage, summary, run.results)
    write_manifest(stage, manifest_of(run.plan, run.results))
    write_junit(stage / JUNIT_NAME, run.results, summary)


def _suites(release: Release, given: Path | None, temporary: Path, progress: Progress) -> list[tuple[Suite, str]]:
    """Suites with the path that stands in the ids of their tests. Raises ImportRefused."""
    folder = temporary if given is None else given
    name = suite_name(release) or DEFAULT_NAME
    if given is None:
        write_suite(release, temporary, name, with_words=False, progress=progress)
    suites = load_suites(folder)
    home = Path("suites", name) if given is None else (given.parent if given.is_file() else given)
    return [(suite, (home / suite.info.path.name).as_posix()) for suite in suites]


def _items(release: Release, suites: Sequence[tuple[Suite, str]], agent: AgentInfo, provider: str) -> Iterator[_Item]:
    """Every scenario of the suites, with its folders; then the folders of none that have a result all the same."""
    left = {folder.name: folder for folder in release.folders}
    for suite, path in suites:
        for scenario in suite.scenarios:
            folders = [folder for folder in release.folders if _is_of(folder, scenario)]
            for folder in folders:
                left.pop(folder.name, None)
            if scenario.speaker is not None or len(folders) <= 1:
                yield _item(scenario, scenario.item_id, path, folders[0] if folders else None, agent)
            else:  # no recording could be used, so the suite has no items for its speakers
                for folder in folders:
                    one = replace(scenario, speaker=Speaker(id=folder.speaker))
                    yield _item(one, f"{scenario.id}-{folder.speaker}", path, folder, agent)
    for folder in left.values():
        if (folder.path / f"result_{provider}.json").exists():
            yield _unknown(folder, suites[0], agent)


def _is_of(folder: ReleasedFolder, scenario: Scenario) -> bool:
    if folder.scenario_id != scenario.id and folder.name != scenario.id:
        return False
    return scenario.speaker is None or folder_speaker(scenario.speaker.id) == folder.speaker


def _item(scenario: Scenario, item_id: str, path: str, folder: ReleasedFolder | None, agent: AgentInfo) -> _Item:
    planned = Result(
        item_id=item_id,
        nodeid=f"{path}::scenario[{item_id}]",
        agent=agent,
        facts=facts_of(scenario),
        outcome="not_run",
    )
    return _Item(planned=planned, scenario=scenario, folder=folder)


def _unknown(folder: ReleasedFolder, suite: tuple[Suite, str], agent: AgentInfo) -> _Item:
    """A result of a scenario that is not in the suite: it counts, as an error."""
    info, path = suite[0].info, suite[1]
    facts = Facts(
        suite=info.name,
        kind=info.kind,
        stimulus=info.stimulus,
        scenario_id=folder.scenario_id,
        title=folder.scenario_id,
        domain=None,
        difficulty=None,
        disfluency=(),
        tags=(),
        speaker=folder.speaker,
        expected_calls=0,
        has_retraction=False,
    )
    nodeid = f"{path}::scenario[{folder.name}]"
    planned = Result(item_id=folder.name, nodeid=nodeid, agent=agent, facts=facts, outcome="not_run")
    return _Item(planned=planned, scenario=None, folder=folder)


def _doubles(root: Path, provider: str) -> dict[str, list[str]]:
    """Folder names that hold a result of the provider more than once below the release, with the places."""
    found: dict[str, list[str]] = {}
    for path, folders, files in os.walk(root):
        place = Path(path).relative_to(root)
        folders[:] = sorted(folders) if len(place.parts) < _MOST_DEPTH else []
        if f"result_{provider}.json" in files:
            found.setdefault(place.name, []).append(place.as_posix())
    return {name: sorted(places) for name, places in found.items() if len(places) > 1}


def _result(
    item: _Item, stage: Path, provider: str, side: Side | None, doubles: dict[str, list[str]], is_own_suite: bool
) -> Result:
    """The item judged, its evidence saved.

    `is_own_suite`: the scenarios are those of a suite, not made from the folders themselves; then a file that our
    export wrote must be of the same stimulus.
    """
    planned = replace(item.planned, folder=f"{ITEMS_NAME}/{item_folder_name(item.planned.item_id)}")
    scenario, folder, name = item.scenario, item.folder, f"result_{provider}.json"
    if scenario is not None and folder is None and scenario.skip:
        return replace(item.planned, outcome="skipped", cause=scenario.skip)
    absent = _absence(item, name, doubles)
    if absent is not None or scenario is None or folder is None:
        return _error(planned, "infrastructure", absent or "missing")
    try:
        held = _conversation(planned, scenario, folder, provider, side, is_own_suite)
    except (ValueError, AudioError) as error:
        kind = "stale" if isinstance(error, StaleResult) else "broken"
        return _error(planned, "infrastructure", f"{kind}: {folder.name}/{name}: {error}")
    return _judged(planned, scenario, held, stage)


def _absence(item: _Item, name: str, doubles: dict[str, list[str]]) -> str | None:
    """Why there is nothing to judge the item by."""
    scenario, folder = item.scenario, item.folder
    if scenario is None:
        return "no scenario of the suite is of that name: nothing to score it by"
    if folder is None:
        return f"missing: no folder {scenario.id}_{_speaker_of(scenario)}"
    if not (folder.path / name).exists():
        return f"missing: {folder.name}/{name}"
    if folder.name in doubles:
        return f"two results of one item: {' and '.join(doubles[folder.name])}"
    return None


def _conversation(
    planned: Result,
    scenario: Scenario,
    folder: ReleasedFolder,
    provider: str,
    side: Side | None,
    is_own_suite: bool,
) -> Conversation:
    """Raises ValueError or AudioError for a file that cannot be used, StaleResult for one of something else."""
    path, wav = (folder.path / name for name in (f"result_{provider}.json", f"output_{provider}.wav"))
    file = read_result_file(path, provider=provider, scenario_id=folder.scenario_id, speaker=folder.speaker)
    if is_own_suite and file.scenario_sha256 not in (None, scenario.sha256):
        raise StaleResult("its scenario has changed since")
    return conversation_of(
        file, scenario, planned.agent, item_id=planned.item_id, wav=wav if wav.exists() else None, side=side
    )


def _judged(planned: Result, scenario: Scenario, held: Conversation, stage: Path) -> Result:
    save_conversation(held, stage / (planned.folder or ""))
    told = replace(
        planned,
        duration_s=to_seconds(held.duration_ticks),
        ended=held.ended,
        warnings=held.warnings,
        transcript_source=held.transcript_source,
        words_dropped=held.words_dropped,
        official=official_card(scenario, held),
    )
    for problem in (*held.problems, *measurement_problems(scenario, held)):
        if problem.kind != "agent":
            return _error(told, problem.kind, problem.message)
    card = score(scenario, held)
    return replace(told, outcome="passed" if card.passed else "failed", scorecard=card)


def _error(planned: Result, kind: ErrorKind, cause: str) -> Result:
    return replace(planned, outcome="error", error_kind=kind, cause=" ".join(cause.split())[:300])


def _speaker_of(scenario: Scenario) -> str:
    return folder_speaker(scenario.speaker.id) if scenario.speaker else "<speaker>"
