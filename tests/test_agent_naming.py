"""Agents by name: what a text asks for, and what the person who mistyped it is told."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from pytest_voicebench.agents import naming
from pytest_voicebench.agents.naming import (
    AgentNameError,
    build_agent,
    find_agent,
    parse_agent,
    parse_agents,
    shown_text,
)


class Echo:
    info = "what a report says"

    def __init__(self, volume: float = 1.0, name: str = "echo") -> None:
        if volume < 0:
            raise ValueError("volume must not be negative")
        self.volume, self.name = volume, name

    def connect(self, setup):
        raise NotImplementedError


class Loose(Echo):
    def __init__(self, **settings) -> None:
        super().__init__(**settings)


@pytest.fixture(autouse=True)
def my_agents(monkeypatch):
    module = types.ModuleType("my_agents")
    module.Echo, module.ready, module.number, module.broken = Echo, Echo(), 7, lambda: 7
    module.Loose, module.bug, module.leaves = Loose, lambda: {}["key"], sys.exit
    monkeypatch.setitem(sys.modules, "my_agents", module)


@pytest.mark.parametrize(
    ("text", "name", "settings"),
    [
        ("grok", "grok", {}),
        ("grok,model=beta", "grok", {"model": "beta"}),
        ("grok, a=1 , b=0.5 , c=true , d=-3", "grok", {"a": 1, "b": 0.5, "c": True, "d": -3}),
        ('grok,says="a,b",n="1"', "grok", {"says": "a,b", "n": "1"}),
        (r'grok,says="a \"b\""', "grok", {"says": 'a "b"'}),
        ("grok,says='it, is'", "grok", {"says": "it, is"}),
        ("grok,url=wss://h/x?a=b", "grok", {"url": "wss://h/x?a=b"}),
        ("grok,model=gpt-4.1,date=2026-04-06,e=1e3", "grok", {"model": "gpt-4.1", "date": "2026-04-06", "e": "1e3"}),
        ("grok,empty=", "grok", {"empty": ""}),
        ("pkg.mod:Cls.make,x=1", "pkg.mod:Cls.make", {"x": 1}),
    ],
)
def test_a_text_is_a_name_and_settings(text, name, settings):
    spec = parse_agent(text)
    assert (spec.name, dict(spec.settings)) == (name, settings)
    assert [type(v) for v in spec.settings.values()] == [type(v) for v in settings.values()]


@pytest.mark.parametrize("text", ["", ",a=1", "grok,model", "grok,2x=1", "grok,a b=1"])
def test_a_text_that_cannot_be_read_is_refused_on_one_line(text):
    with pytest.raises(AgentNameError) as caught:
        parse_agent(text)
    assert "\n" not in str(caught.value)
    assert repr(text) in str(caught.value)


def test_labels_tell_agents_apart_and_suit_an_id():
    labels = [s.label for s in parse_agents(["grok", "local", "my.mod:make", "local,voice=b-1"])]
    assert labels == ["grok", "local", "make", "local_b_1"]
    assert [s.label for s in parse_agents(["a:x", "b:x"])] == ["x", "x_2"]


def test_one_agent_twice_is_refused():
    with pytest.raises(AgentNameError, match="given twice"):
        parse_agents(["local,a=1", "local,a=1"])


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(AgentNameError, match=r"unknown agent 'simulatd': did you mean 'simulated'\? known: .*cascaded"):
        find_agent(parse_agent("simulatd"))


def test_an_entry_point_names_an_agent(monkeypatch):
    entry = EntryPoint(name="echo", value="my_agents:Echo", group=naming.GROUP)
    monkeypatch.setattr(naming, "entry_points", lambda group: [entry] if group == naming.GROUP else [])
    assert build_agent(parse_agent("echo,volume=0.5"), None).volume == 0.5
    with pytest.raises(AgentNameError, match="did you mean 'echo'"):
        find_agent(parse_agent("ecco"))


def test_an_alias_stands_for_a_name_with_settings_that_can_be_overridden(monkeypatch):
    monkeypatch.setattr(naming, "ALIASES", {"loud": "my_agents:Echo,volume=9,name=loud"})
    agent = build_agent(parse_agent("loud,name=louder"), None)
    assert (agent.volume, agent.name) == (9, "louder")


def test_an_attribute_may_be_a_class_a_function_or_a_finished_agent():
    assert build_agent(parse_agent("my_agents:Echo"), None).volume == 1.0
    assert build_agent(parse_agent("my_agents:ready"), None).name == "echo"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("my_agents:Echo,volum=1", "no setting 'volum' (did you mean 'volume'?); its settings: volume, name"),
        ("my_agents:Echo,volume=-1", "volume must not be negative"),
        ("my_agents:ready,volume=1", "takes no settings"),
        ("my_agents:number", "int is no agent"),
        ("my_agents:broken", "gave a int, which has no info and connect()"),
        ("my_agents:absent", "has no attribute 'absent'"),
        ("no_such_module_here:x", "cannot import 'no_such_module_here'"),
        (":x", "cannot import '': Empty module name"),
        ("..x:y", "cannot import '..x'"),
        ("my_agents:", "has no attribute ''"),
        ("my_agents:Echo,self=1", "no setting 'self'"),
        ("my_agents:Loose,self=1", "multiple values for argument 'self'"),
        ("my_agents:Loose,volume=loud", "not supported between"),
        ("my_agents:Echo,volume=loud", "volume must be a number, not 'loud'"),
        ("my_agents:Echo,volume=nan", "volume must be a number, not 'nan'"),
        ("my_agents:Echo,volume=true", "volume must be a number, not True"),
        ("my_agents:bug", "KeyError: 'key'"),
        ("my_agents:leaves", "SystemExit"),
        ("broken_agents:x", "cannot import 'broken_agents': ZeroDivisionError: division by zero"),
        ("simulated,delay_s=nan", "delay_s must be a number, not 'nan'"),
    ],
)
def test_an_agent_that_cannot_be_made_is_refused_on_one_line(text, words, tmp_path, monkeypatch):
    (tmp_path / "broken_agents.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AgentNameError) as caught:
        build_agent(parse_agent(text), None)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_the_simulated_agent_is_told_the_scenario(monkeypatch):
    told = []
    module = types.ModuleType("fake_simulated")
    module.build = lambda scenario, **settings: told.append((scenario, settings)) or Echo()
    monkeypatch.setitem(sys.modules, "fake_simulated", module)
    monkeypatch.setattr(naming, "SHIPPED", {"simulated": "fake_simulated:build"})
    build_agent(parse_agent("simulated,behaviour=oracle"), "the scenario")
    assert told == [("the scenario", {"behaviour": "oracle"})]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("mine:Agent,token=sk-1", "mine:Agent,token=***"),
        ('grok,api_key="a,b",voice=kim', "grok,api_key=***,voice=kim"),
        ('livekit-room,metadata={"api_key": "sk-1"}', 'livekit-room,metadata={"api_key": "***"}'),
        (
            r'livekit-room,metadata="{\"a_token\": \"s\", \"b\": 1}"',
            r'livekit-room,metadata="{\"a_token\": \"***\", \"b\": 1}"',
        ),
        ("local,endpoint_s=1.2", "local,endpoint_s=1.2"),
        ("grok,url=wss://h/x?api_key=sk-1&m=2,voice=kim", "grok,url=wss://h/x?api_key=***&m=***,voice=kim"),
        ("twilio,voice_url=https://me:sk-1@h/x", "twilio,voice_url=https://***@h/x"),
    ],
)
def test_a_secret_on_the_command_line_is_not_repeated(given, shown):
    assert shown_text(given) == shown


def test_agents_that_differ_by_a_secret_do_not_carry_it_in_the_names_of_their_items():
    texts = [f"mine:Agent,api_key=sk-{n},url=ws://h/?t=planted{n}" for n in (1, 2)]
    specs = parse_agents([*texts, "mine:Agent,api_key=sk-1,voice=kim"])
    labels = [spec.label for spec in specs]
    assert labels == ["Agent_ws_h_t", "Agent_ws_h_t_2", "Agent_kim"]


def test_a_text_that_names_no_agent_is_repeated_without_its_secrets():
    for text in ("api_key=sk-planted", "mine:Agent,token=sk-planted,loud"):
        with pytest.raises(AgentNameError) as caught:
            parse_agent(text)
        assert "sk-planted" not in str(caught.value)
        assert "***" in str(caught.value)


@pytest.mark.parametrize("text", ["=grok,token=sk-1", "grok,api_key=sk-1,voice", "grok,url=wss://h/?t=sk-1,voice"])
def test_nor_is_it_in_what_is_wrong_with_the_text(text):
    with pytest.raises(AgentNameError) as refused:
        parse_agents([text])
    assert "sk-1" not in str(refused.value)


def test_nor_in_the_label_that_tells_two_agents_apart():
    one, other = parse_agents(["grok,token=sk-1", "grok,url=wss://h/?t=sk-1"])
    assert one.label != other.label
    assert "1" not in one.label + other.label
