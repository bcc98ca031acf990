"""What a session keeps of its items: their results, not their sound; and what it never loads."""

from __future__ import annotations

import pytest
from suites_for_pytest import PASSING, ROOT, plugin_arguments, scenario_yaml, write_conftest, write_suite

COUNT_WHAT_IS_KEPT = """
def pytest_sessionfinish(session):
    import gc
    from pytest_voicebench.conversation import Conversation
    gc.collect()
    kept = [o for o in gc.get_objects() if type(o) is Conversation]
    print(f"\\n{len(session.items)} items, {len(kept)} conversations kept")
"""

REPORT_WHAT_IS_LOADED = """
import sys
def pytest_sessionfinish():
    print("\\nloaded:", [name for name in ("numpy", "soundfile", "soxr") if name in sys.modules])
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in a process of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return lambda *args: pytester.runpytest_subprocess(*plugin_arguments("pytest_rerunfailures"), "-s", *args)


@pytest.mark.parametrize("behaviour", [PASSING, f"{PASSING},behaviour=no_op"], ids=["passed", "failed"])
def test_a_finished_item_keeps_no_conversation(pytester, run, behaviour):
    write_suite(pytester.path / "suites", *(scenario_yaml(f"travel_0{n}") for n in (1, 2, 3)))
    write_conftest(pytester.path, COUNT_WHAT_IS_KEPT)
    run(behaviour).stdout.fnmatch_lines(["3 items, 0 conversations kept"])


def test_collecting_the_suite_of_the_benchmark_loads_no_numpy(pytester, run):
    pytester.makepyfile(reporter=REPORT_WHAT_IS_LOADED)
    suite = ROOT / "suites" / "fdb3" / "travel.yaml"
    run("-p", "reporter", "--collect-only", suite).stdout.fnmatch_lines(["*scenarios selected*", "loaded: []"])
