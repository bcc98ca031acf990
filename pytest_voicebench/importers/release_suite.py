"""The official release becomes a suite folder of ours that points at its recordings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from pytest_voicebench.audio_files import AudioError, Channel
from pytest_voicebench.importers.imported_folder import replaced
from pytest_voicebench.importers.labels import Labels, read_labels
from pytest_voicebench.importers.own_export import is_suite_name, lost_in_the_layout
from pytest_voicebench.importers.recording_timing import TimedRecording, timed_recording
from pytest_voicebench.importers.release import ImportRefused, Release, ReleasedFolder
from pytest_voicebench.importers.suite_text import Entry, speakers_text, suite_text
from pytest_voicebench.importers.wrong_labels import with_known_issues
from pytest_voicebench.loading import SuiteError, check_distinct, is_suite_file, load_suite
from pytest_voicebench.scenario import Suite
from pytest_voicebench.shipped_suites import shipped_suites
from pytest_voicebench.some_names import some
from pytest_voicebench.timing_file import write_timing

DEFAULT_NAME = "fdb3_official"
MARKER_NAME = "imported.json"
NO_RECORDING = "no recording"
_OURS = ("tools.yaml", "mock_api.py", "instructions.md")
_SIMULATED_PROFILES = ("instant",)

_TOLERANT = (  # the release's tools take any text, so our answers must know what to say to it
    ('**CARDS[arguments["card_type"]]', '**CARDS.get(arguments["card_type"], CARDS["gold"])'),
    ('"walking": 12}[mode]', '"walking": 12}.get(mode, 2)'),
)

Progress = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class ImportedSuite:
    """What was written, and all that a person should know of it. Lists hold one line each."""

    entries: tuple[Entry, ...] = ()
    recordings: int = 0
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def known_issues(self) -> dict[str, str]:
        """Reasons by scenario."""
        return {e.labels.id: e.known_issue for e in self.entries if e.known_issue}

    @property
    def unspoken(self) -> tuple[str, ...]:
        """Scenarios without a recording."""
        return tuple(e.labels.id for e in self.entries if e.skip)

    @property
    def speakers(self) -> int:
        """How many people speak."""
        return len({speaker for e in self.entries for speaker in e.speakers})

    @property
    def slow_profiles(self) -> dict[str, int]:
        """How many scenarios name each latency profile that is not simulated."""
        names = [e.labels.latency_profile for e in self.entries if e.labels.latency_profile]
        return {name: names.count(name) for name in sorted(set(names)) if name not in _SIMULATED_PROFILES}


def import_release(
    release: Release, out: Path, *, with_words: bool = False, force: bool = False, progress: Progress = lambda _: None
) -> ImportedSuite:
    """Write the suite folder `out`, whole or not at all; equal releases give equal bytes.

    Recordings are pointed at and read, never copied. `with_words` aligns their words. Raises ImportRefused: `out` is
    there (and with `force`: was not written by an import), or there is no scenario, or none with a recording.
    """
    _check_out(out, force)
    if with_words and find_spec("pocketsphinx") is None:
        raise ImportRefused(
            'words are found with pocketsphinx: pip install "pytest-voicebench[align]", or leave --align out'
        )
    with replaced(out) as stage:
        found = write_suite(release, stage, _suite_name(out), with_words=with_words, progress=progress)
        if not found.recordings:
            raise ImportRefused(
                f"{release.root}: holds no recording that can be used, so nothing could run: {_why(found.left_out)}"
            )
        load_suites(stage)
    return found


def write_suite(
    release: Release, folder: Path, name: str = DEFAULT_NAME, *, with_words: bool, progress: Progress = lambda _: None
) -> ImportedSuite:
    """Fill an empty folder with the suite. Raises ImportRefused where the release has no scenario at all."""
    found = ImportedSuite(left_out=[*release.remarks, *lost_in_the_layout(release)])
    files = shipped_files()
    entries = [_entry(labels, of, folder, found, with_words, progress) for labels, of in _scenarios(release, found)]
    found.entries = tuple(with_known_issues(entries, files))
    if not found.entries:
        raise ImportRefused(f"{release.root}: holds no scenario that can be imported: {_why(found.left_out)}")
    for file, text in files.items():
        _write(folder / file, text)
    _write(folder / "speakers.yaml", speakers_text([s for e in found.entries for s in e.speakers]) or "{}\n")
    for domain in dict.fromkeys(e.labels.domain for e in found.entries):
        of_domain = [e for e in found.entries if e.labels.domain == domain]
        _write(folder / _file_name(domain), suite_text(name, release.root, of_domain))
    _write(folder / MARKER_NAME, json.dumps({"from": "fdb3", "words": with_words}) + "\n")
    return found


def load_suites(folder: Path) -> list[Suite]:
    """The suites of a folder, or of a file. Raises ImportRefused where there is none, or one has a mistake."""
    paths = [folder] if folder.is_file() else sorted(path for path in folder.glob("*.yaml") if is_suite_file(path))
    if not paths:
        raise ImportRefused(f"{folder}: no suite there (a suite's first key is voicebench: 1)")
    try:
        suites = [load_suite(path) for path in paths]
        check_distinct(suites)
    except SuiteError as error:
        more = f" (and {len(error.problems) - 1} more mistakes)" if len(error.problems) > 1 else ""
        raise ImportRefused(f"{error.problems[0]}{more}") from None
    return suites


def shipped_files() -> dict[str, str]:
    """Our tools, their answers and the instructions, as an official suite needs them: texts by file name.

    Taken from the shipped suite `fdb3`. The official tools take any text, so lists of allowed values are left out.
    """
    home = shipped_suites().get("fdb3")
    if home is None:
        raise ImportRefused("the shipped suite fdb3 is missing; install pytest-voicebench again")
    files = {name: (home / name).read_text(encoding="utf-8") for name in _OURS}
    files["tools.yaml"] = re.sub(r"^ +enum: \[.*\]\n", "", files["tools.yaml"], flags=re.MULTILINE)
    for before, after in _TOLERANT:
        files["mock_api.py"] = files["mock_api.py"].replace(before, after)
    return files


def _check_out(out: Path, force: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not force:
        raise ImportRefused(f"{out}: exists already; give --force to replace it, or another folder with --out")
    if not (out / MARKER_NAME).is_file():
        raise ImportRefused(f"{out}: is not a folder that an import wrote; remove it yourself, or give another --out")


def _why(left_out: Sequence[str]) -> str:
    return some(left_out, 3, "; ") or "no folder has an input.wav"


def _suite_name(out: Path) -> str:
    return out.name if is_suite_name(out.name) else DEFAULT_NAME


def _file_name(domain: str | None) -> str:
    name = domain or "scenarios"
    return f"{name}_scenarios.yaml" if name in ("tools", "speakers") else f"{name}.yaml"


def _scenarios(release: Release, found: ImportedSuite) -> list[tuple[Labels, list[ReleasedFolder]]]:
    """Scenarios by id, each with its folders. Speakers whose labels differ make scenarios of their own."""
    groups: dict[str, tuple[Labels, list[ReleasedFolder]]] = {}
    for folder in release.folders:
        if folder.metadata is None:
            continue
        labels = read_labels(folder.scenario_id, folder.metadata, found.remarks)
        known = groups.get(folder.scenario_id)
        if known is not None and known[0] != labels:
            own_id = f"{folder.scenario_id}_{folder.speaker}"
            found.remarks.append(f"{folder.name}: its labels are not those of the scenario's first speaker: {own_id}")
            groups[own_id] = (_renamed(labels, own_id), [folder])
        elif known is not None:
            known[1].append(folder)
        else:
            groups[folder.scenario_id] = (labels, [folder])
    for scenario_id, data in release.unspoken.items():
        groups.setdefault(scenario_id, (read_labels(scenario_id, data, found.remarks), []))
    found.remarks[:] = dict.fromkeys(found.remarks)
    usable = {name: group for name, group in groups.items() if group[0].unusable is None}
    found.left_out += [f"{name}: {group[0].unusable}" for name, group in groups.items() if name not in usable]
    return [usable[name] for name in sorted(usable)]


def _renamed(labels: Labels, own_id: str) -> Labels:
    return replace(labels, id=own_id)


def _entry(
    labels: Labels,
    folders: Sequence[ReleasedFolder],
    out: Path,
    found: ImportedSuite,
    with_words: bool,
    progress: Progress,
) -> Entry:
    """The scenario with the recordings that can be used, their timing files written."""
    timed: dict[str, TimedRecording] = {}
    for folder in folders:
        progress(folder.name)
        try:
            timed[folder.speaker] = timed_recording(_audio(folder), labels.said, with_words=with_words)
        except AudioError as error:
            found.left_out.append(str(error).replace(f"{folder.path}", folder.name))
            continue
        found.remarks += [f"{folder.name}: {remark}" for remark in timed[folder.speaker].remarks]
        path = out / "timing" / f"{folder.name}.json"
        write_timing(path, timed[folder.speaker].timing, timed[folder.speaker].source)
    found.recordings += len(timed)
    return Entry(
        labels=labels,
        speakers=tuple(sorted(timed)),
        channel=_common_channel([one.channel for one in timed.values()]),
        skip=None if timed else NO_RECORDING,
    )


def _audio(folder: ReleasedFolder) -> Path:
    if folder.audio is None:
        raise AudioError(f"{folder.name}: no input.wav")
    if not folder.audio.resolve().is_relative_to(folder.root):
        raise AudioError(f"{folder.audio}: a link that leads out of the release, where nothing is read; copy it")
    return folder.audio


def _common_channel(channels: Sequence[Channel | None]) -> Channel | None:
    """One word for all recordings of a scenario: `right` would not do for one that has a single channel."""
    named = {channel for channel in channels if channel is not None}
    if len(named) == 1 and not ("right" in named and None in channels):
        return named.pop()
    return "mix" if named else None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
