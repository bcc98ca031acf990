"""Published results of Full-Duplex-Bench-v3 (arXiv 2604.04847, table 2; n = 100, human speech): reference figures.

They were made by the official rules on the official recordings, and may stand only beside runs of those.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "arXiv 2604.04847, table 2"
ITEMS = 100

STRATA = {
    "ecommerce_support": {"easy": 9, "medium": 12, "hard": 8},
    "finance_billing": {"easy": 11, "medium": 8, "hard": 6},
    "housing_location": {"easy": 8, "medium": 10, "hard": 8},
    "travel_identity": {"easy": 8, "medium": 4, "hard": 8},
}
"""How many recordings the released benchmark has by domain and difficulty: its ITEMS, and no other suite's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One system's figures as printed; rates are fractions of 1, `passed` of 100 items."""

    name: str
    passed: int
    f1: float
    argument_accuracy: float
    turn_take_rate: float
    interruption_rate: float
    task_completion_latency_s: float


PUBLISHED = tuple(
    PublishedRow(
        name=name,
        passed=passed,
        f1=f1,
        argument_accuracy=arguments,
        turn_take_rate=taken,
        interruption_rate=interrupted,
        task_completion_latency_s=seconds,
    )
    for name, passed, f1, arguments, taken, interrupted, seconds in (
        ("GPT-Realtime", 60, 0.876, 0.680, 0.96, 0.135, 6.89),
        ("Gemini Live 3.1", 54, 0.817, 0.588, 0.78, 0.192, 4.25),
        ("Gemini Live 2.5", 49, 0.786, 0.593, 0.92, 0.141, 7.26),
        ("Cascaded", 45, 0.803, 0.562, 1.00, 0.330, 10.12),
        ("Grok", 43, 0.797, 0.542, 0.94, 0.255, 6.65),
        ("Ultravox v0.7", 41, 0.794, 0.513, 0.96, 0.479, 8.40),
    )
)
