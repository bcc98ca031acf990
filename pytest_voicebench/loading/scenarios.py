"""One scenario of a suite file to its items: one for each speaker."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.loading.document import Mapping
from pytest_voicebench.loading.expectations import check_until, read_expectation, read_retractions
from pytest_voicebench.loading.fields import Fields
from pytest_voicebench.loading.fingerprints import (
    expectation_digest,
    matching_digest,
    stimulus_digest,
    suite_digest,
)
from pytest_voicebench.loading.folder import Folder
from pytest_voicebench.loading.mistakes import Report, did_you_mean, quoted
from pytest_voicebench.loading.readable import Readable
from pytest_voicebench.loading.recordings import Recordings
from pytest_voicebench.loading.steps import SPEAKER, Script, read_user, spoken_by
from pytest_voicebench.scenario import Expectation, Retraction, Scenario, Speaker, Step, SuiteInfo
from pytest_voicebench.tools import Toolset

KEYS = (
    *("id", "title", "domain", "difficulty", "disfluency", "tags", "speakers", "user", "retracted", "expect"),
    *("skip", "known_issue", "max_duration_s", "state_rollback", "latency_profile"),
)
REQUIRED = ("id", "user", "expect")
DIFFICULTIES = ("easy", "medium", "hard")
DISFLUENCIES = ("filler", "pause", "hesitation", "false_start", "self_correction")


class Reader:
    """Reads the scenarios of one file; holds what they share."""

    def __init__(
        self,
        info: SuiteInfo,
        tools: Toolset | None,
        speakers: MappingOf[str, Speaker] | None,
        folder: Folder,
        recordings: Recordings,
        report: Report,
    ) -> None:
        self.info, self.tools, self.speakers, self.folder, self.report = info, tools, speakers, folder, report
        self.recordings = recordings
        self._readable = Readable()
        self._code: dict[str, str] = {}
        self._suite_digests: dict[str | None, str] = {}
        self._matching = matching_digest(info)

    def read(self, node: Mapping, where: str) -> list[Scenario]:
        """The items of one scenario, in the order of its speakers."""
        fields = Fields(node, where, self.report, KEYS, REQUIRED)
        user, expect, retracted = fields.get("user"), fields.get("expect"), fields.get("retracted")
        skipped = "skip" in fields.entries
        script = (
            read_user(user, fields.at("user"), self.folder, self.report, skipped=skipped) if user else Script((), None)
        )
        known = (self.tools, self.report, self._readable)
        labels = Report(self.report.path) if "known_issue" in fields.entries else self.report
        expectation = read_expectation(expect, fields.at("expect"), *known, labels) if expect else Expectation(calls=())
        taken_back = read_retractions(retracted, fields.at("retracted"), *known) if retracted else []
        if taken_back and script.generator:
            self.report.add(
                fields.lines["retracted"], fields.at("retracted"), "needs steps; a generator has no words yet"
            )
        common = self._common(fields, script.generator, expectation, tuple(r for r, _, _ in taken_back))
        items = []
        for speaker in self._speakers(fields, script):
            steps = spoken_by(script, speaker.id if speaker else None, self.folder, self.recordings, self.report)
            check_until(taken_back, steps, self.report)
            items.append((speaker, steps))
        return [self._item(common, speaker, steps, len(items) > 1) for speaker, steps in items]

    def _common(
        self, fields: Fields, generator: str | None, expect: Expectation, retracted: tuple[Retraction, ...]
    ) -> Scenario:
        """The scenario before it has a speaker."""
        name = fields.name("id") or ""
        return Scenario(
            id=name,
            item_id=name,
            title=fields.text("title") or name,
            suite=self.info,
            line=fields.line,
            expect=expect,
            steps=(),
            sha256="",
            generator=generator,
            expect_sha256=expectation_digest(self._matching, expect, retracted),
            domain=fields.name("domain"),
            difficulty=fields.choice("difficulty", DIFFICULTIES),
            disfluency=self._disfluency(fields),
            tags=fields.names("tags"),
            retracted=retracted,
            skip=fields.text("skip"),
            known_issue=fields.text("known_issue"),
            max_duration_s=fields.number("max_duration_s", least=1, most=3600),
            state_rollback=fields.flag("state_rollback"),
            latency_profile=fields.name("latency_profile"),
        )

    def _disfluency(self, fields: Fields) -> tuple[str, ...]:
        words = fields.texts("disfluency")
        for word in words:
            if word not in DISFLUENCIES:
                hint = did_you_mean(word, DISFLUENCIES)
                self.report.add(fields.lines["disfluency"], fields.at("disfluency"), f"unknown {quoted(word)}{hint}")
        return words

    def _speakers(self, fields: Fields, script: Script) -> list[Speaker | None]:
        """The scenario's speakers; one None where it names none, or where speakers.yaml is broken."""
        names = fields.names("speakers", digit_first=True)
        where = fields.at("speakers")
        if not names or self.speakers is None:
            return [None] if "speakers" not in fields.entries else []
        line = fields.lines["speakers"]
        for name in names:
            if name not in self.speakers:
                hint = did_you_mean(name, self.speakers) if self.speakers else "; there is no speakers.yaml"
                self.report.add(line, where, f"there is no speaker {quoted(name)}{hint}")
        for one in script.steps if len(names) > 1 else ():
            if one.audio is not None and one.step.kind == "say" and SPEAKER not in one.audio:
                what = f"several speakers need a recording each: write {SPEAKER} in the path"
                self.report.add(one.line, f"{one.where}.audio", what)
        return [self.speakers[name] for name in names if name in self.speakers]

    def _item(self, common: Scenario, speaker: Speaker | None, steps: tuple[Step, ...], several: bool) -> Scenario:
        shared = self._suite_digest(common.generator)
        sounds = [(s, self.recordings.digest(s)) for s in steps]
        sha256 = stimulus_digest(shared, sounds, common.generator, speaker, common.max_duration_s)
        item_id = f"{common.id}-{speaker.id}" if speaker and several else common.id
        return replace(common, item_id=item_id, speaker=speaker, steps=steps, sha256=sha256)

    def _suite_digest(self, generator: str | None) -> str:
        """The suite's digest with the code that answers its tools, and with the generator's where there is one."""
        if generator not in self._suite_digests:
            targets = [tool.answer for tool in self.info.tools.values() if tool.answer] + (
                [generator] if generator else []
            )
            names = sorted({target.partition(":")[0] for target in targets})
            self._suite_digests[generator] = suite_digest(self.info, {name: self._text(name) for name in names})
        return self._suite_digests[generator]

    def _text(self, module: str) -> str:
        if module not in self._code:
            path = Path(self.folder.path, f"{module}.py")
            self._code[module] = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        return self._code[module]
