"""Suite files as test modules: one test, `scenario`, parametrized by the scenarios of the file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.options import LABEL, agent_specs, rescored_run

if TYPE_CHECKING:
    from pytest_voicebench.scenario import Scenario, Suite

NAME = "scenario"
"""The name of the test in every suite file, and of the parameter that holds the scenario."""

_BEHAVIOURS = frozenset({"asyncio", "anyio", "trio", "tryfirst", "trylast"})
"""Registered markers that change how a test runs, and whose registration shows no parameters."""

_loaded = pytest.StashKey[dict[Path, "Suite"]]()
_reserved = pytest.StashKey[frozenset[str]]()
_registered = pytest.StashKey[dict[str, pytest.MarkDecorator]]()


def suite_file(path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """A collector for the file, if it is a suite; any other YAML file is left alone.

    A suite is named on the command line or by the globs of `voicebench_suites`, and its first key is `voicebench:`.
    """
    config = parent.config
    wanted = parent.session.isinitpath(path) or any(
        _glob(g).fullmatch(_from_root(path, config)) for g in config.getini("voicebench_suites")
    )
    if not wanted:
        return None
    from pytest_voicebench.loading import is_suite_file
    from pytest_voicebench.plugin.report import watch

    if not is_suite_file(path):
        return None
    watch(config)
    return SuiteFile.from_parent(parent, path=path)


def _from_root(path: Path, config: pytest.Config) -> str:
    return path.relative_to(config.rootpath).as_posix() if path.is_relative_to(config.rootpath) else path.as_posix()


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """A glob in which `**/` stands for any number of folders, none included."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts))


def collected_suites(config: pytest.Config) -> list[Suite]:
    """The suites of all files that were collected, whatever is selected of them."""
    return list(config.stash.get(_loaded, {}).values())


def suites_left_out(config: pytest.Config) -> list[Suite] | None:
    """The suites that this run did not collect: those of `voicebench_suites`, and those beside what was collected.

    None where one of them cannot be read.
    """
    from pytest_voicebench.loading import SuiteError, is_suite_file, load_suite

    loaded = config.stash.get(_loaded, {})
    paths = {path for pattern in config.getini("voicebench_suites") for path in _matching(config.rootpath, pattern)}
    paths |= {path for file in loaded for kind in ("*.yaml", "*.yml") for path in file.parent.glob(kind)}
    try:
        return [load_suite(path) for path in sorted(paths - loaded.keys()) if is_suite_file(path)]
    except SuiteError:
        return None


def _matching(root: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in root.glob(pattern) if path.suffix in (".yaml", ".yml")]
    except (ValueError, NotImplementedError):  # a pattern from the root of the disk
        return []


class SuiteFile(pytest.Module):
    """A suite file, to pytest a module with one parametrized test."""

    suite: Suite

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The items of the file; a mistake in it is one line of the error that pytest shows."""
        from pytest_voicebench.loading import SuiteError, check_distinct, load_suite

        if not any(self.config.pluginmanager.hasplugin(name) for name in ("asyncio", "pytest_asyncio.plugin")):
            raise self.CollectError("scenarios need pytest-asyncio: load it with -p asyncio, or drop -p no:asyncio")
        try:
            self.suite = load_suite(self.path)
            check_distinct([*self.config.stash.setdefault(_loaded, {}).values(), self.suite])
        except SuiteError as error:
            raise self.CollectError(str(error)) from None
        self.config.stash[_loaded][self.path] = self.suite
        self.obj = suite_module(self.suite)
        return super().collect()


def suite_module(suite: Suite) -> ModuleType:
    """A module that holds the test `scenario`, which says that it comes from the suite's file."""
    from pytest_voicebench.plugin.run import judged

    def scenario(request, scenario, conversation):  # type: ignore[no-untyped-def]
        judged(request, scenario, conversation)

    line = suite.scenarios[0].line if suite.scenarios else 1
    code = scenario.__code__.replace(co_filename=str(suite.info.path), co_firstlineno=line)
    test = FunctionType(code, scenario.__globals__, NAME, None, scenario.__closure__)
    test.__test__ = True  # type: ignore[attr-defined]  # whatever `python_functions` says
    module = ModuleType(suite.info.name)
    module.__file__ = str(suite.info.path)
    setattr(module, NAME, test)
    return module


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a test its scenarios: those of its suite file, or those that its `voicebench` markers name.

    Where several agents are asked for, it runs with each; where trials are, with each scenario so often.
    """
    parent = metafunc.definition.getparent(SuiteFile)
    marks = list(metafunc.definition.iter_markers("voicebench"))
    if parent is None and not marks:
        return
    if parent is not None:
        scenarios = parent.suite.scenarios
    else:
        scenarios = tuple(s for m in marks for s in _scenarios(metafunc.config.rootpath, *m.args))
    scenarios = _in_trials(scenarios, metafunc.config)
    _parametrize_agents(metafunc, scenarios)
    metafunc.parametrize(NAME, [parameter(s, metafunc.config) for s in scenarios])


def _in_trials(scenarios: Sequence[Scenario], config: pytest.Config) -> tuple[Scenario, ...]:
    from pytest_voicebench.plugin.trials import trials
    from pytest_voicebench.scenario import in_trials

    return tuple(trial for scenario in scenarios for trial in in_trials(scenario, trials(config)))


def _parametrize_agents(metafunc: pytest.Metafunc, scenarios: Sequence[Scenario]) -> None:
    """The agents asked for, where there are several; of a run that is rescored, those that held its conversations."""
    rescored = rescored_run(metafunc.config)
    if rescored is not None:
        labels = rescored.labels(scenarios)
        definitions = metafunc.definition._fixtureinfo.name2fixturedefs
        own_labels = any(fixture.params for fixture in definitions.get("agent", ()))
        if labels and LABEL in metafunc.fixturenames and not own_labels:
            metafunc.parametrize(LABEL, labels, ids=labels, indirect=True)
        return
    specs = agent_specs(metafunc.config)
    if len(specs) > 1 and "agent" in metafunc.fixturenames:
        metafunc.parametrize("agent", specs, ids=[s.label for s in specs], indirect=True)


def _scenarios(root: Path, path: str, *ids: str) -> Iterator[Scenario]:
    from pytest_voicebench.loading import SuiteError, load_suite

    try:
        suite = load_suite(root / path)
    except SuiteError as error:
        pytest.fail(str(error), pytrace=False)
    missing = set(ids) - {i for s in suite.scenarios for i in (s.id, s.item_id)}
    if missing:
        pytest.fail(f"{path}: no scenario {', '.join(sorted(missing))}", pytrace=False)
    return (s for s in suite.scenarios if not ids or s.id in ids or s.item_id in ids)


def parameter(scenario: Scenario, config: pytest.Config) -> object:
    """The scenario as a test's parameter: its item id, its marks, its skip."""
    marks = [_mark(name, config) for name in mark_names(scenario, _reserved_names(config))]
    if scenario.skip:
        marks.append(pytest.mark.skip(reason=scenario.skip))
    elif scenario.known_issue and config.getoption("voicebench_skip_known_issues"):
        marks.append(pytest.mark.skip(reason=f"known issue: {scenario.known_issue}"))
    return pytest.param(scenario, id=scenario.item_id, marks=marks)


def mark_names(scenario: Scenario, reserved: frozenset[str]) -> list[str]:
    """Domain, difficulty, disfluencies, tags and the speaker's traits, each once.

    A trait that holds is named by its key, a trait with text by that text. A name that is a keyword or a marker that
    does something is a mistake of the suite, except in a trait, which then is named `<key>_<text>`.
    """
    names = [n for n in (scenario.domain, scenario.difficulty, *scenario.disfluency, *scenario.tags) if n]
    for name in names:
        if not _usable(name, reserved):
            where = f"{scenario.suite.path}:{scenario.line}"
            raise pytest.Collector.CollectError(
                f"{where}: {name!r} is a keyword or a marker of pytest; use another name"
            )
    for key, value in (scenario.speaker.traits if scenario.speaker else {}).items():
        trait = _trait_name(key, value)
        if trait:
            names.append(trait if _usable(trait, reserved) else f"{key}_{trait}")
    return list(dict.fromkeys(names))


def _trait_name(key: str, value: str | bool | float) -> str | None:
    if isinstance(value, bool):
        return key if value else None
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_") or None if isinstance(value, str) else None


def _usable(name: str, reserved: frozenset[str]) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name not in reserved


def _reserved_names(config: pytest.Config) -> frozenset[str]:
    """Markers of pytest and its plugins that do something: those registered with parameters, and a few without."""
    names = config.stash.get(_reserved, None)
    if names is None:
        lines = config.getini("markers")
        found = {line.partition("(")[0].strip() for line in lines if "(" in line.partition(":")[0]}
        names = config.stash[_reserved] = frozenset(found) | _BEHAVIOURS
    return names


def _mark(name: str, config: pytest.Config) -> pytest.MarkDecorator:
    registered = config.stash.setdefault(_registered, {})
    if name not in registered:
        config.addinivalue_line("markers", f"{name}: scenarios of this kind")
        registered[name] = getattr(pytest.mark, name)
    return registered[name]
