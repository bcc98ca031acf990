"""Suite files as tests: which files, which ids, which names select them, and what is refused."""

from __future__ import annotations

import pytest
from suites_for_pytest import PASSING, pytest_in_process, scenario_yaml, write_conftest, write_suite

ALREADY = "ignore:Module already imported"  # by the pytest around this one


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process."""
    return pytest_in_process(pytester, monkeypatch)


def collected(result):
    return [line for line in result.outlines if "::" in line]


def travel(pytester, **kwargs):
    return write_suite(
        pytester.path / "suites",
        scenario_yaml("travel_01"),
        scenario_yaml("travel_02", disfluency="self_correction", more="speakers: [a, b]\n    tags: [quick]"),
        scenario_yaml("travel_03", difficulty="hard", disfluency="self_correction"),
        **kwargs,
    )


def test_items_have_ids_and_can_be_selected_by_every_name_without_an_agent_or_a_file(pytester, run):
    travel(pytester)
    ids = [f"suites/travel.yaml::scenario[{i}]" for i in ("travel_01", "travel_02-a", "travel_02-b", "travel_03")]
    selections = {
        (): ids,
        ("-k", "self_correction"): ids[1:],
        ("-m", "hard and travel_identity"): ids[3:],
        ("-m", "quick and indian"): ids[2:3],
        ("-m", "native"): [ids[0], ids[1], ids[3]],
        (ids[3],): ids[3:],
        ("-k", "nothing_like_this"): [],
    }
    for arguments, expected in selections.items():
        result = run("--collect-only", "-q", "--strict-markers", "-W", "error", "-W", ALREADY, *arguments)
        assert collected(result) == expected, arguments
    result = run("--collect-only", "-q", "-k", "travel_03")
    result.stdout.fnmatch_lines(["voicebench: 1 of 4 scenarios selected, agent local"])
    assert sorted(p.name for p in pytester.path.iterdir() if not p.name.startswith(".")) == [
        "conftest.py",
        "pytest.ini",
        "suites",
    ]


def test_only_files_that_match_and_say_so_are_suites(pytester, run):
    travel(pytester)
    suites = pytester.path / "suites"
    (suites / "docker-compose.yaml").write_text("services: {web: {image: nginx}}\n")
    (suites / "broken.yaml").write_text("\tnot yaml: [\n")
    (suites / "empty.yaml").write_text("")
    (pytester.path / "elsewhere").mkdir()
    for name in ("tools.yaml", "speakers.yaml", "travel.yaml"):
        (suites / name).rename(pytester.path / "elsewhere" / name)
    (suites / "audio").rename(pytester.path / "elsewhere" / "audio")
    assert collected(run("--collect-only", "-q")) == []
    assert len(collected(run("--collect-only", "-q", "elsewhere/travel.yaml"))) == 4  # named, so meant
    assert len(collected(run("--collect-only", "-q", "-o", "voicebench_suites=else*/*.yaml"))) == 4


def test_mistakes_of_a_suite_are_one_line_each_and_nothing_else(pytester, run):
    suite = travel(pytester)
    suite.write_text(suite.read_text().replace("search_flights:", "serch_flights:", 1).replace("today:", "todya:"))
    result = run("-q", PASSING)
    text = result.stdout.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert text.count(f"{suite}:") == 3  # todya, today missing, the tool
    assert "Traceback" not in text
    assert "collect.py" not in text
    assert not (pytester.path / "reports").exists()


def test_one_id_in_two_files_is_refused_naming_both(pytester, run):
    travel(pytester)
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"), name="other.yaml")
    result = run("--collect-only", "-q")
    result.stdout.re_match_lines([r".*travel\.yaml:\d+: travel_01: the id stands twice; first in .*other\.yaml:\d+"])


def test_a_domain_named_like_a_marker_that_does_something_is_refused(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01", more="speakers: [a]\n    tags: [xfail]"))
    result = run("--collect-only", "-q")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.re_match_lines([r".*travel\.yaml:\d+: .*xfail.*"])


def test_without_pytest_asyncio_the_error_says_what_to_do(pytester, run):
    travel(pytester)
    result = run(PASSING, "-p", "no:pytest_asyncio.plugin")
    result.stdout.fnmatch_lines(["scenarios need pytest-asyncio: *"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--agent=simulatd"], "ERROR: unknown agent 'simulatd': did you mean 'simulated'?"),
        (["--agent=simulated,behavior=oracle"], "no setting 'behavior' (did you mean 'behaviour'?)"),
        (["--agent=simulated,behaviour=x"], "unknown behaviour 'x'"),
        (["--agent=simulated", "--agent=simulated"], "given twice"),
        (["--agent=:x"], "agent ':x': cannot import ''"),
        (["--agent=..x:y"], "agent '..x:y': cannot import '..x'"),
        (["--agent=simulated,delay_s=abc"], "delay_s must be a number, not 'abc'"),
        (["--agent=simulated,self=1"], "no setting 'self'"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_on_one_line(pytester, run, arguments, words):
    travel(pytester)
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in result.errlines if line.startswith("ERROR")]
    assert len(errors) == 1
    assert words in errors[0]
    assert not (pytester.path / "reports").exists()


def test_an_agent_option_that_an_own_fixture_would_ignore_is_a_usage_error(pytester, run):
    travel(pytester)
    write_conftest(pytester.path, "@pytest.fixture\ndef agent(): return Scripted([])\n")
    result = run(PASSING)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "overrides the `agent` fixture" in result.stderr.str()
    write_conftest(pytester.path, "@pytest.fixture\ndef agent(agent): return agent\n")
    assert run(PASSING, "-q", "-k", "travel_01").ret == 0  # it builds on the one asked for


def test_several_agents_join_the_ids(pytester, run):
    travel(pytester)
    result = run("--collect-only", "-q", PASSING, "--agent=simulated,behaviour=no_op", "-k", "travel_02")
    assert [line.partition("[")[2] for line in collected(result)] == [
        "simulated-travel_02-a]",
        "simulated-travel_02-b]",
        "simulated_no_op-travel_02-a]",
        "simulated_no_op-travel_02-b]",
    ]


def test_a_repository_that_owns_the_agent_option_keeps_it(pytester, run):
    travel(pytester)
    write_conftest(
        pytester.path,
        """
        def pytest_addoption(parser):
            parser.addoption("--agent", default="mine", help="theirs")
        """,
    )
    pytester.makepyfile("def test_theirs(request): assert request.config.getoption('--agent') == 'Smith'")
    assert run("-q", "--agent", "Smith", "test_a_repository_that_owns_the_agent_option_keeps_it.py").ret == 0
    result = run("-q", "--voicebench-agent=simulated,behaviour=no_op", "-k", "travel_01")
    result.stdout.fnmatch_lines(["*again*--voicebench-agent=simulated,behaviour=no_op*"])


@pytest.mark.parametrize(
    ("names", "only"),
    [
        (["a.ogg", "a.json", "b.WAV"], True),
        (["a.json"], False),
        ([], False),
        (["a.ogg", "test_x.py"], False),
        (["a.ogg", "conftest.py"], False),
        (["a.ogg", "notes.txt"], False),
        (["a.ogg", "folder"], False),
    ],
)
def test_a_folder_of_nothing_but_recordings_is_not_walked(tmp_path, names, only):
    from pytest_voicebench.plugin.recordings import holds_only_recordings

    for name in names:
        (tmp_path / name).touch()
    assert holds_only_recordings(tmp_path) is only
    assert not holds_only_recordings(tmp_path / "missing")
