"""speakers.yaml: who speaks, with traits for tables and the tone of the room."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from pathlib import Path

from pytest_voicebench.loading.document import Mapping, Node, Scalar, read_document
from pytest_voicebench.loading.fields import NAME, Fields, as_name, as_text, as_whole, describe
from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.scenario import RoomTone, Speaker

TONE_KEYS = ("seed", "level_dbfs")


def read_speakers(path: Path, report: Report) -> MappingOf[str, Speaker] | None:
    """Speakers by id, in the order written; None where the file holds a mistake."""
    before = len(report.mistakes)
    root = read_document(path, report)
    if root is None:
        return None
    if not isinstance(root, Mapping):
        report.add(root.line, "speakers", f"expected a mapping of speakers, got {describe(root)}")
        return None
    speakers: dict[str, Speaker] = {}
    for name, node in root.entries.items():
        as_name(Scalar(root.lines[name], name, name), "speakers", report, digit_first=True)
        if isinstance(node, Mapping):
            speakers[name] = _speaker(name, node, report)
        else:
            report.add(node.line, name, f"expected a mapping of traits, got {describe(node)}")
    return speakers if len(report.mistakes) == before else None


def _speaker(name: str, node: Mapping, report: Report) -> Speaker:
    traits: dict[str, str | bool | float] = {}
    for trait, value in node.entries.items():
        where = f"{name}.{trait}"
        if not NAME.fullmatch(trait):
            report.add(node.lines[trait], where, f"{quoted(trait)} is not a trait's name: small letters, digits and _")
        elif trait != "tone":
            found = _trait(value, where, report)
            if found is not None:
                traits[trait] = found
    tone = node.entries.get("tone")
    return Speaker(id=name, traits=traits, tone=None if tone is None else _tone(tone, f"{name}.tone", report))


def _trait(node: Node, where: str, report: Report) -> str | bool | float | None:
    if isinstance(node, Scalar) and isinstance(node.value, bool | int | float):
        return node.value
    return as_text(node, where, report)


def _tone(node: Node, where: str, report: Report) -> RoomTone | None:
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected {{seed, level_dbfs}}, got {describe(node)}")
        return None
    fields = Fields(node, where, report, TONE_KEYS, TONE_KEYS)
    seed_node = fields.get("seed")
    seed = None if seed_node is None else as_whole(seed_node, fields.at("seed"), report, least=0, most=2**32 - 1)
    level = fields.number("level_dbfs", least=-120, most=0)
    return None if seed is None or level is None else RoomTone(seed=seed, level_dbfs=level)
