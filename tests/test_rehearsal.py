"""Expected calls played on the mocks show what only running tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from good_suites import GOOD, changed, copy_of_good

from pytest_voicebench.loading import is_suite_file, load_suite
from pytest_voicebench.rehearsal import rehearse


@pytest.mark.parametrize("path", sorted(filter(is_suite_file, GOOD.glob("*.yaml"))), ids=lambda p: p.stem)
def test_the_good_suites_play_through(path: Path) -> None:
    assert rehearse(load_suite(path)) == ()


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        (
            "mock_api.py",
            '"booking": {"code": f"B{len(bookings)}"}',
            '"booking": {}',
            "first_flight.expect.calls[2].track_order: $RESULT_1.booking.code: no key 'code'",
        ),
        (
            "mock_api.py",
            "bookings.append(dict(arguments))",
            "bookings.append(1 / 0)",
            "first_flight.expect.calls[1].book_flight: book_flight: mock_api.py:8: ZeroDivisionError: division by zero",
        ),
        (
            "mock_api.py",
            "from __future__ import annotations",
            "raise KeyError(3)",
            "first_flight.tools: mock_api.py:3: KeyError: 3",
        ),
        (
            "mock_api.py",
            'f"B{len(bookings)}"',
            '__import__("os").urandom(8).hex()',
            "first_flight.expect.calls[1].book_flight: the mock answers the same calls otherwise the second time",
        ),
        (
            "tools.yaml",
            "order_id: {type: string,",
            "order_id: {type: string, pattern: ^X,",
            "first_flight.expect.calls[2].track_order: invalid arguments: order_id: 'B1' does not match '^X'",
        ),
    ],
)
def test_what_only_running_tells_is_told(tmp_path: Path, file: str, before: str, after: str, message: str) -> None:
    folder = copy_of_good(tmp_path / "suite")
    changed(folder / file, before, after)
    mistakes = rehearse(load_suite(folder / "references.yaml"))
    assert f"{mistakes[0].where}: {mistakes[0].what}" == message


def test_a_reference_to_any_element_is_played_with_the_first_one(tmp_path: Path) -> None:
    """The second flight's id is a number, which book_flight would refuse."""
    folder = copy_of_good(tmp_path / "suite")
    changed(folder / "tools.yaml", "price: 450.0}]", "price: 450.0}, {flight_id: 7}]")
    assert rehearse(load_suite(folder / "references.yaml")) == ()


def test_an_error_that_a_tool_answers_with_is_no_mistake(tmp_path: Path) -> None:
    folder = copy_of_good(tmp_path / "suite")
    changed(folder / "tools.yaml", 'returns: {order_id: "{order_id}", text', "returns: {error: no such order, text")
    assert rehearse(load_suite(folder / "every_step.yaml")) == ()


BUNDLE = """
bundle:
  description: Keep flights together.
  parameters:
    flights: {type: array, items: {type: string}}
    more: {type: object}
  returns: {flights: "{flights}", more: "{more}"}
"""
CALLS = """
        - bundle: {flights: ["$RESULT_0.flights[0].flight_id", FL9], more: {price: "$RESULT_0.flights[*].price"}}
        - track_order: {order_id: "$RESULT_3.flights[0]"}
        - track_order: {order_id: "$RESULT_3.more.cost"}
"""


def test_references_inside_lists_and_mappings_are_played_as_they_are_scored(tmp_path: Path) -> None:
    folder = copy_of_good(tmp_path / "suite")
    with (folder / "tools.yaml").open("a", encoding="utf-8") as file:
        file.write(BUNDLE)
    suite = (folder / "references.yaml").read_text(encoding="utf-8")
    (folder / "references.yaml").write_text(suite.rstrip() + CALLS, encoding="utf-8")
    mistakes = rehearse(load_suite(folder / "references.yaml"))
    assert [f"{m.where}: {m.what}" for m in mistakes] == [
        "first_flight.expect.calls[5].track_order: $RESULT_3.more.cost: no key 'cost'"
    ]
