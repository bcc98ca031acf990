"""What the local agent says: results in short sentences that can be heard."""

from __future__ import annotations

import pytest

from pytest_voicebench.agents.local.reply import NOT_UNDERSTOOD, reply_text
from pytest_voicebench.agents.local.understanding.planner import Step
from pytest_voicebench.agents.local.understanding.references import Known


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "said"),
    [
        (
            "search_flights",
            {"destination": "Milan", "date": "2026-06-03"},
            {"status": "success", "flights": [{"flight_id": "FL123", "destination": "Milan", "price": 450.0}]},
            "I found 1 flight for Milan, June 3. The first: flight id F L 1 2 3, price 450.",
        ),
        ("search_flights", {"destination": "Milan"}, {"flights": []}, "I found no flights for Milan."),
        (
            "track_order",
            {"order_id": "K77"},
            {"error": "no such order"},
            "I could not track order for K 7 7: no such order.",
        ),
        ("add_to_cart", {"product_id": "P1"}, {"status": "added", "new": True}, "Add to cart for P 1: new yes."),
        ("ping", {"host": "a"}, "pong", "Ping for a: pong."),
        ("ping", {"host": "a"}, {"status": "ok"}, "Ping for a: done."),
        ("ping", {"host": "a"}, {"seen": ["x_y", "z"], "more": {"deep": 1}}, "Ping for a: seen x y, z."),
    ],
)
def test_a_result_is_said_in_one_or_two_sentences(tool, arguments, result, said):
    assert reply_text([Known(tool=tool, arguments=arguments, result=result)], []) == said


def test_what_is_missing_is_asked_for_after_what_was_done():
    done = [Known(tool="ping", arguments={"host": "a"}, result="pong")]
    open_step = Step(tool="search_flights", arguments={}, missing=("destination", "date"))
    assert reply_text(done, [open_step]) == "Ping for a: pong. To search flights, I need the destination and the date."


def test_nothing_done_and_nothing_to_ask_is_said_to_be_not_understood():
    assert reply_text([], []) == NOT_UNDERSTOOD
