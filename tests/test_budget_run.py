"""Costs in runs of pytest: the bill of each item, the estimate, and `--voicebench-max-usd`, over the wire."""

from __future__ import annotations

import json

import pytest
from suites_for_pytest import (
    PASSING,
    latest_run,
    outcomes,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.plan import completed, read_plan
from pytest_voicebench.result_files import read_results
from pytest_voicebench.saved_run import load_run
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
LINE = recite([CALL, Say(voice="reply")])
PRICE = "- {{agent: {agent}, date: 2026-01-31, source: my contract, per_minute: 0.0625, step_s: 3600}}\n"
A_SESSION = 3.75
"""USD: every session is charged as an hour, however slow this machine is; and so is the estimate."""


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in (1, 2, 3)))
    (tmp_path / "prices.yaml").write_text(PRICE.format(agent="gpt-realtime"))
    return tmp_path


def results(folder):
    run = latest_run(folder)
    return {r.item_id: r for r in completed(read_plan(run), read_results(run).results)}


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_no_conversation_begins_that_might_cost_more_than_is_allowed_and_the_rest_can_be_resumed(folder, ways):
    with openai_server(Script(), LINE) as double:
        options = (f"--agent=gpt-realtime,url={double.url}", "--voicebench-prices=prices.yaml", "-v", *ways)
        status, text = run_apart(folder, *options, "--voicebench-max-usd=8")
        assert len(double.sessions) == 2
        assert status == pytest.ExitCode.TESTS_FAILED, text
        assert sorted(outcome for outcome, _ in outcomes(folder).values()) == ["not_run", "passed", "passed"]
        (left,) = [r for r in results(folder).values() if r.outcome == "not_run"]
        assert left.cause == "it might cost more than the 8 USD that are allowed"
        assert "estimate 11.25 USD of at most 8 for 3 conversations, assuming 2 responses and 10 s of reply" in text
        name = latest_run(folder).name
        told = "stopped by --voicebench-max-usd=8: 7.50 USD spent, 1 item not run; to finish, allow more and add"
        assert f"voicebench: {told} --voicebench-resume={name}" in text
        assert "cost: 7.50 USD for 2 items" in text
        assert "gpt-realtime: 0.0625 USD a minute (my contract, 2026-01-31)" in text

        status, text = run_apart(folder, *options, "--voicebench-max-usd=11", "--voicebench-resume=latest")
        assert status == pytest.ExitCode.TESTS_FAILED, text
        assert len(double.sessions) == 2
        status, text = run_apart(folder, *options, "--voicebench-max-usd=11.25", "--voicebench-resume=latest")
    assert status == 0, text
    assert len(double.sessions) == 3
    assert all(r.outcome == "passed" and r.usd == A_SESSION and not r.attempts for r in results(folder).values())
    cost = summary_of(folder)["agents"][0]["cost"]
    assert cost == {"usd": 3 * A_SESSION, "priced": 3, "unknown": {}}
    item = json.loads((latest_run(folder) / "items" / "travel_01" / "result.json").read_text())
    assert item["usd"] == A_SESSION
    assert item["usage"]["session_s"] > 1
    junit = (latest_run(folder) / "junit.xml").read_text()
    assert '<property name="voicebench.gpt-realtime.usd" value="11.25"' in junit
    assert '<property name="travel_01.usd" value="3.75"' in junit


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_limit_without_a_price_is_a_usage_error_that_says_how_to_give_one(folder, ways):
    agent = "--agent=gpt-realtime,url=ws://127.0.0.1:9/v1/realtime"
    status, text = run_apart(folder, agent, "--voicebench-max-usd=5", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "--voicebench-max-usd: no price is known for gpt-realtime (model gpt-realtime): give one with"
    assert f"ERROR: {told} --voicebench-prices=FILE, as - {{agent: gpt-realtime, per_minute: 0.05, " in text
    assert not (folder / "reports").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--voicebench-max-usd=0"], "--voicebench-max-usd: must be an amount of USD above 0, not '0'"),
        (["--voicebench-max-usd=much"], "--voicebench-max-usd: must be an amount of USD above 0, not 'much'"),
        (["--voicebench-max-usd=nan"], "--voicebench-max-usd: must be an amount of USD above 0, not 'nan'"),
        (["--voicebench-prices=none.yaml"], "--voicebench-prices: "),
        (["-o", "voicebench_prices=pytest.ini"], "--voicebench-prices: "),
    ],
)
def test_a_wrong_amount_or_file_ends_the_run_in_one_line(folder, options, told):
    status, text = run_apart(folder, PASSING, *options)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert text.startswith(f"ERROR: {told}")
    assert len(text.strip().splitlines()) == 1


def test_agents_of_this_process_cost_nothing_and_no_limit_stops_them(folder):
    status, text = run_apart(folder, PASSING, "--voicebench-max-usd=0.01", "-v")
    assert status == 0, text
    assert "USD" not in text
    assert all(r.usd is None and r.usd_unknown is None for r in results(folder).values())


def test_an_agent_that_only_a_fixture_knows_is_not_begun_without_a_price(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write("\n@pytest.fixture\ndef agent(): return Scripted([], clock='wall')\n")
    status, text = run_apart(folder, "--voicebench-max-usd=5")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    assert set(outcomes(folder).values()) == {("not_run", None)}
    assert "stopped by --voicebench-max-usd=5: 0.00 USD spent, 3 items not run; to finish, allow more and add" in text
    assert results(folder)["travel_01"].cause == "no price is known, so that it might cost more than is allowed"


def test_what_has_no_price_is_unknown_and_a_connection_that_never_was_costs_nothing(folder):
    with openai_server(Script(), LINE) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        run_apart(folder, agent, "suites/travel.yaml::scenario[travel_01]")
    assert results(folder)["travel_01"].usd_unknown == "no price"
    assert summary_of(folder)["agents"][0]["cost"] == {"usd": None, "priced": 0, "unknown": {"no price": 1}}
    status, _ = run_apart(folder, agent, "--voicebench-prices=prices.yaml", "--voicebench-max-usd=3.75")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert set(outcomes(folder).values()) == {("error", "agent_absent")}
    assert summary_of(folder)["agents"][0]["cost"] == {"usd": None, "priced": 0, "unknown": {}}


def ledger_of(folder):
    return json.loads((latest_run(folder) / ".budget.json").read_text())


def test_a_session_whose_conversation_is_lost_is_paid_for_all_the_same(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\nfrom pytest_voicebench.agents.protocol import Unsupported\n"
            "@pytest.fixture\n"
            "def agent(): return Scripted([], clock='wall', raises={'inject': Unsupported('it takes no texts')})\n"
        )
    path = folder / "suites" / "travel.yaml"
    path.write_text(path.read_text().replace("    user:\n", "    user:\n      - inject: It is Kim.\n"))
    (folder / "prices.yaml").write_text(PRICE.format(agent="scripted"))
    status, text = run_apart(folder, "--voicebench-prices=prices.yaml", "--voicebench-max-usd=8")
    assert [outcome for outcome, _ in outcomes(folder).values()] == ["skipped", "skipped", "not_run"], text
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "stopped by --voicebench-max-usd=8: 7.50 USD spent, 1 item not run" in text
    assert summary_of(folder)["agents"][0]["cost"] == {"usd": None, "priced": 0, "unknown": {"session not counted": 2}}


def test_a_conversation_begun_ahead_that_its_item_never_asks_for_is_paid_for(folder):
    skips = (
        "\n@pytest.fixture(autouse=True)\ndef mood(request):\n    if 'travel_02' in request.node.name: pytest.skip()\n"
    )
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(skips)
    with openai_server(Script(), LINE) as double:
        options = (f"--agent=gpt-realtime,url={double.url}", "--voicebench-prices=prices.yaml")
        status, text = run_apart(folder, *options, "--voicebench-max-usd=12", "--voicebench-concurrency=3")
        assert status == 0, text
        assert len(double.sessions) == 3
    assert [outcome for outcome, _ in outcomes(folder).values()] == ["passed", "skipped", "passed"]
    assert (ledger_of(folder)["spent"], ledger_of(folder)["flight"]) == (3 * A_SESSION, {})
    cost = summary_of(folder)["agents"][0]["cost"]
    assert cost == {"usd": 2 * A_SESSION, "priced": 2, "unknown": {"session not counted": 1}}


AT_A_REPORT = "def pytest_runtest_logreport(report):\n    if report.when == 'teardown': raise KeyboardInterrupt"
AT_A_VERDICT = "def pytest_runtest_call(item):\n    if 'travel_02' in item.name: raise KeyboardInterrupt"


@pytest.mark.parametrize(
    ("stop", "way", "priced", "unknown"),
    [
        (AT_A_REPORT, ["--voicebench-concurrency=3"], 1, {"session not counted": 2}),
        (AT_A_VERDICT, ["-p", "no:xdist"], 2, {}),  # its usage had come
    ],
)
def test_what_an_interrupted_run_has_cost_is_told_and_what_was_cut_off_is_counted(folder, stop, way, priced, unknown):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(f"\n{stop}\n")
    with openai_server(Script(), LINE) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, "-v", "--voicebench-prices=prices.yaml", *way)
        assert status == pytest.ExitCode.INTERRUPTED, text
    assert [outcome for outcome, _ in outcomes(folder).values()][1:] == ["not_run", "not_run"]
    cost = {"usd": priced * A_SESSION, "priced": priced, "unknown": unknown}
    assert summary_of(folder)["agents"][0]["cost"] == cost
    assert load_run(latest_run(folder)).summary().agents[0].cost.unknown == unknown
    assert f"cost: {priced * A_SESSION:.2f} USD for {priced} item" in text
    assert ("session not counted" in text) == bool(unknown)


def test_of_an_interrupted_run_of_workers_what_they_had_begun_is_counted_as_unknown(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\ndef pytest_runtest_logreport(report):\n"
            "    if report.when == 'teardown' and hasattr(report, 'node'): raise KeyboardInterrupt\n"
        )
    with openai_server(Script(), LINE) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, "--voicebench-prices=prices.yaml", "-n", "2")
    assert status == pytest.ExitCode.INTERRUPTED, text
    cost = summary_of(folder)["agents"][0]["cost"]  # the summary waits for no worker
    assert cost["usd"] == cost["priced"] * A_SESSION
    assert 2 <= cost["priced"] + sum(cost["unknown"].values()) <= 3
    assert cost["unknown"].keys() <= {"session not counted"}


def test_of_several_agents_each_has_the_price_of_its_own_name(folder):
    url = "url=ws://127.0.0.1:9/v1/realtime"
    agents = (f"--agent=gpt-realtime,{url}", f"--agent=gpt-realtime,{url},voice=ash")
    _, text = run_apart(folder, *agents, "--voicebench-prices=prices.yaml", "--voicebench-max-usd=23")
    assert "estimate 22.50 USD of at most 23 for 6 conversations" in text
    assert set(outcomes(folder).values()) == {("error", "agent_absent")}, text
    assert len(json.loads((latest_run(folder) / "plan.json").read_text())["header"]["prices"]) == 2


def test_what_a_run_without_a_limit_spent_counts_when_it_is_resumed_with_one(folder):
    stops = (
        "\ndef pytest_runtest_setup(item):\n    if os.environ.get('STOPS', '-') in item.name: pytest.exit('enough')\n"
    )
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write("\nimport os" + stops)
    with openai_server(Script(), LINE) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        run_apart(folder, agent, STOPS="travel_02")
        assert len(double.sessions) == 1
        assert results(folder)["travel_01"].usd_unknown == "no price"
        options = ("--voicebench-prices=prices.yaml", "--voicebench-max-usd=8", "--voicebench-resume=latest")
        status, text = run_apart(folder, agent, *options)
        assert status == pytest.ExitCode.TESTS_FAILED
        assert len(double.sessions) == 2
    assert [outcome for outcome, _ in outcomes(folder).values()] == ["passed", "passed", "not_run"], text
    assert "7.50 USD spent, 1 item not run" in text
