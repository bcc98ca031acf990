"""What a run keeps of its scenarios, so that its folder stands alone: facts of each item, hashes of what was said."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from pytest_voicebench.plan import SuiteSource
from pytest_voicebench.result import Facts
from pytest_voicebench.scenario import Scenario, SuiteInfo


def facts_of(scenario: Scenario) -> Facts:
    """What tables break results down by."""
    return Facts(
        suite=scenario.suite.name,
        kind=scenario.suite.kind,
        stimulus=scenario.suite.stimulus,
        scenario_id=scenario.id,
        title=scenario.title,
        domain=scenario.domain,
        difficulty=scenario.difficulty,
        disfluency=scenario.disfluency,
        tags=scenario.tags,
        speaker=scenario.speaker.id if scenario.speaker else None,
        expected_calls=len(scenario.expect.calls),
        has_retraction=bool(scenario.retracted),
        state_rollback=scenario.state_rollback,
        known_issue=scenario.known_issue,
        scenario_sha256=scenario.sha256,
        expect_sha256=scenario.expect_sha256,
    )


def sources_of(scenarios: Iterable[Scenario]) -> tuple[SuiteSource, ...]:
    """What these scenarios' suites tell and play, a suite of several files once; recordings that are files only."""
    suites: dict[tuple[str, str, tuple[str, ...], str], list[Scenario]] = {}
    told: dict[Path, tuple[str, str, tuple[str, ...], str]] = {}
    for scenario in scenarios:
        info = scenario.suite
        if info.path not in told:
            told[info.path] = _told(info)
        suites.setdefault(told[info.path], []).append(scenario)
    return tuple(
        SuiteSource(
            suite=name,
            instructions_sha256=instructions,
            documents_sha256=documents,
            tools_sha256=tools,
            recordings=_recordings(own),
            room_tone_seeds={s.speaker.id: s.speaker.tone.seed for s in own if s.speaker and s.speaker.tone},
        )
        for (name, instructions, documents, tools), own in sorted(suites.items(), key=lambda pair: pair[0])
    )


def _told(info: SuiteInfo) -> tuple[str, str, tuple[str, ...], str]:
    from pytest_voicebench.loading.fingerprints import tools_digest

    return info.name, _digest(info.instructions), tuple(map(_digest, info.documents)), tools_digest(info)


def _recordings(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Path to SHA-256, as the timing files have them: a recording outside the suite's folder goes by its last names."""
    found = {}
    for scenario in scenarios:
        for step in scenario.steps:
            if isinstance(step.audio, Path) and step.timing is not None:
                folder = scenario.suite.folder
                inside = step.audio.is_relative_to(folder)
                name = step.audio.relative_to(folder) if inside else Path(*step.audio.parts[-2:])
                found[name.as_posix()] = step.timing.audio_sha256
    return dict(sorted(found.items()))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
