"""The templates for CI: valid for the schemas of their makers; their commands run here, all shards and the merge."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from strict_junit import strict_errors
from suites_for_pytest import (
    HANGS_AFTER_S,
    ROOT,
    environment,
    plugin_arguments,
    scenario_yaml,
    write_conftest,
    write_suite,
)

DOCS = ROOT / "docs"
GITHUB, GITLAB, JENKINS = (DOCS / "ci" / name for name in ("github-actions.yml", "gitlab-ci.yml", "Jenkinsfile"))


class Yaml12(yaml.SafeLoader):
    """`on` is a key of GitHub's, and not true."""


Yaml12.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:bool"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def loaded(path: Path) -> Any:
    return yaml.load(path.read_text(), Loader=Yaml12)


@pytest.mark.parametrize(("template", "schema"), [(GITHUB, "github-workflows"), (GITLAB, "gitlab-ci")], ids=str)
def test_a_template_is_valid_for_the_published_schema(template, schema):
    vendored = pytest.importorskip("check_jsonschema").__path__[0]
    text = Path(vendored, "builtin_schemas", "vendor", f"{schema}.json").read_text()
    errors = [error.message for error in Draft7Validator(json.loads(text)).iter_errors(loaded(template))]
    assert not errors


def of_github():
    jobs = loaded(GITHUB)["jobs"]
    shells = {name: [step for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    shards = [
        (["bash", "-eo", "pipefail"], [step["run"] for step in shells["shard"]], {"SHARD": str(number)})
        for number in jobs["shard"]["strategy"]["matrix"]["shard"]
    ]
    return loaded(GITHUB)["env"], shards, (["bash", "-eo", "pipefail"], [step["run"] for step in shells["merge"]], {})


def of_gitlab():
    jobs = loaded(GITLAB)
    count = jobs["shard"]["parallel"]
    shell = ["bash", "-eo", "pipefail"]
    nodes = [{"CI_NODE_INDEX": str(n), "CI_NODE_TOTAL": str(count)} for n in range(1, count + 1)]
    shards = [(shell, ["\n".join(jobs["shard"]["script"])], node) for node in nodes]
    return jobs["variables"], shards, (shell, ["\n".join(jobs["merge"]["script"])], {})


def of_jenkins():
    text = JENKINS.read_text()
    assert text.count("{") == text.count("}")
    found = [long or short for long, short in re.findall(r"\bsh (?:'''(.*?)'''|'([^']*)')", text, re.DOTALL)]
    steps = [textwrap.dedent(step) for step in found]
    at = next(i for i, step in enumerate(steps) if step == "rm -rf shards merged")
    numbers = re.findall(r"'(\d)'", re.search(r"values (.*)", text)[1])
    values = dict(re.findall(r"^ +([A-Z]+) = '(.*?)'", text, re.MULTILINE))
    shell = ["sh", "-xe"]
    # Jenkins runs each shard in a workspace of its own, this test all of them in one folder
    shards = [(shell, [s for s in steps[:at] if s != "rm -rf shards"], {"SHARD": number}) for number in numbers]
    return values, shards, (shell, [steps[at].replace("rm -rf shards merged", "rm -rf merged"), *steps[at + 1 :]], {})


def of_the_page():
    block = re.search(r"```bash\n(.*?)```", (DOCS / "ci.md").read_text(), re.DOTALL)[1]
    return {}, [], (["bash", "-o", "pipefail"], [block.replace("suites/fdb3", "suites")], {})


@pytest.fixture
def repository(tmp_path):
    """A repository with a suite, and what `pytest`, `python` and `pip` mean there."""
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in range(1, 10)))
    meant = {
        "pytest": f'exec "{sys.executable}" -m pytest {" ".join(plugin_arguments())} "$@"',
        "python": f'exec "{sys.executable}" "$@"',
        "pip": 'echo "$@" >> pip.txt',
    }
    for name, line in meant.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    return tmp_path


def run(folder: Path, shell: Sequence[str], scripts: Sequence[str], variables: dict[str, str]) -> int:
    """The scripts in turn, as a runner does: the first that fails is the last; its exit status."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    known = environment(PATH=path, GITHUB_STEP_SUMMARY=str(folder / "step_summary.md"), **variables)
    for script in scripts:
        done = subprocess.run([*shell, "-c", script], cwd=folder, env=known, timeout=HANGS_AFTER_S, check=False)
        if done.returncode:
            return done.returncode
    return 0


@pytest.mark.parametrize("template", [of_github, of_gitlab, of_jenkins, of_the_page], ids=lambda f: f.__name__)
def test_the_commands_of_a_template_hold_eight_shards_and_merge_them(template, repository):
    values, shards, (shell, scripts, more) = template()
    given = {**values, "SUITE": "suites", "AGENT": "simulated"}
    assert set(values) <= {"PACKAGE", "SUITE", "AGENT"}
    assert len(shards) == 8 or template is of_the_page
    for own_shell, own_scripts, variables in shards:
        assert run(repository, own_shell, own_scripts, {**given, **variables}) == 0
    assert run(repository, shell, scripts, {**given, **more}) == 0
    assert len([path for path in (repository / "shards").iterdir() if path.is_dir()]) == 8
    merged = repository / "merged"
    counts = json.loads((merged / "summary.json").read_text())["counts"]
    assert (counts["planned"], counts["passed"]) == (9, 9)
    assert len(list(ET.parse(merged / "junit.xml").iter("testcase"))) == 9
    assert not strict_errors(merged / "junit.xml")
    assert (merged / "summary.md").read_text().startswith("## voicebench: Pass@1 1.000 (")
    if template is of_github:
        assert (repository / "step_summary.md").read_text() == (merged / "summary.md").read_text()
    if template is not of_the_page:
        assert set((repository / "pip.txt").read_text().splitlines()) == {"install pytest-voicebench"}


def test_a_shard_whose_items_fail_is_green_and_the_merge_is_red(repository):
    values, shards, merge = of_gitlab()
    given = {**values, "SUITE": "suites", "AGENT": "simulated,behaviour=no_op"}
    shell, scripts, variables = shards[0]
    one = {**variables, "CI_NODE_TOTAL": "1"}
    assert run(repository, shell, scripts, {**given, **one}) == 0
    assert run(repository, merge[0], merge[1], given) == 1
    assert (repository / "merged" / "junit.xml").is_file()  # the merge request shows what failed


def test_a_shard_that_broke_is_red(repository):
    values, shards, _ = of_gitlab()
    shell, scripts, variables = shards[0]
    assert run(repository, shell, scripts, {**values, "SUITE": "suites", "AGENT": "nobody", **variables}) == 1
