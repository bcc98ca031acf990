"""A suite's YAML as text, written by hand so that equal labels give equal bytes whatever library is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_voicebench.importers.labels import UNKNOWN_TEXT, Labels

Json = Any

HEAD = """\
# Imported from the official Full-Duplex-Bench-v3 release (CC BY-NC 4.0), whose recordings stay where they are.
# Import again rather than edit. The tools, their answers and the instructions are pytest-voicebench's own.
voicebench: 1
kind: tool_use
suite: {name}
stimulus: {stimulus}
tools: tools.yaml
speakers: speakers.yaml
today: 2026-04-06
instructions: instructions.md
audio_root: {root}
scenarios:
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One scenario to be written, with the speakers that have a usable recording of it."""

    labels: Labels
    speakers: tuple[str, ...] = ()
    channel: Literal["left", "right", "mix"] | None = None
    skip: str | None = None
    known_issue: str | None = None


def suite_text(name: str, root: Path, entries: Sequence[Entry]) -> str:
    """The suite file of one domain."""
    stimulus = "synthetic" if any(entry.labels.is_synthetic for entry in entries) else "human"
    head = HEAD.format(name=name, root=quoted(str(root)), stimulus=stimulus)
    return head + "\n".join("\n".join(_scenario(entry)) + "\n" for entry in entries)


def speakers_text(speakers: Sequence[str]) -> str:
    """speakers.yaml: the speakers' ids, as in the names of the release's folders; nothing else is known of them."""
    return "".join(f"{quoted(speaker)}: {{}}\n" for speaker in sorted(set(speakers)))


def probe_text(entries: Sequence[Entry]) -> str:
    """A suite of the same expectations and no sound, to see which of them the loader takes."""
    head = "voicebench: 1\nkind: tool_use\nsuite: probe\ntools: tools.yaml\ntoday: 2026-04-06\nscenarios:\n"
    return head + "".join("\n".join(_probe(entry)) + "\n" for entry in entries)


def quoted(text: str) -> str:
    """A YAML double-quoted scalar, also a JSON string; what does not print is escaped."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def flow(value: Json) -> str:
    """A value in YAML's flow style, which is JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable() and ord(character) < 0xFEFF:
        return character
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"


def _scenario(entry: Entry) -> Iterator[str]:
    labels = entry.labels
    yield f"  - id: {labels.id}"
    yield f"    title: {quoted(labels.title)}"
    for key, value in (("domain", labels.domain), ("difficulty", labels.difficulty)):
        if value:
            yield f"    {key}: {value}"
    if labels.disfluency:
        yield f"    disfluency: [{', '.join(labels.disfluency)}]"
    if labels.state_rollback:
        yield "    state_rollback: true"
    if labels.latency_profile:
        yield f"    latency_profile: {labels.latency_profile}"
    if entry.speakers:
        yield f"    speakers: [{', '.join(map(quoted, entry.speakers))}]"
    yield from (
        f"    {key}: {quoted(why)}" for key, why in (("skip", entry.skip), ("known_issue", entry.known_issue)) if why
    )
    yield "    user:"
    yield f"      - say: {quoted(labels.said or UNKNOWN_TEXT)}"
    if entry.speakers:
        yield f"        audio: {quoted(labels.folder + '_{speaker}/input.wav')}"
        yield f"        timing: {quoted('timing/' + labels.folder + '_{speaker}.json')}"
        if entry.channel:
            yield f"        channel: {entry.channel}"
    yield from _expect(labels)


def _probe(entry: Entry) -> Iterator[str]:
    yield f"  - id: {entry.labels.id}"
    yield "    skip: only its labels are looked at"
    if entry.known_issue:
        yield f"    known_issue: {quoted(entry.known_issue)}"
    yield "    user: [{say: ...}]"
    yield from _expect(entry.labels)


def _expect(labels: Labels) -> Iterator[str]:
    yield "    expect:"
    if not labels.calls:
        yield "      calls: []"
        return
    yield "      calls:"
    yield from (f"        - {{{tool}: {flow(args)}}}" for tool, args in labels.calls)
