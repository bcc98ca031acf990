"""A run of ours in the layout of the official FDB-v3 release, so that the official scripts score it."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_voicebench.audio import RATE_HZ, Samples
from pytest_voicebench.conversation import Conversation, Recording
from pytest_voicebench.conversation_files import (
    AUDIO_NAME,
    ConversationUnreadable,
    load_conversation,
    load_recording,
)
from pytest_voicebench.exporters.official_files import (
    Expected,
    expected_by_scores,
    expected_of,
    metadata,
    result_json,
)
from pytest_voicebench.importers.release import INPUT_NAME, METADATA_NAME
from pytest_voicebench.importers.result_run import folder_speaker
from pytest_voicebench.loading import SuiteError, is_suite_file, load_suite
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable, folder_of
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.staging import staged

Json = Any
Scenarios = dict[tuple[str, str], Scenario]


class ExportRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """Nothing can be exported; one line that says why and what to do."""


@dataclass(slots=True, kw_only=True)
class Exported:
    """How many items have a result file, and of which providers; lines on those that have none, and on odd ones."""

    items: int = 0
    providers: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def export_run(run: SavedRun, out: Path, *, provider: str | None = None, suites: Sequence[Path] = ()) -> Exported:
    """Write folders `<scenario>_<24 hex digits>` with metadata, recordings and result into `out`, whole or not at all.

    The digits are those of the speaker's SHA-256, or the speaker's own where they are such. Scenarios come from the
    suite files in `suites`, where their hashes are those of the run; else the expected calls are those of the scores.
    Raises ExportRefused: `out` exists, the run holds two agents and one provider's name was given, nothing ran.
    """
    if out.exists():
        raise ExportRefused(f"{out}: exists already; give another folder with --out")
    agents = sorted({result.agent.name for result in run.results})
    if provider is not None and len(agents) > 1:
        raise ExportRefused(f"{run.folder}: holds {len(agents)} agents ({', '.join(agents)}); leave --provider out")
    found = Exported()
    scenarios = _scenarios(suites, found)
    try:
        with staged(out) as stage:
            for result in run.results:
                _export(run, result, stage, provider or provider_name(result.agent.name), scenarios, found)
            if not found.items:
                told = "; ".join(found.left_out[:3])
                raise ExportRefused(f"{run.folder}: holds no item that can be exported: {told}")
    except OSError as error:
        raise ExportRefused(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
    return found


def provider_name(agent: str) -> str:
    """An agent's name as the name of a file may hold it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", agent).strip("._") or "agent"


def _export(run: SavedRun, result: Result, stage: Path, provider: str, scenarios: Scenarios, found: Exported) -> None:
    if "text" in result.withheld:
        found.left_out.append(f"{result.item_id}: its text was redacted, and would be scored as wrong")
        return
    if PurePosixPath(result.facts.scenario_id).name != result.facts.scenario_id:
        found.left_out.append(f"{result.item_id}: its scenario's id is no name of a folder")
        return
    held = _conversation(run, result, found)
    expected = _expected(result, held, scenarios, found)
    if result.outcome == "skipped" or expected is None:
        why = result.cause if result.outcome == "skipped" else "what it expects is unknown; name its suite with --suite"
        found.left_out.append(f"{result.item_id}: {why}")
        return
    speaker = folder_speaker(result.facts.speaker)
    folder = stage / f"{result.facts.scenario_id}_{speaker}"
    path = folder / f"result_{provider}.json"
    if path.exists():
        found.left_out.append(f"{result.item_id}: the layout has one result of {provider} for a speaker's scenario")
        return
    folder.mkdir(exist_ok=True)
    started_at = run.header.get("started_at")
    _write_json(folder / METADATA_NAME, metadata(result, expected))
    said = expected.said
    _write_json(path, result_json(result, held, speaker=speaker, provider=provider, said=said, started_at=started_at))
    recording = _recording(run, result, found)
    if recording is not None:
        _write_wav(folder / INPUT_NAME, recording.user)
        _write_wav(folder / f"output_{provider}.wav", recording.agent)
    elif (audio := _stimulus(result, held, scenarios)) is not None:
        shutil.copyfile(audio, folder / INPUT_NAME)
    found.items += 1
    if provider not in found.providers:
        found.providers.append(provider)


def _conversation(run: SavedRun, result: Result, found: Exported) -> Conversation | None:
    if result.folder is None:
        return None
    try:
        return load_conversation(folder_of(run.folder, result))
    except (ConversationUnreadable, RunUnreadable) as error:
        if result.outcome in ("passed", "failed"):
            found.remarks.append(f"{result.item_id}: {error}")
        return None


def _recording(run: SavedRun, result: Result, found: Exported) -> Recording | None:
    try:
        folder = folder_of(run.folder, result) if result.folder else None
    except RunUnreadable:  # said of the conversation
        folder = None
    if folder is None or not (folder / AUDIO_NAME).is_file():
        return None
    try:
        return load_recording(folder)
    except ConversationUnreadable as error:
        found.remarks.append(f"{result.item_id}: {error}")
        return None


def _stimulus(result: Result, held: Conversation | None, scenarios: Scenarios) -> Path | None:
    """Of an imported run that kept no sound, the user's recording as it was: its first sample began the session."""
    if held is None or held.reported is None:
        return None
    scenario = scenarios.get((result.facts.scenario_id, result.facts.scenario_sha256))
    audio = scenario.steps[0].audio if scenario is not None and len(scenario.steps) == 1 else None
    return audio if isinstance(audio, Path) and audio.is_file() else None


def _expected(result: Result, held: Conversation | None, scenarios: Scenarios, found: Exported) -> Expected | None:
    facts = result.facts
    scenario = scenarios.get((facts.scenario_id, facts.scenario_sha256))
    if scenario is not None and scenario.expect_sha256 == facts.expect_sha256:
        return expected_of(scenario)
    expected = expected_by_scores(result, held)
    if expected is not None:
        found.remarks.append(f"{result.item_id}: its suite was not found as it was; expected calls are the scores' own")
    return expected


def _scenarios(suites: Sequence[Path], found: Exported) -> Scenarios:
    """Scenarios by id and fingerprint. A suite that cannot be read is a remark: the scores hold the calls, too."""
    known: Scenarios = {}
    for path in suites:
        files = sorted(p for p in path.glob("*.yaml") if is_suite_file(p)) if path.is_dir() else [path]
        for file in files:
            try:
                known |= {(scenario.id, scenario.sha256): scenario for scenario in load_suite(file).scenarios}
            except SuiteError as error:
                found.remarks.append(f"suite: {error.problems[0]}")
    return known


def suites_of(run: SavedRun) -> list[Path]:
    """The suite files that the run's items name, as far as they are there, seen from the current directory."""
    named = dict.fromkeys(result.nodeid.partition("::")[0] for result in run.results)
    return [Path(name) for name in named if name and Path(name).is_file()]


def _write_json(path: Path, value: Json) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def _write_wav(path: Path, samples: Samples) -> None:
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, RATE_HZ, format="WAV", subtype="PCM_16")
    path.write_bytes(file.getvalue())
