"""Hypothesis strategies for conversations that nobody expects: calls, turns and speech of any shape and order."""

from __future__ import annotations

from builders import TOOLS, turn
from hypothesis import strategies as st

from pytest_voicebench.conversation import Call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
ODD_CALLS = st.lists(
    st.builds(
        Call,
        call_id=st.text(max_size=3),
        name=st.sampled_from([*TOOLS, "nobody"]),
        arguments=st.dictionaries(st.sampled_from(["city", "date", "amount", "order_id", "x"]), JSON, max_size=3),
        status=st.sampled_from(["executed", "failed", "rejected", "cancelled"]),
        at_ticks=st.integers(-10, 10**6),
        answered_ticks=st.none() | st.integers(-10, 10**6),
        result=JSON,
    ),
    max_size=5,
)
ODD_TURNS = st.lists(st.tuples(st.integers(-2, 30), st.integers(0, 20)), max_size=3).map(
    lambda items: [turn(a, a + b, step=n) for n, (a, b) in enumerate(items)]
)
ODD_SPEECH = st.none() | st.lists(st.tuples(st.floats(-1, 60), st.floats(-1, 60)), max_size=4)
