"""The pages under docs/: each shipped agent has one, it names every setting, and links lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from pytest_voicebench.agents.local.settings import LocalSettings
from pytest_voicebench.agents.naming import NEEDS_SCENARIO, SHIPPED

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def page_of(agent):
    """The page that the index names for an agent; `moshi, personaplex` and `gemini-live-2.5, -3.1` name two each."""
    for title, path in re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\)", INDEX.read_text(), re.MULTILINE):
        first, *others = title.split(", ")
        if agent in (first, *others, *(re.sub(r"-[\d.]+$", other, first) for other in others)):
            return (INDEX.parent / path).read_text()
    return None


def settings_of(agent):
    module, _, name = SHIPPED[agent].partition(":")
    takes = LocalSettings if agent == "local" else getattr(importlib.import_module(module), name)
    return list(inspect.signature(takes).parameters)[1 if agent in NEEDS_SCENARIO else 0 :]


@pytest.mark.parametrize("agent", SHIPPED)
def test_every_shipped_agent_has_a_page_that_names_all_its_settings(agent):
    page = page_of(agent)
    assert page is not None, f"docs/README.md names no page for {agent}"
    missing = [name for name in settings_of(agent) if f"`{name}`" not in page]
    assert not missing, f"the page of {agent} says nothing of {', '.join(missing)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent.name == "agents"], ids=lambda path: path.name)
def test_a_page_begins_with_a_command(page):
    title, rest = page.read_text().split("\n\n", 1)
    assert title.startswith("# ")
    assert rest.startswith("```bash\n")
