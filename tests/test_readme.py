"""The README's own files and commands, tried as they stand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.own_server import own_server

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def run(folder, *arguments, ok=0):
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
    )
    assert done.returncode == ok, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def written_suite(tmp_path):
    """The four files of "Write a scenario", each named by its first line."""
    for block in blocks("yaml"):
        name = re.match(r"# (\S+?),? ", block.replace("\n", " ", 1))[1]
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
    (tmp_path / "suites/mine/instructions.md").write_text("Help the user at once.\n")
    (tmp_path / "suites/mine/audio").mkdir()
    return tmp_path


@pytest.mark.skipif(shutil.which("flite") is None, reason="the README's example speaks with flite")
def test_the_scenario_of_the_readme_is_spoken_valid_and_passes_with_the_oracle(written_suite):
    run(written_suite, "pytest_voicebench", "synthesize", "suites/mine/script.yaml")
    assert "OK: 1 scenario, 1 recording" in run(
        written_suite, "pytest_voicebench", "validate", "suites/mine/flights.yaml"
    )
    shown = run(written_suite, "pytest", "--agent=simulated", "-p", "no:cacheprovider")
    assert "1 passed" in shown
    shown = run(written_suite, "pytest", "--agent=simulated,behaviour=stale_commit", "-p", "no:cacheprovider", ok=1)
    assert "stale" in shown


def test_the_agent_of_the_readme_passes_a_scenario_with_a_server_that_works(tmp_path):
    shutil.copytree(ROOT / "suites" / "fdb3", tmp_path / "suites" / "fdb3")
    with own_server("track_order", {"order_id": "K772M"}) as port:
        (tmp_path / "my_agent.py").write_text(blocks("python")[0].replace("127.0.0.1:9000", f"127.0.0.1:{port}"))
        item = "suites/fdb3/ecommerce.yaml::scenario[ecommerce_01-a]"
        shown = run(tmp_path, "pytest", item, "--agent=my_agent:MyAgent", "-p", "no:cacheprovider")
    assert "1 passed" in shown


def test_the_matcher_of_the_readme_gives_the_verdict_it_says(tmp_path):
    code = next(block for block in blocks("python") if block.startswith("# plates.py"))
    (tmp_path / "plates.py").write_text(code)
    command = next(line for block in blocks("bash") for line in block.splitlines() if "match plates:plate" in line)
    words, _, said = command.partition("#")
    assert run(tmp_path, *shlex.split(words)[2:]).strip() == said.strip()
    run(tmp_path, *shlex.split(words.replace("ab102", "ab103"))[2:], ok=1)


def test_the_rescoring_of_the_readme_moves_the_one_item_it_says(tmp_path):
    shutil.copytree(ROOT / "suites" / "fdb3", tmp_path / "suites" / "fdb3")
    quick = ("suites/fdb3", "-m", "quick", "-p", "no:cacheprovider", "-q", "--tb=no")
    run(tmp_path, "pytest", *quick, "--agent=simulated,behaviour=stale_commit", ok=1)
    first = (tmp_path / "reports" / "latest").read_text().strip()
    travel = tmp_path / "suites" / "fdb3" / "travel.yaml"
    item = re.search(r"- id: travel_10\n.*?(?=\n  - id: )", travel.read_text(), re.DOTALL)[0]
    assert "FL629" in item.partition("expect:")[2]
    changed = item.partition("expect:")[0] + "expect:" + item.partition("expect:")[2].replace("FL629", "FL620")
    travel.write_text(travel.read_text().replace(item, changed))
    run(tmp_path, "pytest", *quick, "--voicebench-rescore", "latest", ok=1)
    shown = run(tmp_path, "pytest_voicebench", "compare", first, "latest", ok=1)
    assert "travel_10  failed -> passed" in shown
    assert "20 items compared: 1 now passes, 19 are the same." in shown
    assert "20 items compared: 1 now passes, 19 are the same." in README


def test_the_gates_of_the_readme_find_what_it_says(tmp_path):
    shutil.copytree(ROOT / "suites" / "fdb3", tmp_path / "suites" / "fdb3")
    script = next(block for block in blocks("bash") if "baseline.jsonl" in block)
    first, copy, gated = re.sub(r"\\\n +", "", script).strip().splitlines()
    quiet = ("-p", "no:cacheprovider", "--tb=no", "-rN")
    run(tmp_path, *shlex.split(first, comments=True), *quiet)
    subprocess.run(["sh", "-c", copy], cwd=tmp_path, check=True)
    shown = run(tmp_path, *shlex.split(gated, comments=True), *quiet, ok=1)
    said = re.search(r"^```\n(Against baseline.*?)```", README, re.DOTALL | re.MULTILINE)[1]
    assert [line for line in said.splitlines() if line != "..." and line not in shown] == []


def test_every_command_of_the_readme_exists():
    named = set(re.findall(r"python -m pytest_voicebench ([\w-]+)", README))
    shown = run(ROOT, "pytest_voicebench", "--help")
    assert named <= set(re.findall(r"^  ([\w-]+)  ", shown, re.MULTILINE))
