"""What a run may keep: no sound where `--voicebench-no-audio` says so, no text that `--voicebench-redact` matches, keys
never.

Scores are made from what was said; everything that is written is made from what these leave of it. The files of a run
are written from results and conversations that went through `kept`, and reports (the terminal, both junit.xml, what
workers send) through one hook.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_voicebench.plugin.options import REDACT

if TYPE_CHECKING:
    from pytest_voicebench.conversation import Conversation
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.redacting import Redactor
    from pytest_voicebench.scenario import Scenario

NAME = "voicebench-keeping"

T = TypeVar("T")

_keeping = pytest.StashKey["Keeping"]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What of a run is kept: `sound`, and text as `redactor` leaves it (None: as it is).

    `secrets` replaces the keys that this process knows, whatever else is asked for; None where it knows none.
    """

    sound: bool = True
    redactor: Redactor | None = None
    secrets: Redactor | None = None

    @property
    def _searching(self) -> list[Redactor]:
        return [one for one in (self.secrets, self.redactor) if one is not None]

    @property
    def everything(self) -> bool:
        """Whether nothing is withheld."""
        return self.sound and self.redactor is None

    def text(self, text: str) -> str:
        """A text of somebody else's, as it may be shown."""
        return reduce(lambda left, one: one.text(left), self._searching, text)

    def data(self, value: T) -> T:
        """A result or a scorecard, as it may be shown or written."""
        return reduce(lambda left, one: one.data(left), self._searching, value)

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario as it may be shown."""
        return reduce(lambda left, one: one.scenario(left), self._searching, scenario)

    def conversation(self, held: Conversation) -> Conversation:
        """The conversation as it may be saved."""
        if self.secrets is not None:
            held = _without_keys(held, self.secrets)
        if self.redactor is not None:
            held = self.redactor.conversation(held)
        if not self.sound:
            others = [name for name in held.withheld if name != "sound"]
            held = replace(held, recording=None, withheld=("sound", *others))
        return held

    def plan(self, plan: Plan) -> Plan:
        """The plan as it may be written: of its header only settings of agents are anybody else's words."""
        for one in self._searching:
            header = {k: one.json(v) if k in ("given", "prices") else v for k, v in plan.header.items()}
            plan = replace(one.data(plan), header=header)
        return plan

    def header(self) -> dict[str, Any]:
        """What the head of the run says: `withheld`, where something is. Patterns are not told: they may say it all."""
        patterns = len(self.redactor.patterns) if self.redactor is not None else 0
        return {} if self.everything else {"withheld": {"sound": not self.sound, "patterns": patterns}}


def kept(config: pytest.Config) -> Keeping:
    """What this run keeps; everything where nothing else was asked for."""
    return config.stash.get(_keeping, None) or Keeping()


def check_keeping(config: pytest.Config) -> None:
    """Read what is asked for, before anything is collected or written. Raises pytest.UsageError, one line."""
    from pytest_voicebench.redacting import PatternRefused, check_speed, redactor_of

    typed, ini = config.getoption("voicebench_redact") or [], config.getini("voicebench_redact")
    try:
        redactor = redactor_of([*typed, *ini]) if typed or ini else None
        if redactor is not None and not hasattr(config, "workerinput"):
            check_speed(redactor)
    except PatternRefused as error:
        name, before = (REDACT, 0) if error.number <= len(typed) else ("voicebench_redact", len(typed))
        raise pytest.UsageError(f"{name}: pattern {error.number - before} {error}") from None
    config.stash[_keeping] = Keeping(sound=not config.getoption("voicebench_no_audio"), redactor=redactor)
    if redactor is not None:
        _search_reports(config)


def hide_keys(config: pytest.Config) -> None:
    """From now on no key of the environment or of `.env` files is shown, whoever's code shows it."""
    from pytest_voicebench.agents.credentials import secrets_pattern
    from pytest_voicebench.hidden import HIDDEN
    from pytest_voicebench.redacting import Redactor

    found = secrets_pattern()
    if found is not None:
        secrets = Redactor(patterns=(found,), mark=HIDDEN)
        config.stash[_keeping] = replace(kept(config), secrets=secrets)
        _search_reports(config)


def _search_reports(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin(NAME):
        config.pluginmanager.register(KeptReports(config), NAME)
    search_logs(config)


def search_logs(config: pytest.Config) -> None:
    """Search what pytest logs live and into its log file; no report holds that."""
    logs = config.pluginmanager.getplugin("logging-plugin")
    for handler in (getattr(logs, name, None) for name in ("log_cli_handler", "log_file_handler")):
        if isinstance(handler, logging.Handler) and not isinstance(handler.formatter, _Searched):
            handler.setFormatter(_Searched(handler.formatter or logging.Formatter(), config))


def _without_keys(held: Conversation, secrets: Redactor) -> Conversation:
    """The conversation without keys; its events are read only where one stands."""
    (pattern,) = secrets.patterns
    events = tuple(secrets.text(line) if pattern.search(line) else line for line in held.wire_events)
    return replace(secrets.conversation(replace(held, wire_events=())), wire_events=events)


class KeptReports:
    """Hooks that everything passes which pytest says about items, before anybody shows, writes or sends it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @property
    def keeping(self) -> Keeping:
        """What is kept by now."""
        return kept(self.config)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        """Search the report of an item."""
        self._search(report)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> Any:
        """Search the report of a file that could not be collected."""
        self._search(report)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Search a warning, which the terminal repeats at the end; the line of code that it stands in may go."""
        text = str(warning_message.message)
        if self.keeping.redactor is not None or self.keeping.text(text) != text:
            warning_message.line = ""
        if self.keeping.text(text) != text:
            warning_message.message = UserWarning(self.keeping.text(text))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Search the logs, whose handlers are there by now."""
        search_logs(session.config)

    def _search(self, report: Any) -> None:
        text = self.keeping.text
        report.sections = [(text(title), text(content)) for title, content in report.sections]
        if isinstance(report.longrepr, tuple):  # of a skip: file, line, reason
            path, line, reason = report.longrepr
            report.longrepr = (path, line, text(reason))
        elif report.longrepr is not None and text(shown := str(report.longrepr)) != shown:
            report.longrepr = text(shown)
        if hasattr(report, "user_properties"):
            report.user_properties = [(name, _searched(text, name, value)) for name, value in report.user_properties]


class _Searched(logging.Formatter):
    """Another formatter's lines, as they may be shown."""

    def __init__(self, formatter: logging.Formatter, config: pytest.Config) -> None:
        super().__init__()
        self._formatter, self._config = formatter, config

    def format(self, record: logging.LogRecord) -> str:
        """The record's line, searched."""
        return kept(self._config).text(self._formatter.format(record))


def _searched(text: Any, name: str, value: object) -> object:
    """A property's value; what finds an item and its files stays."""
    from pytest_voicebench.writers.junit_properties import NAMES, PREFIX

    if not isinstance(value, str) or (name.startswith(PREFIX) and name.removeprefix(PREFIX) in NAMES):
        return value
    return text(value)
