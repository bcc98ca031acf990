"""manifest.json: how a run was made, without secrets, names of machines, or anybody's home."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from golden import FOLDER, check_golden
from results import a_result
from suites_for_pytest import PASSING, latest_run, run_apart, scenario_yaml, summary_of, write_conftest, write_suite

from pytest_voicebench.conversation import AgentInfo, Delivery
from pytest_voicebench.machine import Load, Machine, git_commit
from pytest_voicebench.manifest import SCHEMA_PATH, manifest_bytes, manifest_of, merged_manifest, write_manifest
from pytest_voicebench.plan import Plan, SuiteSource, mode_of
from pytest_voicebench.plugin.manifest import masked
from pytest_voicebench.writers.summary_json import manifest_schema

SOURCE = SuiteSource(
    suite="fdb3",
    instructions_sha256="3" * 64,
    documents_sha256=(),
    tools_sha256="4" * 64,
    recordings={"audio/travel_01.a.ogg": "5" * 64},
    room_tone_seeds={"a": 7},
)
MACHINE = Machine(cores=2, memory_bytes=8_000_000_000, system="Linux", release="6.1", architecture="x86_64")


def delivery(p99_s, max_s):
    return Delivery(
        planned_blocks=9,
        sent_blocks=9,
        late_p50_s=0.0,
        late_p99_s=p99_s,
        late_max_s=max_s,
        read_late_p99_s=p99_s and 2 * p99_s,
        answer_late_max_s=max_s and 2 * max_s,
    )


def a_manifest(**changes):
    home = str(Path.home())
    agent = AgentInfo(name="grok", model="g", settings={"url": f"unix:{home}/s", "api_key": "sk-1"})
    rows = [
        a_result(f"travel_0{n}", agent=agent, delivery=delivery(n / 1000, n / 100), folder=f"items/travel_0{n}")
        for n in (1, 2, 3)
    ]
    plan = Plan(
        collected=3,
        items=tuple(replace(row, outcome="not_run", scorecard=None, delivery=None, folder=None) for row in rows),
        header={"run": "r1", "versions": {"python": "3.11.7"}, "workers": 2},
        sources=(SOURCE,),
    )
    values = {
        "command": ["suites/fdb3", f"--rootdir={home}/work"],
        "packages": {"openai": "1.0"},
        "commit": "abc",
        "machine": MACHINE,
        "load": Load(before=(0.5, 0.25, 0.1), after=(1.5, 0.5, 0.2)),
    }
    return manifest_of(plan, rows, **values | changes)


def test_a_manifest_looks_as_it_did_when_somebody_read_it():
    check_golden(FOLDER / "manifest.json", manifest_bytes(a_manifest()))


def test_its_published_schema_is_that_of_the_classes_and_it_fits(monkeypatch):
    check_golden(SCHEMA_PATH, json.dumps(manifest_schema(), indent=2).encode() + b"\n")
    for manifest in (a_manifest(), a_manifest(machine=None, load=None, command=None, commit=None)):
        jsonschema.validate(json.loads(manifest_bytes(manifest)), manifest_schema())


def test_a_merged_run_says_how_each_of_its_parts_was_held(tmp_path):
    ends = {"r1": "2026-11-30T10:00:00+00:00", "r2": "2026-11-30T11:00:00+00:00"}
    for name, ended_at in ends.items():
        (tmp_path / name).mkdir()
        write_manifest(tmp_path / name, a_manifest(ended_at=ended_at, command=["suites/fdb3", name]))
    (tmp_path / "bare").mkdir()
    folders = [tmp_path / name for name in ("r1", "r2", "bare")]
    whole = merged_manifest(Plan(collected=0, items=()), [], folders)
    assert (whole.ended_at, whole.commit, whole.packages) == (ends["r2"], "abc", {"openai": "1.0"})
    assert (whole.command, whole.machine, list(whole.parts)) == (None, None, ["r1", "r2"])
    assert whole.parts["r1"]["command"] == ["suites/fdb3", "r1"]
    assert whole.parts["r2"]["machine"]["cores"] == 2
    jsonschema.validate(json.loads(manifest_bytes(whole)), manifest_schema())


def test_what_differs_between_the_parts_is_told_of_the_parts_alone(tmp_path):
    for name in ("r1", "r2"):
        (tmp_path / name).mkdir()
        write_manifest(tmp_path / name, a_manifest(commit=name, packages={"openai": name}))
    whole = merged_manifest(Plan(collected=0, items=()), [], [tmp_path / "r1", tmp_path / "r2"])
    assert (whole.commit, whole.packages) == (None, {})
    assert [part["commit"] for part in whole.parts.values()] == ["r1", "r2"]


def test_lateness_is_over_conversations_on_the_wall_clock_alone():
    late = a_manifest().lateness
    assert (late.conversations, late.p99_median_s, late.p99_worst_s, late.max_s) == (3, 0.002, 0.003, 0.03)
    assert (late.read_p99_worst_s, late.answer_max_s) == (0.006, 0.06)
    nobody = manifest_of(Plan(collected=0, items=()), [a_result(delivery=delivery(None, None))])
    assert (nobody.lateness.conversations, nobody.lateness.p99_worst_s) == (0, None)


@pytest.mark.parametrize(
    ("header", "mode"),
    [({}, "live"), ({"rescored_from": "r1"}, "rescored"), ({"imported": "x"}, "imported")],
)
def test_the_mode_follows_from_how_the_results_came_about(header, mode):
    assert mode_of(header) == mode


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--agent=grok,api_key=sk-1,voice=Ara"], ["--agent=grok,api_key=***,voice=Ara"]),
        (["--voicebench-redact", "4111", "-n", "2"], ["--voicebench-redact", "***", "-n", "2"]),
        (["--voicebench-redact=4111"], ["--voicebench-redact=***"]),
        (["-o", "voicebench_redact=J(ane|ohn)"], ["-o", "voicebench_redact=***"]),
        (
            ["-ovoicebench_redact = J.*", "--override-ini=my_key=x"],
            ["-ovoicebench_redact =***", "--override-ini=my_key=***"],
        ),
        (["--my-token=abc", "--password", "x"], ["--my-token=***", "--password", "***"]),
        (["wss://me:pw@host/?key=1"], ["wss://***@host/?key=***"]),
        (["suites/fdb3", "-k", "travel"], ["suites/fdb3", "-k", "travel"]),
    ],
)
def test_the_command_line_is_told_without_secrets(words, shown):
    assert masked(words) == shown


def test_without_git_or_a_commit_there_is_no_commit(tmp_path, monkeypatch):
    assert git_commit(tmp_path / "nowhere") is None
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert git_commit(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert git_commit(tmp_path) is None


def commit_all(folder):
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


@pytest.mark.parametrize("way", [("-p", "no:xdist"), ("-n", "2")], ids=["alone", "workers"])
def test_a_run_tells_how_it_was_made_whatever_the_workers(tmp_path, way):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    (tmp_path / ".gitignore").write_text("*\n!suites\n!suites/**\n")
    commit_all(tmp_path)
    status, shown = run_apart(tmp_path, PASSING, "--voicebench-redact=Quillon", "--voicebench-no-audio", *way)
    assert status == 0, shown
    text = (latest_run(tmp_path) / "manifest.json").read_text()
    found = json.loads(text)
    jsonschema.validate(found, json.loads(SCHEMA_PATH.read_bytes()))
    header = summary_of(tmp_path)["header"]
    assert (found["mode"], header["mode"]) == ("live", "live")
    assert found["header"] == {name: value for name, value in header.items() if name != "mode"}
    assert found["command"][-len(way) :] == list(way)
    assert "--voicebench-redact=***" in found["command"]
    assert len(found["commit"]) == 40
    assert [agent["name"] for agent in found["agents"]] == ["simulated"]
    (source,) = found["sources"]
    assert list(source["recordings"]) == ["audio/turn.a.flac"]
    assert list(found["scenarios"][0]["items"]) == ["travel_01-a", "travel_02-a"]
    assert found["machine"]["cores"] >= 1
    assert found["load"]["after"] is not None
    for name in (platform.node(), str(Path.home()), f"/{getpass.getuser()}/", str(tmp_path)):
        assert name not in text
    assert "figures; mode: live" in shown


def test_a_rescored_run_says_so(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    run_apart(tmp_path, PASSING, plugins=())
    run_apart(tmp_path, "--voicebench-rescore=latest", plugins=())
    run = latest_run(tmp_path)
    assert json.loads((run / "manifest.json").read_text())["mode"] == "rescored"
    assert summary_of(tmp_path)["header"]["mode"] == "rescored"
    assert 'name="voicebench.mode" value="rescored"' in (run / "junit.xml").read_text()
