"""A scenario's `user`: the steps of the conversation as written, or the generator that makes them at run time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, cast

from pytest_voicebench.folder_code import FolderCodeError, find_function
from pytest_voicebench.loading.document import Listing, Mapping, Node, Scalar
from pytest_voicebench.loading.fields import Fields, as_number, as_text, describe
from pytest_voicebench.loading.folder import Folder
from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.loading.recordings import Place, Recordings
from pytest_voicebench.phrases import words_of
from pytest_voicebench.scenario import Step, Timing, Trigger
from pytest_voicebench.timing_file import timing_path

AFTER_AGENT_S = 0.8
"""The pause after the agent's reply before a later `say` that has no `when`."""

LONGEST_TRIGGER_S = 30.0  # an agent that is silent for so long gives no response

KEYS: dict[str, tuple[str, ...]] = {
    "insert": ("insert", "audio", "channel", "timing", "say", "when"),
    "backchannel": ("backchannel", "audio", "channel", "timing", "when"),
    "inject": ("inject", "when"),
    "wait_s": ("wait_s", "when"),
    "end": ("end", "when"),
    "say": ("say", "audio", "channel", "timing", "when"),
}
"""What each kind of step may hold; the first of these keys that a step has says its kind."""

REQUIRED = {"insert": ("audio",), "backchannel": ("audio", "when"), "say": ("say", "audio")}
INSERTS = ("vocal_tic", "non_directed")
CHANNELS = ("left", "right", "mix")
SPEAKER = "{speaker}"


class Written(NamedTuple):
    """A step as written: its paths may still hold `{speaker}`."""

    step: Step
    audio: str | None
    timing: str | None
    line: int
    where: str


class Script(NamedTuple):
    """What `user` says: steps, or a generator."""

    steps: tuple[Written, ...]
    generator: str | None


def read_user(node: Node, where: str, folder: Folder, report: Report, *, skipped: bool = False) -> Script:
    """The script; mistakes in it leave steps out. A scenario that is `skipped` may lack recordings."""
    if isinstance(node, Mapping) and "generator" in node.entries:
        return Script((), _generator(node, where, folder, report))
    if not isinstance(node, Listing) or not node.items:
        got = "an empty list" if isinstance(node, Listing) else describe(node)
        report.add(node.line, where, f"expected a list of steps or {{generator: module:function}}, got {got}")
        return Script((), None)
    steps = [_step(item, index, f"{where}[{index}]", report, skipped) for index, item in enumerate(node.items)]
    written = tuple(step for step in steps if step is not None)
    for one in written[:-1]:
        if one.step.kind == "end":
            report.add(one.line, one.where, "end must be the last step")
    if len(written) == len(steps) and not any(one.step.kind == "say" for one in written):
        report.add(node.line, where, "no step says anything; a scenario needs a say")
    return Script(written, None)


def _generator(node: Mapping, where: str, folder: Folder, report: Report) -> str | None:
    target = Fields(node, where, report, ("generator",)).text("generator")
    if target is not None:
        try:
            find_function(folder.path, target)
        except FolderCodeError as error:
            report.add(node.lines["generator"], f"{where}.generator", str(error))
    return target


def _step(node: Node, index: int, where: str, report: Report, skipped: bool) -> Written | None:
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a step such as {{say: ..., audio: ...}}, got {describe(node)}")
        return None
    kind = next((key for key in KEYS if key in node.entries), "say")
    required = tuple(key for key in REQUIRED.get(kind, ()) if not (skipped and key == "audio"))
    fields = Fields(node, where, report, KEYS[kind], required)
    audio, timing = (_path(fields, name, report) if "audio" in KEYS[kind] else None for name in ("audio", "timing"))
    step = Step(
        kind=cast(
            Literal["say", "backchannel", "insert", "inject", "wait", "end"], "wait" if kind == "wait_s" else kind
        ),
        trigger=_trigger(fields, kind, index, report),
        text=_text(fields, kind),
        seconds=_seconds(fields, kind, report),
        insert=cast(Literal["vocal_tic", "non_directed"] | None, fields.choice("insert", INSERTS)),
        channel=cast(Literal["left", "right", "mix"] | None, fields.choice("channel", CHANNELS)),
    )
    if kind == "end":
        _check_end(fields, report)
    for name in ("channel", "timing") if "audio" not in fields.entries else ():
        if name in fields.entries and "audio" in KEYS[kind]:
            report.add(fields.lines[name], fields.at(name), "belongs to a recording; there is no audio")
    return Written(step, audio, timing, fields.lines.get("audio", node.line), where)


def _path(fields: Fields, name: str, report: Report) -> str | None:
    written = fields.text(name)
    if written is not None and re.search(r"[{}]", written.replace(SPEAKER, "")):
        report.add(fields.lines[name], fields.at(name), f"{quoted(written)}: only {SPEAKER} stands in braces")
        return None
    return written


def _text(fields: Fields, kind: str) -> str:
    if kind == "insert":
        return fields.text("say") or ""
    return fields.text(kind) or "" if kind in ("say", "backchannel", "inject") else ""


def _seconds(fields: Fields, kind: str, report: Report) -> float:
    return fields.number("wait_s", least=0.02, most=600) or 0.0 if kind == "wait_s" else 0.0


def _check_end(fields: Fields, report: Report) -> None:
    node = fields.get("end")
    if not (isinstance(node, Scalar) and node.value is True):
        report.add(fields.lines["end"], fields.at("end"), "write end: true, or leave the step out")


def _trigger(fields: Fields, kind: str, index: int, report: Report) -> Trigger:
    node = fields.get("when")
    if node is None:
        later_turn = kind == "say" and index > 0
        return Trigger(kind="after_agent", seconds=AFTER_AGENT_S) if later_turn else Trigger(kind="start")
    where = fields.at("when")
    expected = "start, {after_agent_s: SECONDS} or {into_agent_s: SECONDS}"
    if isinstance(node, Mapping):
        inner = Fields(node, where, report, ("after_agent_s", "into_agent_s"))
        if len(node.entries) != 1:
            report.add(node.line, where, f"expected one of {expected}")
        for name, which in (("after_agent_s", "after_agent"), ("into_agent_s", "into_agent")):
            value = inner.get(name)
            if value is not None:
                seconds = as_number(value, inner.at(name), report, least=0, most=LONGEST_TRIGGER_S) or 0.0
                return Trigger(kind=cast(Literal["after_agent", "into_agent"], which), seconds=seconds)
    elif isinstance(node, Listing) or as_text(node, where, report) not in ("start", None):
        report.add(node.line, where, f"expected {expected}, got {describe(node)}")
    return Trigger(kind="start")


def _check_words(text: str, timing: Timing, path: Path, line: int, where: str, report: Report) -> None:
    """The words that the timing file, at `path`, places must be those of the text, or a recording was swapped."""
    placed = [word for word, _, _ in timing.words]
    if not placed or placed == text.split():
        return
    written, heard = words_of(text), words_of(" ".join(placed))
    if written == heard:
        return
    index = next(
        (i for i, (a, b) in enumerate(zip(written, heard, strict=False)) if a != b), min(len(written), len(heard))
    )
    ours, theirs = (quoted(words[index]) if index < len(words) else "no more words" for words in (written, heard))
    name = quoted(path.name)
    what = f"word {index + 1} of {name} is {theirs}, of the text {ours}; write the text as it is spoken"
    report.add(line, where, what)


def spoken_by(
    script: Script, speaker: str | None, folder: Folder, recordings: Recordings, report: Report
) -> tuple[Step, ...]:
    """The steps with the recordings of one speaker, each checked."""
    return tuple(_spoken(one, speaker, folder, recordings, report) for one in script.steps)


def _spoken(one: Written, speaker: str | None, folder: Folder, recordings: Recordings, report: Report) -> Step:
    if one.audio is None or recordings.folder is None:
        return one.step
    where = f"{one.where}.audio"
    if speaker is None and SPEAKER in one.audio + (one.timing or ""):
        report.add(one.line, where, f"{SPEAKER} needs the scenario's speakers: [...]")
        return one.step
    path = recordings.folder.file(one.audio.replace(SPEAKER, speaker or ""), one.line, where, report)
    beside = one.timing and folder.file(
        one.timing.replace(SPEAKER, speaker or ""), one.line, f"{one.where}.timing", report
    )
    if path is None or (one.timing and beside is None):
        return one.step
    place = Place(path, beside or None, one.step.channel)
    timing = recordings.timing(place, one.line, where, report)
    if timing is not None and one.step.text:
        _check_words(one.step.text, timing, beside or timing_path(path), one.line, where, report)
    return replace(one.step, audio=path, timing=timing, timing_file=place.timing_file)
