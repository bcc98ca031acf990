"""A phrase that is said, and that calls hold, over doubles of providers: it is in no byte of any artifact."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from suites_for_pytest import environment, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from tests.servers import cascade_script
from tests.servers.cascade_server import cascade_server
from tests.servers.gemini_script import GeminiScript
from tests.servers.gemini_server import gemini_server
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

PHRASE = "Zoë Quillon"
CARD = "4111222233334444"
PATTERN = r"(?i)zoë\s+quillon|\d{16}"
FORMS = tuple(form.casefold() for form in (PHRASE, CARD))
ESCAPES = (("\\u00eb", "ë"), ("\\xeb", "ë"), ("&#235;", "ë"), ("\\n", " "), ('\\"', '"'), ("\\\\", "\\"))
OURS = ("suites", "conftest.py", "pytest.ini")
WIRE = {"OPENAI_API_KEY": "sk-not-of-interest", "GOOGLE_API_KEY": "AIza-not-of-interest"}

ARGUMENTS = json.dumps({"destination": f'"{PHRASE}"\n{PHRASE}', "date": "2026-06-03", "card": int(CARD)})
"""As json.dumps writes it: the letters that are not ASCII, the quotes and the line's end are escapes."""

SPOKEN = f"Dear {PHRASE}, {CARD[:8]}{CARD[8:]} is your card."
ACTS = ([Call("search_flights", ARGUMENTS), Call(f"pay {PHRASE}", "{}"), Say(text=SPOKEN, voice="reply")],)

TOLD = f"""
import logging, warnings

@pytest.fixture(autouse=True)
def told(record_property):
    record_property("who", "{PHRASE}")
    logging.getLogger("own").warning("logged %r", "{PHRASE}")
    warnings.warn("warned of {PHRASE!a}")
    print("printed {PHRASE}")

def pytest_runtest_teardown(item):
    if "travel_02" in item.nodeid: raise RuntimeError("raised {PHRASE!a} {CARD}")
"""


def _answers(body: dict[str, Any]) -> cascade_script.Chat:
    if body["messages"][-1]["role"] == "tool":
        return cascade_script.Chat(SPOKEN)
    return cascade_script.Chat("", [cascade_script.Call("search_flights", ARGUMENTS)])


DOUBLES: dict[str, tuple[str, Callable[[], Any]]] = {
    "openai": ("gpt-realtime,url={}", lambda: openai_server(Script(bits=3), recite(*ACTS, heard=[SPOKEN]))),
    "gemini": ("gemini-live-2.5,url={}", lambda: gemini_server(GeminiScript(), recite(*ACTS, heard=[SPOKEN]))),
    "cascaded": (
        "cascaded,url={}",
        lambda: cascade_server(cascade_script.Script(heard=(SPOKEN,), chats=_answers, letters=3)),
    ),
}
EXPORTS = (("export", "ctrf"), ("export", "csv"), ("export", "parquet"), ("report",), ("case", "travel_01"))


def write_run(folder: Path) -> None:
    write_conftest(folder, textwrap.dedent(TOLD))
    text = write_suite(folder / "suites", *(scenario_yaml(f"travel_{n:02}") for n in (1, 2))).read_text()
    text = text.replace("A flight to Milan", f"A flight for {PHRASE}").replace("Find me a", f"{PHRASE} a")
    (folder / "suites" / "travel.yaml").write_text(text, encoding="utf-8")
    for timing in (folder / "suites" / "audio").glob("*.json"):
        words = timing.read_text().replace('"Find"', '"Zoë"').replace('"me"', '"Quillon"')
        timing.write_text(words, encoding="utf-8")


def artifacts(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that the run and the commands wrote, sound apart, and their names as one more."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    files = [p for p in files if p.relative_to(folder).parts[0] not in OURS]
    yield "(names)", "\n".join(map(str, files)).encode()
    yield from ((str(p.relative_to(folder)), p.read_bytes()) for p in files if p.suffix != ".flac")


def readings(name: str, data: bytes) -> Iterator[str]:
    """The bytes as text, what stays when escapes are read, and of events what their bits say in a row."""
    text = data.decode("utf-8", errors="replace")
    for _ in range(4):
        yield text
        for escape, said in (
            ("\\u00eb", "ë"),
            ("\\xeb", "ë"),
            ("&#235;", "ë"),
            ("\\n", " "),
            ('\\"', '"'),
            ("\\\\", "\\"),
        ):
            text = text.replace(escape, said)
    if name.endswith("events.jsonl"):
        for row in map(said_in_a_row, groupby(sorted(map(_bits, data.splitlines())), key=lambda bit: bit[0])):
            yield from readings("", row.encode())


def _bits(line: bytes) -> tuple[str, int, str]:
    """Of an event: its kind, its place among the others, and all its texts, as often as it stands there."""
    row = json.loads(line)
    event = row["event"]
    kind = event.get("type") or "".join(event) if isinstance(event, dict) else ""
    return str(kind), round(row["at_s"] * 1e6), "\x00".join(_texts(event)) * row.get("times", 1)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for name, inner in value.items() if not name.endswith(("id", "type")) for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


def said_in_a_row(group: Any) -> str:
    return "".join(text for _, _, text in group[1])


def leaks(folder: Path, *shown: str) -> list[str]:
    places = [*artifacts(folder), *((f"(shown {n})", text.encode()) for n, text in enumerate(shown))]
    found = {(name, f) for name, data in places for text in readings(name, data) for f in FORMS if f in text.casefold()}
    return sorted(f"{name}: {form}" for name, form in found)


def exported(folder: Path) -> list[str]:
    """What the commands say of the newest run; the files that they write lie in it."""
    told = []
    for words in EXPORTS:
        command = [sys.executable, "-m", "pytest_voicebench", *words, str(latest_run(folder))]
        out = ["--out", str(folder / "items.parquet")] if "parquet" in words else []
        done = subprocess.run([*command, *out], cwd=folder, env=environment(), capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr.decode()
        told.append((done.stdout + done.stderr).decode())
    return told


@pytest.mark.parametrize("double", DOUBLES)
def test_a_redacted_phrase_is_in_no_artifact_of_a_run_over_a_wire(tmp_path, double):
    pytest.importorskip("pyarrow")
    agent, start = DOUBLES[double]
    write_run(tmp_path)
    loud = ("-rA", "--tb=long", "-l", "--junitxml=theirs.xml", "-o", "log_cli=true", "--log-file=pytest.log")
    with start() as server:
        given = (f"--agent={agent.format(server.url)}", "--voicebench-concurrency=2", f"--voicebench-redact={PATTERN}")
        _, text = run_apart(tmp_path, *given, *loud, plugins=(), **WIRE)
    assert {kind for _, kind in outcomes(tmp_path).values()} == {None}, text
    assert leaks(tmp_path, text, *exported(tmp_path)) == []
    names = {Path(name).name for name, _ in artifacts(tmp_path)}
    assert {"events.jsonl", "report.html", "summary.md", "manifest.json", "theirs.xml", "pytest.log"} <= names
    (events, *_) = (data.decode() for name, data in artifacts(tmp_path) if name.endswith("events.jsonl"))
    assert "[redacted]" in events


def test_without_the_option_the_same_search_finds_it_in_bits_and_escapes(tmp_path):
    agent, start = DOUBLES["openai"]
    write_run(tmp_path)
    with start() as server:
        run_apart(tmp_path, f"--agent={agent.format(server.url)}", "--voicebench-concurrency=2", plugins=(), **WIRE)
    found = {Path(leak.partition(":")[0]).name for leak in leaks(tmp_path)}
    assert found >= {"events.jsonl", "report.html", "conversation.json", "plan.json", "results.jsonl", "junit.xml"}
    events = [data for name, data in artifacts(tmp_path) if name.endswith("events.jsonl")]
    bits = [bit for data in events for line in data.splitlines() if (bit := _bits(line))[0].endswith("arguments.delta")]
    assert bits
    assert max(len(text) for _, _, text in bits) == 3
