"""Small builders of scenarios and conversations for tests; times are seconds, as a reader thinks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import (
    AgentInfo,
    Call,
    Conversation,
    Span,
    Transcribed,
    Utterance,
    to_ticks,
)
from pytest_voicebench.scenario import Expectation, ExpectedCall, Requirement, Retraction, Scenario, Step, SuiteInfo
from pytest_voicebench.tools import Parameter, Tool

TODAY = date(2026, 4, 6)


def tool(name: str, *parameters: Parameter, **kw: Any) -> Tool:
    """A tool with these parameters."""
    return Tool(name=name, description=name, parameters={p.name: p for p in parameters}, **kw)


def parameter(name: str, type: Any = "string", **kw: Any) -> Parameter:  # noqa: A002 - the field's own name
    """A parameter; a string unless told otherwise."""
    return Parameter(name=name, type=type, **kw)


TOOLS: dict[str, Tool] = {
    t.name: t
    for t in (
        tool("search_flights", parameter("destination", match="place"), parameter("date", format="date", match="date")),
        tool("book_flight", parameter("passenger_name"), parameter("flight_id", match="identifier"), writes=True),
        tool(
            "get_exchange_rate",
            parameter("amount", "number", match="money"),
            parameter("from_currency", match="currency"),
            parameter("to_currency", match="currency"),
        ),
        tool("track_order", parameter("order_id", match="identifier")),
        tool("search_products", parameter("query"), parameter("max_price", "number")),
        tool(
            "add_to_cart",
            parameter("product_id", match="identifier"),
            parameter("quantity", "integer", default=1, has_default=True),
            writes=True,
        ),
        tool("weather", parameter("city", match="place")),
        tool("ping"),
    )
}


def expected(name: str, /, *, allow_extra: tuple[str, ...] = (), **args: Any) -> ExpectedCall:
    """An expected call."""
    return ExpectedCall(tool=name, args=args, allow_extra=allow_extra)


def scenario(
    *calls: ExpectedCall,
    text: str = "",
    turns: int = 1,
    retracted: Sequence[Retraction] = (),
    mentions: Sequence[str] = (),
    requires: Sequence[Requirement] = (),
    ordered: bool = False,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
    tools: Mapping[str, Tool] | None = None,
    steps: tuple[Step, ...] | None = None,
    today: date = TODAY,
    **kw: Any,
) -> Scenario:
    """A scenario that expects `calls`; without `steps` it has `turns` steps that say `text`."""
    suite = SuiteInfo(
        path=Path("suites/s.yaml"), name="s", kind="tool_use", tools=tools or TOOLS, instructions="", today=today
    )
    expect = Expectation(
        calls=tuple(calls),
        mentions=tuple(mentions),
        pass_requires=tuple(requires),
        ordered=ordered,
        aliases=aliases or {},
    )
    return Scenario(
        id="one",
        item_id="one",
        title="One",
        suite=suite,
        line=1,
        expect=expect,
        steps=steps if steps is not None else tuple(Step(kind="say", text=text) for _ in range(turns)),
        sha256="0" * 64,
        retracted=tuple(retracted),
        **kw,
    )


def span(start_s: float, end_s: float) -> Span:
    """A span in ticks."""
    return Span(start_ticks=to_ticks(start_s), end_ticks=to_ticks(end_s))


def turn(start_s: float, end_s: float, *, step: int = 0, kind: Any = "turn", text: str = "") -> Utterance:
    """Something the user said."""
    return Utterance(step=step, kind=kind, text=text, start_ticks=to_ticks(start_s), end_ticks=to_ticks(end_s))


def call(
    name: str,
    /,
    at_s: float = 11.0,
    *,
    args: Mapping[str, Any] | None = None,
    result: Any = None,
    answered_s: float | bool | None = True,
    status: Any = "executed",
    call_id: str = "",
    **kw: Any,
) -> Call:
    """A tool call, answered 10 ms later unless told otherwise (`answered_s=None`: never)."""
    answered = at_s + 0.01 if answered_s is True else answered_s
    return Call(
        call_id=call_id or f"{name}@{at_s}",
        name=name,
        arguments=args or {},
        status=status,
        at_ticks=to_ticks(at_s),
        finished_ticks=to_ticks(at_s),
        answered_ticks=None if answered is None else to_ticks(float(answered)),
        result={"status": "success"} if result is None else result,
        **kw,
    )


def heard(text: str, at_s: float = 12.0, *, speaker: Any = "agent", heard_text: str | None = None) -> Transcribed:
    """What a voice said; of the agent's, all was heard unless told otherwise."""
    played = text if heard_text is None and speaker == "agent" else heard_text
    return Transcribed(speaker=speaker, text=text, at_ticks=to_ticks(at_s), heard_text=played)


def conversation(
    *calls: Call,
    speech: Sequence[tuple[float, float]] | None = ((12.0, 15.0),),
    turns: Sequence[Utterance] = (),
    said: Sequence[Transcribed] = (),
    duration_s: float = 40.0,
    ended: Any = "settled",
    **kw: Any,
) -> Conversation:
    """A conversation: by default the user speaks from 1 s to 10 s and the agent from 12 s to 15 s."""
    return Conversation(
        item_id="one",
        scenario_sha256="0" * 64,
        agent=AgentInfo(name="test", clock="virtual"),
        duration_ticks=to_ticks(duration_s),
        ended=ended,
        utterances=tuple(turns) or (turn(1.0, 10.0),),
        agent_speech=None if speech is None else tuple(span(a, b) for a, b in speech),
        calls=tuple(calls),
        transcripts=tuple(said),
        **kw,
    )
