"""junit.xml in the run folder, written by pytest's own writer and valid against the strict schema."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import pytest
from _pytest.junitxml import LogXML, xml_key

from pytest_voicebench.files import written_whole
from pytest_voicebench.writers.junit import JUNIT_NAME, legal
from pytest_voicebench.writers.junit_properties import PREFIX


class RunXML(LogXML):
    """pytest's writer, with the properties of items where the strict schema allows them: on the suite.

    The schema knows no properties of a test case, so those of an item are named `<item>.<property>`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), prefix=None, suite_name="voicebench", family="xunit2")
        self.item_properties: dict[str, object] = {}
        self.trouble: str | None = None

    def finalize(self, report: pytest.TestReport) -> None:
        """Close a test case, its properties moved."""
        values = dict(report.user_properties)
        item = values.pop(f"{PREFIX}item", report.nodeid)
        self.item_properties |= {f"{item}.{name.removeprefix(PREFIX)}": value for name, value in values.items()}
        bare = copy.copy(report)
        bare.user_properties = []
        super().finalize(bare)

    def pytest_sessionfinish(self) -> None:
        """Write the file, whole or not at all; `trouble` says why where it cannot be written."""
        _add(self, self.item_properties)
        path = self.logfile
        try:
            with written_whole(Path(path)) as temporary:
                self.logfile = str(temporary)
                super().pytest_sessionfinish()
        except OSError as error:
            self.trouble = f"cannot write {path}: {error.strerror or error}"
        finally:
            self.logfile = path

    def pytest_terminal_summary(self) -> None:  # type: ignore[override]
        """Say nothing: the run folder is named once, by the report."""


def start_junit(config: pytest.Config, folder: Path) -> None:
    """Write this session's reports to junit.xml in the folder, from now on."""
    xml = RunXML(folder / JUNIT_NAME)
    config.pluginmanager.register(xml, "voicebench-junit")
    xml.pytest_sessionstart()


def add_run_properties(config: pytest.Config, properties: Mapping[str, object]) -> None:
    """Give the run's figures to our junit.xml and to the user's own, where there is one."""
    for xml in (config.pluginmanager.getplugin("voicebench-junit"), config.stash.get(xml_key, None)):
        if xml is not None:
            _add(xml, properties)


def _add(xml: LogXML, properties: Mapping[str, object]) -> None:
    """Names and texts may hold what an agent's author or the agent itself wrote: pytest's writer trusts names."""
    for name, value in properties.items():
        xml.add_global_property(legal(name), legal(value) if isinstance(value, str) else value)
