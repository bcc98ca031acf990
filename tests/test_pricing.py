"""Prices, costs, estimates and the ledger: small cases by hand; what has no price is unknown, and never 0."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result

from pytest_voicebench.agents.gate import Gate, GateBroken, Gated, NotBegun
from pytest_voicebench.clock import VirtualTimeLoop
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.duplex import converse
from pytest_voicebench.plan import Plan, completed
from pytest_voicebench.pricing.cost import Cost, cost_of
from pytest_voicebench.pricing.estimate import estimate_usd, paid_usd
from pytest_voicebench.pricing.ledger import Ledger
from pytest_voicebench.pricing.paid_gate import PaidGate
from pytest_voicebench.pricing.prices import SHIPPED, Estimating, Price, PricesError, load_prices, price_of
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summary import Cost as RunCost
from pytest_voicebench.writers.junit_properties import item_properties, run_properties
from pytest_voicebench.writers.terminal_header import cost_text
from tests.scripted import Scripted, sound
from tests.stage import say, scenario

ROOT = Path(__file__).parents[1]
PRICES = load_prices(SHIPPED)


def info(url, model=None, name="own"):
    return AgentInfo(name=name, model=model, settings={"url": url})


OPENAI = info("wss://api.openai.com/v1/realtime", "gpt-realtime")
GEMINI = info("wss://generativelanguage.googleapis.com/ws/x", "gemini-2.5-flash-native-audio-preview-12-2025")
ULTRAVOX = info("https://api.ultravox.ai/api/calls", "ultravox-v0.7")


# Prices


def test_every_shipped_price_is_dated_and_says_where_it_comes_from():
    assert all(price.date.startswith("2026-") and price.source for price in PRICES)
    assert all(price.host for price in PRICES)


@pytest.mark.parametrize(
    ("agent", "known"),
    [
        (OPENAI, True),
        (info("wss://api.openai.com/v1/realtime", "gpt-realtime-2"), False),
        (info("ws://127.0.0.1:8000/v1/realtime", "gpt-realtime"), False),
        (info("wss://api.x.ai/v1/realtime", "grok-voice-latest"), False),
        (info("wss://api.x.ai/v1/realtime", "grok-voice-think-fast-1.0"), True),
        (GEMINI, True),
        (ULTRAVOX, True),
        (AgentInfo(name="own"), False),
    ],
)
def test_a_price_holds_for_its_host_and_models_alone(agent, known):
    assert (price_of(agent, PRICES) is not None) == known


def test_the_users_own_prices_add_to_those_shipped_and_replace_them(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(
        "- {agent: own, date: 2026-02-03, source: contract,"
        " per_million: {input_audio_tokens: 10, transcription_output_tokens: 5}}\n"
        "- {agent: other, date: 2026-02-03, source: contract, per_minute: 1}\n"
    )
    price = price_of(OPENAI, (*PRICES, *load_prices(file)))
    assert price.per_million["input_audio_tokens"] == 10
    assert price.per_million["transcription_output_tokens"] == 5
    assert price.per_million["output_audio_tokens"] == 64
    assert price.per_minute is None
    assert (price.date, price.source) == (
        "2026-08-04, 2026-02-03",
        "pricing.py of sierra-research/tau2-bench, contract",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be a list of prices"),
        ("a: b", "must be a list of prices"),
        ("- {", ":1: not YAML"),
        ("- 5", "price 1: must have keys"),
        ("- {agent: a, source: s, per_minute: 1}", "price 1: date is missing"),
        ("- {agent: a, date: 2026-01-01, per_minute: 1}", "price 1: source is missing"),
        ("- {date: 2026-01-01, source: s, per_minute: 1}", "price 1: agent or host is missing"),
        ("- {agent: a, date: 2026-01-01, source: s}", "price 1: per_million or per_minute is missing"),
        (
            "- {agent: a, date: 2026-01-01, source: s, per_hour: 1}",
            "price 1: unknown key 'per_hour'; known: agent, date",
        ),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: -1}", "per_minute must be a number from 0 to 1e+09"),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: .inf}", "per_minute must be a number from 0 to 1e+09"),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: free}", "per_minute must be a number"),
        ("- {agent: a, date: 2026-01-01, source: s, per_million: 5}", "price 1: per_million must be a table"),
        ("- {agent: a, date: 2026-01-01, source: s, per_million: {x: y}}", "price 1: x must be a number"),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: 1, models: m}", "price 1: models must be a list"),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: 1, sums: {a: b}}", "price 1: a must be a list"),
        ("- {agent: a, date: 2026-01-01, source: s, per_minute: 1, estimate: {x: 1}}", "unknown key 'x'"),
    ],
)
def test_a_file_of_prices_that_cannot_be_used_is_one_line_that_names_it(tmp_path, text, told):
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(PricesError) as refused:
        load_prices(file)
    assert str(refused.value).startswith(f"{file}:")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(PricesError, match="No such file"):
        load_prices(tmp_path / "no.yaml")


# Costs

RESPONSE = {
    "total_tokens": 1300,
    "input_tokens": 1000,
    "output_tokens": 300,
    "input_text_tokens": 600,
    "input_audio_tokens": 400,
    "input_cached_tokens": 300,
    "input_cached_text_tokens": 200,
    "input_cached_audio_tokens": 100,
    "input_image_tokens": 0,
    "output_text_tokens": 100,
    "output_audio_tokens": 200,
}


def test_cached_tokens_cost_their_own_price_and_not_that_of_those_they_are_among():
    cost = cost_of({**RESPONSE, "session_s": 30.0}, price_of(OPENAI, PRICES))
    by_hand = (400 * 4 + 200 * 0.40 + 300 * 32 + 100 * 0.40 + 100 * 16 + 200 * 64) / 1e6
    assert cost.usd == pytest.approx(by_hand)
    assert cost.unknown is None


@pytest.mark.parametrize(
    ("more", "unknown"),
    [
        ({"transcription_input_audio_tokens": 50}, "no price of transcription_input_audio_tokens"),
        ({"input_tokens": 1001}, "no price of input_tokens, total_tokens"),
        ({"output_magic_tokens": 1}, "no price of output_magic_tokens"),
        ({"seconds": 3.5}, "no price of seconds"),
    ],
)
def test_what_has_no_price_makes_the_cost_unknown_and_is_named(more, unknown):
    cost = cost_of({**RESPONSE, **more, "session_s": 30.0}, price_of(OPENAI, PRICES))
    assert cost.usd is None
    assert cost.unknown == unknown
    assert cost.at_least > 0.02


@pytest.mark.parametrize(
    ("usage", "agent", "cost"),
    [
        ({}, OPENAI, Cost(usd=None)),
        (RESPONSE, OPENAI, Cost(usd=None)),
        ({"session_s": 9.0}, OPENAI, Cost(usd=None, unknown="no usage reported")),
        ({"session_s": 9.0, "input_tokens": 0}, OPENAI, Cost(usd=None, unknown="no usage reported")),
        ({"session_s": 9.0}, AgentInfo(name="own"), Cost(usd=None, unknown="no price")),
        ({"session_s": 6.1}, ULTRAVOX, Cost(usd=0.01, at_least=0.01)),
        ({"session_s": 6.0}, ULTRAVOX, Cost(usd=0.005, at_least=0.005)),
        ({"session_s": 120.0, "total_tokens": 5}, ULTRAVOX, Cost(usd=0.1, at_least=0.1)),
        (
            {"session_s": 9.0, "totalTokenCount": 30, "promptTokenCount": 20, "promptTextTokenCount": 15}
            | {"promptAudioTokenCount": 5, "responseTokenCount": 10, "responseAudioTokenCount": 10},
            GEMINI,
            Cost(usd=(15 * 0.5 + 5 * 3 + 10 * 12) / 1e6, at_least=(15 * 0.5 + 5 * 3 + 10 * 12) / 1e6),
        ),
        (
            {"session_s": 9.0, "totalTokenCount": 10, "thoughtsTokenCount": 10},
            GEMINI,
            Cost(usd=None, unknown="no price of thoughtsTokenCount"),
        ),
    ],
)
def test_costs(usage, agent, cost):
    found = cost_of(usage, price_of(agent, PRICES))
    assert found.usd == (None if cost.usd is None else pytest.approx(cost.usd))
    assert found.unknown == cost.unknown


def test_answers_without_usage_make_the_cost_unknown_and_the_rest_is_the_least():
    cost = cost_of({**RESPONSE, "session_s": 30.0, "answers_without_usage": 2.0}, price_of(OPENAI, PRICES))
    assert cost.usd is None
    assert cost.unknown == "no usage reported of 2 answers"
    assert cost.at_least > 0.02


def test_minutes_cost_the_same_whatever_usage_was_not_told():
    usage = {"session_s": 60.0, "answers_without_usage": 2.0}
    assert cost_of(usage, price_of(ULTRAVOX, PRICES)) == cost_of({"session_s": 60.0}, price_of(ULTRAVOX, PRICES))


def test_more_cached_tokens_than_tokens_are_no_cost_that_anybody_knows():
    usage = {"session_s": 1.0, "input_audio_tokens": 10.0, "input_cached_audio_tokens": 11.0}
    found = cost_of(usage, price_of(OPENAI, PRICES))
    assert (found.usd, found.unknown) == (None, "more input_cached_audio_tokens than input_audio_tokens")


def test_cached_tokens_alone_cost_their_price_and_never_less_than_nothing():
    cost = cost_of({"session_s": 1.0, "input_cached_audio_tokens": 1e6}, price_of(OPENAI, PRICES))
    assert cost.usd == pytest.approx(0.40)


@given(st.dictionaries(st.sampled_from([*RESPONSE, "session_s", "other"]), st.floats(0, 1e9)), st.sampled_from(PRICES))
def test_a_cost_is_known_or_unknown_and_never_both(usage, price):
    cost = cost_of(usage, price)
    assert cost.usd is None or cost.unknown is None
    assert cost.usd is None or cost.usd >= 0
    assert ("session_s" in usage) == (cost.usd is not None or cost.unknown is not None)


def test_sums_that_name_each_other_end():
    price = Price(agent="own", date="d", source="s", per_million={"x": 1}, sums={"a": ("b",), "b": ("a",)})
    assert cost_of({"session_s": 1.0, "a": 5.0}, price).unknown == "no price of a"


# Estimates


def test_an_estimate_follows_from_the_length_of_the_recordings_and_the_assumptions(tmp_path):
    talk = scenario(tmp_path, say(tmp_path, "turn"), settle_s=10.0)
    heard_s = talk.steps[0].timing.speech[-1][1]
    a_minute = Price(agent="own", date="d", source="s", per_minute=60.0)
    assert estimate_usd(talk, a_minute) == pytest.approx(heard_s + 10 + 10)
    tokens = Price(
        agent="own",
        date="d",
        source="s",
        per_million={"in": 1e6, "out": 10e6},
        estimate=Estimating(audio_in="in", audio_out="out", audio_in_per_s=2, audio_out_per_s=3),
    )
    assert estimate_usd(talk, tokens) == pytest.approx(heard_s * 2 * 2 + 10 * 3 * 10)


def test_every_shipped_price_gives_an_estimate_above_nothing(tmp_path):
    assert all(estimate_usd(scenario(tmp_path), price) > 0 for price in PRICES)


# The ledger


def test_a_conversation_in_flight_counts_with_its_estimate_and_then_with_its_cost(tmp_path):
    here, there = (Ledger(path=tmp_path / "b.json", most_usd=10.0) for _ in range(2))
    assert here.begin("a", 4.0)
    assert there.begin("b", 4.0)
    here.end("a", 1.0)
    assert there.spent_usd == 5.0
    there.end("b", None)
    assert here.spent_usd == 5.0
    here.end("b", 100.0)
    assert here.spent_usd == 5.0
    assert here.begin("c", 5.0)
    assert not there.begin("d", 0.01)


def test_once_stopped_nothing_begins_any_more_until_more_is_allowed(tmp_path):
    book = Ledger(path=tmp_path / "b.json", most_usd=1.0)
    assert not book.begin("a", 2.0)
    assert not book.begin("b", 0.1)
    more = Ledger(path=tmp_path / "b.json", most_usd=3.0)
    assert more.begin("a", 2.0)


def test_what_an_earlier_session_spent_counts_and_what_it_left_in_flight_too(tmp_path):
    book = Ledger(path=tmp_path / "b.json", most_usd=10.0, already_usd=5.0)
    assert book.spent_usd == 5.0
    assert book.begin("a", 4.0)
    again = Ledger(path=tmp_path / "b.json", most_usd=20.0, already_usd=5.0)
    assert again.begin("a", 4.0)
    assert again.spent_usd == 13.0


def test_a_ledger_that_cannot_be_read_at_this_moment_is_not_begun_anew(tmp_path, monkeypatch):
    book = Ledger(path=tmp_path / "b.json", most_usd=10.0)
    assert book.begin("a", 9.0)

    def too_many(path):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as now:
        now.setattr("pytest_voicebench.shared_state.read_file", too_many)
        with pytest.raises(OSError, match="Too many open files"):
            book.begin("b", 9.0)
    assert not book.begin("b", 9.0)


def test_what_was_spent_while_nobody_kept_the_ledger_counts(tmp_path):
    assert Ledger(path=tmp_path / "b.json", most_usd=10.0).begin("a", 4.0)
    again = Ledger(path=tmp_path / "b.json", most_usd=10.0, already_usd=7.0)
    assert not again.begin("b", 4.0)


@pytest.mark.parametrize(
    ("changes", "usd"),
    [
        ({"usd": 0.5}, 0.5),
        ({}, 0.0),
        ({"usage": {"session_s": 120.0}, "usd_unknown": "no price"}, 2.0),
        ({"usage": {"session_s": 120.0}, "usd": 0.0}, 0.0),
        ({"usd_unknown": "session not counted"}, pytest.approx(0.35, abs=0.1)),
    ],
)
def test_what_an_earlier_attempt_cost_is_its_bill_else_what_can_be_said_now(tmp_path, changes, usd):
    a_minute = Price(agent="own", date="d", source="s", per_minute=1.0)
    assert paid_usd(a_result("a", **changes), a_minute, scenario(tmp_path)) == usd


def test_where_no_price_is_known_nothing_can_be_said_of_an_earlier_attempt(tmp_path):
    lost = a_result("a", usage={"session_s": 9.0}, usd_unknown="no price")
    assert paid_usd(lost, None, scenario(tmp_path)) == 0.0


def test_a_cost_that_is_not_known_is_at_least_what_is(tmp_path):
    book = Ledger(path=tmp_path / "b.json", most_usd=10.0)
    book.begin("a", 1.0)
    book.end("a", None, at_least_usd=3.0)
    assert book.spent_usd == 3.0


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.floats(0, 3)), max_size=30))
def test_nothing_ever_begins_beyond_the_limit(tmp_path_factory, moves):
    book = Ledger(path=tmp_path_factory.mktemp("book") / "b.json", most_usd=5.0)
    flying = {}
    for who, begins, usd in moves:
        key = f"item_{who}"
        if begins and key not in flying:
            before = book.spent_usd
            if book.begin(key, usd):
                flying[key] = usd
                assert before + usd <= 5.0 + 1e-6
        elif key in flying:
            book.end(key, min(usd, flying.pop(key)))
    assert book.spent_usd <= 5.0 + 1e-6


def test_processes_share_one_ledger(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom pytest_voicebench.pricing.ledger import Ledger\n"
        f"book = Ledger(path=Path({str(tmp_path / 'b.json')!r}), most_usd=10.0)\n"
        "print(sum(book.begin(f'{sys.argv[1]} {n}', 1.0) for n in range(8)))\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, who], stdout=subprocess.PIPE, text=True, cwd=ROOT) for who in "ab"
    ]
    assert sum(int(process.communicate(timeout=120)[0]) for process in both) == 10


# The gate


async def inline(work, *args):
    return work(*args)


def held(folder, ledger_path, estimate, most=1.0):
    async def main():
        book = Ledger(path=ledger_path, most_usd=most)
        gate = PaidGate(Gate(), book, key="milan_01", estimate_usd=estimate, aside=inline)
        return await converse(scenario(folder), Gated(agent=Scripted([(5.0, sound(0.5))]), gate=gate))

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main())


def test_a_conversation_begins_where_the_money_lasts_and_is_not_begun_where_it_does_not(tmp_path):
    assert held(tmp_path, tmp_path / "b.json", 0.6).duration_ticks > 0
    with pytest.raises(NotBegun, match="it might cost more than the 1 USD that are allowed"):
        held(tmp_path, tmp_path / "b.json", 1.6)
    with pytest.raises(NotBegun, match="no price is known"):
        held(tmp_path, tmp_path / "c.json", None)


def test_a_ledger_that_cannot_be_written_is_an_error_of_the_item(tmp_path):
    (tmp_path / "file").write_text("")
    talk = held(tmp_path, tmp_path / "file" / "b.json", 0.1)
    assert [p.kind for p in talk.problems] == ["infrastructure"]
    assert "b.json cannot be used: " in talk.problems[0].message
    assert issubclass(GateBroken, Exception)


# Results and summaries


def test_of_several_attempts_all_are_paid_for_and_what_was_not_begun_is_no_attempt():
    rows = [
        a_result("a", "error", usd=0.25),
        a_result("a", "not_run"),
        a_result("a", usd=0.5),
        a_result("b", "error", usd_unknown="no price"),
        a_result("b", usd=0.5),
        a_result("c", "not_run", cause="too dear"),
        a_result("d", "not_run", usd_unknown="session not counted"),
        a_result("d", usd=0.5),
    ]
    planned = Plan(collected=3, items=tuple(a_result(name, "not_run") for name in "abcd"))
    a, b, c, d = completed(planned, rows)
    assert (d.usd, d.usd_unknown, d.attempts) == (None, "session not counted", ())  # one was cut off
    assert (a.usd, a.usd_unknown, a.attempts) == (0.75, None, ("error", "passed"))
    assert (b.usd, b.usd_unknown) == (None, "no price")
    assert (c.outcome, c.cause, c.attempts) == ("not_run", "too dear", ())


def test_a_summary_adds_up_what_is_known_and_counts_what_is_not():
    rows = [a_result("a", usd=0.25), a_result("b", usd=0.5), a_result("c", usd_unknown="no price"), a_result("d")]
    summary = summarize(rows)
    assert summary.agents[0].cost == RunCost(usd=0.75, priced=2, unknown={"no price": 1})
    assert summarize([a_result("d")]).agents[0].cost == RunCost()
    properties = run_properties(summary)
    assert properties["voicebench.local.usd"] == 0.75
    assert properties["voicebench.local.usd_unknown"] == 1
    assert item_properties(rows[0])["usd"] == 0.25
    assert "usd" not in item_properties(rows[2])
    assert item_properties(rows[2])["usd_unknown"] == "no price"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (RunCost(), ""),
        (RunCost(usd=0.434, priced=97), "cost: 0.43 USD for 97 items"),
        (
            RunCost(usd=0.434, priced=1, unknown={"no usage reported": 2}),
            "cost: 0.43 USD for 1 item, unknown for 2 (no usage reported)",
        ),
        (RunCost(unknown={"no price": 3}), "cost: unknown for 3 (no price)"),
    ],
)
def test_a_cost_in_words(cost, text):
    assert cost_text(cost) == text
