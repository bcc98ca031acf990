"""The pytest plugin: every YAML scenario is a test.

pytest loads this module in every run on the machine: it imports nothing heavy, and does nothing until a suite is met.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin import options
from pytest_voicebench.plugin.run import _voicebench_runner, agent, conversation, scenario

if TYPE_CHECKING:
    from pytest_voicebench.plugin.collect import SuiteFile

__all__ = ["_voicebench_runner", "agent", "conversation", "scenario"]

MARKER = "voicebench(path, *ids): run this test once for each scenario of a suite file, or for those named"


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main() -> Generator[None, Any, Any]:
    """A key that was typed in the wrong place is in no usage error, whoever raises it, once the options are read.

    What pytest itself refuses before that, a misspelt option, it repeats.
    """
    try:
        return (yield)
    except pytest.UsageError as error:
        raise options.without_keys(error) from None


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Generator[None, Any, Any]:
    result = yield
    options.add_agent_alias(parser, early_config)
    return result


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    options.refuse_empty(config)
    if options.keeping_asked(config):
        from pytest_voicebench.plugin.keeping import check_keeping

        check_keeping(config)
    options.check_rescore(config)
    if config.getoption("voicebench_resume") is not None:
        from pytest_voicebench.plugin.resume import check_resume

        check_resume(config)
    if config.getoption("voicebench_words") or config.getini("voicebench_words"):
        from pytest_voicebench.plugin.words import check_words

        check_words(config)
    if options.limits_given(config):
        from pytest_voicebench.plugin.admission import check_admission
        from pytest_voicebench.plugin.budget import budget

        check_admission(config)
        budget(config)
    if options.gates_given(config):
        from pytest_voicebench.plugin.gates import check_gates

        check_gates(config)
    options.check_agents(config)
    if config.getoption("voicebench_trials") or config.getini("voicebench_trials"):
        from pytest_voicebench.plugin.trials import trials

        trials(config)
    if config.getoption("voicebench_shard") is not None:
        from pytest_voicebench.plugin.sharding import shard_asked

        shard_asked(config)
    if options.concurrency(config) > 1:
        from pytest_voicebench.plugin.ahead import check_concurrency

        check_concurrency(config)
    if not config.getoption("collectonly"):
        options.judge_asked(config)  # what is wrong with it is said before the run, not after


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.suffix:  # a file, most likely: folders of recordings have no ending
        return None
    from pytest_voicebench.plugin.recordings import holds_only_recordings

    return True if holds_only_recordings(collection_path) else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    from pytest_voicebench.plugin.collect import suite_file

    return suite_file(file_path, parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        from pytest_voicebench.plugin.collect import parametrize

        parametrize(metafunc)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    from pytest_voicebench.plugin.run_folder import run_folder

    folder = run_folder(node.config)
    node.workerinput |= {"voicebench_run": str(folder.path), "voicebench_started": folder.started_at}
    rescored = options.rescored_run(node.config)
    if rescored is not None:
        node.workerinput["voicebench_rescored"] = str(rescored.saved.folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    from pytest_voicebench.plugin.report import watch_workers

    watch_workers(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    error = getattr(node, "workeroutput", {}).get("voicebench_usage_error")
    if error:
        shown = options.without_keys(pytest.UsageError(error))
        pytest.exit(f"ERROR: {shown}", returncode=pytest.ExitCode.USAGE_ERROR)
