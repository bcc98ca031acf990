"""The folders of the official FDB-v3 release, as users download them: which recording belongs to which scenario."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError, parse_text

RELEASE_NAME = "fdb_v3_data_released"
BENCHMARK_NAME = "benchmark_data_v2.json"
METADATA_NAME = "metadata.json"
INPUT_NAME = "input.wav"

MAX_JSON_BYTES = 20_000_000
_MOST_DEPTH = 50
FOLDER = re.compile(r"(?P<scenario>.+)_(?P<speaker>[0-9a-f]{24})")
_SCENARIO = re.compile(r"[a-z][a-z0-9_]{0,60}")

Json = Any


class ImportRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """Nothing can be imported; one line that says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFolder:
    """One folder `<scenario>_<24 hex digits of the speaker>`. `metadata` is None where nothing describes it."""

    path: Path
    root: Path
    scenario_id: str
    speaker: str
    metadata: Mapping[str, Json] | None = None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def audio(self) -> Path | None:
        """The recording, where it is there."""
        path = self.path / INPUT_NAME
        return path if path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a release holds. `unspoken` are descriptions of scenarios without a folder; `remarks` name the rest."""

    root: Path
    folders: tuple[ReleasedFolder, ...]
    unspoken: Mapping[str, Mapping[str, Json]]
    remarks: tuple[str, ...] = ()


def read_release(directory: Path) -> Release:
    """The release in a folder, given as `fdb_v3_data_released` or as the folder that holds it; by name, nothing hidden.

    Only folders directly in it count: copies in deeper ones are no items. What is not understood is a remark. Raises
    ImportRefused where there is no folder of the layout at all.
    """
    root = directory / RELEASE_NAME if (directory / RELEASE_NAME).is_dir() else directory
    if not root.is_dir():
        raise ImportRefused(f"{directory}: no such folder; give the one that holds {RELEASE_NAME}")
    remarks: list[str] = []
    described = _benchmark(root, remarks)
    folders = tuple(_folders(root, described, remarks))
    if not folders and not described:
        raise ImportRefused(
            f"{root}: holds no folder named <scenario>_<24 hex digits>; give the one that holds {RELEASE_NAME}"
        )
    spoken = {folder.scenario_id for folder in folders if folder.metadata is not None}
    unspoken = {name: data for name, data in described.items() if name not in spoken}
    return Release(root=root.resolve(), folders=folders, unspoken=unspoken, remarks=tuple(remarks))


def read_json_object(path: Path) -> Mapping[str, Json]:
    """The JSON object that a file holds. Raises ValueError, one line that does not repeat the path."""
    try:
        if not path.is_file():
            raise ValueError("no such file")
        if path.stat().st_size > MAX_JSON_BYTES:
            raise ValueError(f"larger than {MAX_JSON_BYTES:,} bytes")
        data = parse_text(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), where="")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except (CodecError, RecursionError) as error:
        raise ValueError(" ".join(str(error).lstrip(": ").split())[:200] or "not JSON") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    cleaned: dict[str, Json] = _clean(data, 0)
    return cleaned


def _clean(value: Json, depth: int) -> Json:
    """The value as every JSON writer takes it: no lone surrogates, no 1e999. Raises ValueError where it is too deep."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"nested more than {_MOST_DEPTH} deep")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(key, depth): _clean(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner, depth + 1) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _folders(root: Path, described: Mapping[str, Mapping[str, Json]], remarks: list[str]) -> Iterator[ReleasedFolder]:
    try:
        found = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        raise ImportRefused(f"{root}: cannot be read: {error.strerror}") from None
    for path in found:
        match = FOLDER.fullmatch(path.name)
        if match is None or not _SCENARIO.fullmatch(match["scenario"]):
            remarks.append(f"{path.name}: not named <scenario>_<24 hex digits of the speaker>")
            continue
        metadata = _metadata(path, match["scenario"], described, remarks)
        yield ReleasedFolder(
            path=path, root=root.resolve(), scenario_id=match["scenario"], speaker=match["speaker"], metadata=metadata
        )


def _metadata(
    path: Path, scenario_id: str, described: Mapping[str, Mapping[str, Json]], remarks: list[str]
) -> Mapping[str, Json] | None:
    """The folder's own description, else the benchmark file's; None, and a remark, where neither can be used."""
    try:
        data = read_json_object(path / METADATA_NAME)
    except ValueError as error:
        known = described.get(scenario_id)
        instead = f"that of {BENCHMARK_NAME} is used" if known is not None else "a recording without its scenario"
        if known is None or (path / METADATA_NAME).exists():
            remarks.append(f"{path.name}: {METADATA_NAME}: {error}: {instead}")
        return known
    if data.get("id") != scenario_id:
        remarks.append(f"{path.name}: its {METADATA_NAME} is of another scenario: {_shown(data.get('id'))}")
        return None
    return data


def _benchmark(root: Path, remarks: list[str]) -> dict[str, Mapping[str, Json]]:
    """Scenarios by id from benchmark_data_v2.json, in the release's folder or beside it; none where it is not there."""
    path = next((p for p in (root / BENCHMARK_NAME, root.parent / BENCHMARK_NAME) if p.is_file()), None)
    if path is None:
        return {}
    try:
        scenarios = read_json_object(path).get("scenarios")
    except ValueError as error:
        remarks.append(f"{BENCHMARK_NAME}: {error}")
        return {}
    found: dict[str, Mapping[str, Json]] = {}
    for index, data in enumerate(scenarios if isinstance(scenarios, list) else []):
        name = data.get("id") if isinstance(data, dict) else None
        if not isinstance(name, str) or not _SCENARIO.fullmatch(name):
            remarks.append(f"{BENCHMARK_NAME}: scenario {index} has no usable id: {_shown(name)}")
        elif name in found:
            remarks.append(f"{BENCHMARK_NAME}: {name} stands twice; the first counts")
        else:
            found[name] = data
    return dict(sorted(found.items()))


def _shown(value: Json) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
