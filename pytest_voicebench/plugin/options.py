"""What a user can set: command-line options and ini values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.whole_numbers import whole_number

if TYPE_CHECKING:
    from pytest_voicebench.agents.naming import AgentSpec
    from pytest_voicebench.judging.settings import Endpoint, JudgeSettings
    from pytest_voicebench.rescoring import RecordedRun

GROUP = "voicebench"
OPTION = "--voicebench-agent"
CONCURRENCY = "--voicebench-concurrency"
MOST_CONVERSATIONS = 10_000
ALIAS = "--agent"
WORDS = "--voicebench-words"
DEFAULT_SUITES = ["suites/**/*.yaml"]
DEFAULT_REPORTS = "reports"

AGENT_HELP = (
    "the voice agent under test: a name (local, simulated, ...) or module:attribute, with settings as ,key=value; "
    "given twice it compares (default: local)"
)

WORDS_HELP = (
    "after each conversation: recognise writes down heard speech of the agent for which it gave no text, align finds "
    "the times of its texts that lack them; both with a comma; off (default)"
)
CONCURRENCY_HELP = (
    "hold up to N conversations at once in this process, for agents behind a network (default: 1); not beside -n"
)
NO_JUDGE = "none"
JUDGE_HELP = (
    "after the run, ask this model about what was said: MODEL[,timeout_s=60,retries=2,parallel=8,max_tokens=400,"
    "input_price=...,output_price=...] (prices of a million tokens); at OPENAI_BASE_URL, with OPENAI_API_KEY; "
    "none: no judge"
)

_option = pytest.StashKey[str]()
LIMIT = "--voicebench-limit"
LIMIT_HELP = (
    "sessions at once and sessions started per minute at a provider, by all processes together; NAME is an agent's; "
    "none: no limit (default: what the provider documents)"
)
RETRIES = "--voicebench-retries"
RETRIES_HELP = (
    "how often to connect where a provider says too many requests or server error, and within which time; 1: once "
    "(default: 5,120)"
)
MAX_USD = "--voicebench-max-usd"
MAX_USD_HELP = "begin no conversation that might bring the cost of the run above this (default: whatever it costs)"
PRICES = "--voicebench-prices"
PRICES_HELP = "a YAML file of prices, which add to those that are shipped and replace them"
RESCORE = "--voicebench-rescore"
RESUME = "--voicebench-resume"
RESUME_HELP = (
    "finish this interrupted run in its own folder: its folder, its name, or latest; what passed or failed stays, "
    "everything else is held; the suites and the agents must be the same"
)
TRIALS = "--voicebench-trials"
TRIALS_HELP = (
    "hold each scenario so many times, at most 100, each an item of its own: pass^k, pass@k, and which scenarios are "
    "flaky (default: 1)"
)
SHARD = "--voicebench-shard"
SHARD_HELP = (
    "hold this part of the selected items only, as in 3/8: parts of about the same time, on machines side by side; "
    "`python -m pytest_voicebench merge` makes one run of them"
)
BASELINE = "--voicebench-baseline"
BASELINE_HELP = (
    "compare with this run, item by item: a run's results.jsonl under any name, its folder, its name, or latest (the "
    "newest finished one)"
)
GATE = "--voicebench-gate"
GATE_HELP = (
    "what must hold for exit status 0, whatever single scenarios do; may be given again: pass_at_1 >= 0.55, "
    "hard.f1 >= 0.8, first_response_latency_s.p95 <= 2.5, must_pass(travel_19), errors <= 2, "
    "no_regression(pass_at_1, min_effect=0.05)"
)
STRICT_HELP = "a gate that cannot be told fails"
NO_AUDIO = "--voicebench-no-audio"
NO_AUDIO_HELP = "keep no recording: no audio.flac is written; scores are the same"
REDACT = "--voicebench-redact"
REDACT_HELP = (
    "replace what this regular expression matches by [redacted] in everything the run writes and shows; repeatable; "
    "scores are made before, recordings are not changed"
)
HTML_EMBED = "--voicebench-html-embed"
HTML_EMBED_HELP = "put recordings and event logs into report.html, so that it can be sent alone"
LABEL = "_voicebench_label"
"""The parameter that, where a run of several agents is rescored, names one of them as the run's ids do."""

_rescored = pytest.StashKey["RecordedRun"]()
_specs = pytest.StashKey["tuple[AgentSpec, ...]"]()


def add_options(parser: pytest.Parser) -> None:
    """Declare the `--voicebench-*` options and `voicebench_*` ini values."""
    group = parser.getgroup(GROUP, "voice agents")
    _add_agent_option(group, OPTION, AGENT_HELP)
    group.addoption("--voicebench-reports", metavar="DIR", help="where run folders go (default: reports)")
    group.addoption(
        "--voicebench-skip-known-issues",
        action="store_true",
        help="leave out scenarios whose labels are known to be wrong (known_issue)",
    )
    group.addoption("--voicebench-judge", metavar="MODEL[,KEY=VALUE...]", help=JUDGE_HELP)
    group.addoption(
        RESCORE,
        metavar="RUN",
        help="judge the conversations of this run again and call nobody: its folder, its name, or latest",
    )
    group.addoption(RESUME, metavar="RUN", help=RESUME_HELP)
    group.addoption(WORDS, metavar="HOW", help=WORDS_HELP)
    group.addoption(HTML_EMBED, action="store_true", help=HTML_EMBED_HELP)
    _add_limits(group, parser)
    _add_gates(group, parser)
    _add_keeping(group, parser)
    group.addoption(CONCURRENCY, metavar="N", help=CONCURRENCY_HELP)
    group.addoption(TRIALS, metavar="K", help=TRIALS_HELP)
    group.addoption(SHARD, metavar="NUMBER/COUNT", help=SHARD_HELP)
    parser.addini("voicebench_trials", f"what {TRIALS} says where it is not given", default="")
    parser.addini("voicebench_concurrency", f"what {CONCURRENCY} says where it is not given", default="")
    parser.addini("voicebench_words", "what --voicebench-words says where it is not given", default="")
    parser.addini("voicebench_suites", "globs of suite files, from the root directory", "args", DEFAULT_SUITES)
    parser.addini("voicebench_reports", "where run folders go, from the root directory", default=DEFAULT_REPORTS)
    parser.addini("voicebench_agent", "the agent where --voicebench-agent is not given", default="")
    parser.addini("voicebench_judge", "the judge where --voicebench-judge is not given", default="")


def _add_gates(group: pytest.OptionGroup, parser: pytest.Parser) -> None:
    group.addoption(BASELINE, metavar="FILE|RUN", help=BASELINE_HELP)
    group.addoption(GATE, action="append", metavar="EXPR", help=GATE_HELP)
    group.addoption("--voicebench-strict", action="store_true", help=STRICT_HELP)
    parser.addini("voicebench_baseline", f"as {BASELINE}, a file from the root directory", default="")
    parser.addini("voicebench_gates", f"as {GATE}, one a line; both count", "linelist", [])


def _add_limits(group: pytest.OptionGroup, parser: pytest.Parser) -> None:
    group.addoption(LIMIT, action="append", metavar="NAME=SESSIONS[,N/min]", help=LIMIT_HELP)
    group.addoption(RETRIES, metavar="TRIES[,SECONDS]", help=RETRIES_HELP)
    group.addoption(MAX_USD, metavar="USD", help=MAX_USD_HELP)
    group.addoption(PRICES, metavar="FILE", help=PRICES_HELP)
    parser.addini("voicebench_max_usd", f"what {MAX_USD} says where it is not given", default="")
    parser.addini("voicebench_prices", f"as {PRICES}, from the root directory", default="")
    parser.addini("voicebench_limits", f"as {LIMIT}, one a line", "linelist", [])
    parser.addini("voicebench_retries", f"what {RETRIES} says where it is not given", default="")


def _add_keeping(group: pytest.OptionGroup, parser: pytest.Parser) -> None:
    group.addoption(NO_AUDIO, action="store_true", help=NO_AUDIO_HELP)
    group.addoption(REDACT, action="append", metavar="REGEX", help=REDACT_HELP)
    parser.addini("voicebench_redact", f"as {REDACT}, one a line; both count", "linelist", [])


def add_agent_alias(parser: pytest.Parser, config: pytest.Config) -> None:
    """Declare `--agent`, unless the repository or another plugin owns that name.

    To be called once the repository's conftest files have had their say: they load after this plugin.
    """
    _, unknown = parser.parse_known_and_unknown_args(["--agent=x"])
    if "--agent=x" in unknown:
        _add_agent_option(parser.getgroup(GROUP), ALIAS, "short for --voicebench-agent")
        config.stash[_option] = ALIAS


def refuse_empty(config: pytest.Config) -> None:
    """Raise pytest.UsageError for an option without a value, as `--voicebench-max-usd=$UNSET` is: not to be left out in
    silence."""
    for name, value in vars(config.option).items():
        if name.startswith("voicebench_") and isinstance(value, str) and not value.strip():
            raise pytest.UsageError(f"--{name.replace('_', '-')} is empty: give it a value, or drop it")


def without_keys(error: pytest.UsageError) -> pytest.UsageError:
    """The same, as people may be shown it."""
    from pytest_voicebench.agents.credentials import without_keys as shown

    return pytest.UsageError(*(shown(str(text)) for text in error.args))


def limits_given(config: pytest.Config) -> bool:
    """Whether anything is said of limits, tries or money: then it is read before anything is collected."""
    options = ("voicebench_limit", "voicebench_retries", "voicebench_max_usd", "voicebench_prices")
    ini = ("voicebench_limits", "voicebench_retries", "voicebench_max_usd", "voicebench_prices")
    return any(config.getoption(name) for name in options) or any(config.getini(name) for name in ini)


def gates_given(config: pytest.Config) -> bool:
    """Whether the run is held against anything: then it is read before anything is collected."""
    return any(
        (
            config.getoption("voicebench_baseline"),
            config.getoption("voicebench_gate"),
            config.getini("voicebench_baseline"),
            config.getini("voicebench_gates"),
        )
    )


def keeping_asked(config: pytest.Config) -> bool:
    """Whether anything is to be withheld from what the run writes."""
    return any(map(config.getoption, ("voicebench_no_audio", "voicebench_redact"))) or bool(
        config.getini("voicebench_redact")
    )


def agent_option(config: pytest.Config) -> str:
    """The shortest option that names the agent in this repository."""
    return config.stash.get(_option, OPTION)


def _add_agent_option(group: pytest.OptionGroup, name: str, text: str) -> None:
    group.addoption(name, dest="voicebench_agent", action="append", metavar="NAME[,KEY=VALUE...]", help=text)


def agents_given(config: pytest.Config) -> list[str]:
    """The texts of `--agent`, else of the ini value, else nothing; nothing where a run is rescored."""
    if _rescored in config.stash:
        return []
    given = config.getoption("voicebench_agent") or []
    ini = config.getini("voicebench_agent")
    return list(given) or ([ini] if ini else [])


def agent_specs(config: pytest.Config) -> tuple[AgentSpec, ...]:
    """The agents of this run, at least one. Raises pytest.UsageError, one line."""
    specs = config.stash.get(_specs, None)
    if specs is None:
        from pytest_voicebench.agents.naming import DEFAULT_AGENT, AgentNameError, parse_agents

        try:
            specs = parse_agents(agents_given(config) or [DEFAULT_AGENT])
        except AgentNameError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[_specs] = specs
    return specs


def rescored_run(config: pytest.Config) -> RecordedRun | None:
    """The run whose conversations are judged again, None where conversations are held."""
    return config.stash.get(_rescored, None)


def check_rescore(config: pytest.Config) -> None:
    """Read the run that `--voicebench-rescore` names, before this run becomes the latest. Raises pytest.UsageError.

    Workers of xdist are told its folder by the controller.
    """
    given = config.getoption("voicebench_rescore")
    if given is None:
        return
    agents = config.getoption("voicebench_agent")
    if agents:
        raise pytest.UsageError(
            f"{agent_option(config)} {agents[0]} has no effect beside {RESCORE}: the conversations were held; drop one"
        )
    from pytest_voicebench.plugin import rescore
    from pytest_voicebench.rescoring import recorded_run
    from pytest_voicebench.result_files import RunUnreadable, find_run
    from pytest_voicebench.saved_run import load_run
    from pytest_voicebench.writers.plain_text import one_line

    worker: dict[str, str] = getattr(config, "workerinput", {})
    here = Path(config.invocation_params.dir, given)
    try:
        folder = find_run(
            worker.get("voicebench_rescored") or (str(here) if here.exists() else given), reports_folder(config)
        )
        config.stash[_rescored] = recorded_run(load_run(folder.absolute()))
    except RunUnreadable as error:
        raise pytest.UsageError(one_line(f"{RESCORE}: {error}")) from None
    config.pluginmanager.register(rescore, rescore.NAME)


def check_agents(config: pytest.Config) -> None:
    """Find what `--agent` names before anything is collected, and its key. Raises pytest.UsageError.

    For an agent that only the ini file names the key is looked for when there are scenarios: other tests need none.
    """
    if not agents_given(config):
        return
    from pytest_voicebench.agents.naming import AgentNameError, check_hosted, find_agent

    _allow_own_modules(config)
    try:
        for spec in agent_specs(config):
            find_agent(spec)
            if config.getoption("voicebench_agent") and not config.getoption("collectonly"):
                check_hosted(spec)
    except AgentNameError as error:
        raise pytest.UsageError(str(error)) from None


def concurrency(config: pytest.Config) -> int:
    """How many conversations this process holds at once. Raises pytest.UsageError."""
    given = config.getoption("voicebench_concurrency")
    name, text = (CONCURRENCY, given) if given is not None else ("voicebench_concurrency", "")
    text = text or config.getini("voicebench_concurrency") or "1"
    try:
        return whole_number(text, MOST_CONVERSATIONS)
    except ValueError as error:
        raise pytest.UsageError(f"{name} {error}") from None


def judge_asked(config: pytest.Config) -> tuple[JudgeSettings, Endpoint] | None:
    """The judge of this run and where it is; None without one. Raises pytest.UsageError, one line.

    Rescoring uses no network unless the option asks for it: the ini value does not count there.
    """
    given = config.getoption("voicebench_judge")
    ini = "" if config.getoption("voicebench_rescore") else config.getini("voicebench_judge")
    text = ini if given is None else given
    if text == NO_JUDGE or (given is None and not text):
        return None
    from pytest_voicebench.judging.settings import JudgeSettingsError, endpoint_of, parse_judge

    try:
        return parse_judge(text), endpoint_of()
    except JudgeSettingsError as error:
        raise pytest.UsageError(f"--voicebench-judge: {error}") from None


def _allow_own_modules(config: pytest.Config) -> None:
    import sys

    root = str(config.rootpath)
    if root not in sys.path and any(":" in text for text in agents_given(config)):
        sys.path.append(root)  # `module:attribute` of a repository that is not installed


def reports_folder(config: pytest.Config) -> Path:
    """Where run folders go: the option counts from the current directory, the ini value from the root directory."""
    given = config.getoption("voicebench_reports")
    if given:
        return Path(config.invocation_params.dir, given)
    return Path(config.rootpath, config.getini("voicebench_reports"))
