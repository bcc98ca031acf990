"""Pairs of lists, sets and objects, compared by the kind of their leaves."""

from __future__ import annotations

from matcher_table import Table, each

PEOPLE = {"name": "Ada Lovelace", "born": "1815-12-10", "address": {"city": "Las Vegas", "zip": "00123"}}
FIELDS = {
    "name": {"kind": "person"},
    "born": {"kind": "date"},
    "address": {"kind": "text", "fields": {"city": {"kind": "place"}, "zip": {"kind": "identifier"}}},
}


def person(**changes: object) -> dict[str, object]:
    """The person with other values; None leaves a key out."""
    return {key: value for key, value in (PEOPLE | changes).items() if value is not None}


def at(**changes: object) -> dict[str, object]:
    """The same, for the address."""
    return person(address={**PEOPLE["address"], **changes})  # type: ignore[dict-item]


CONTAINERS: dict[str, tuple[str, Table]] = {
    "list": (
        "text",
        Table(
            accepts=[
                *each(
                    ["red", "blue"],
                    ["red", "blue"],
                    ["Red", "Blue"],
                    ("red", "blue"),
                    ["the red", "blue"],
                    ["reds", "blues"],
                ),
                *each([1, 2, 3], [1, 2, 3], ["1", "2", "3"], [1.0, 2.0, 3.0], ["one", "two", "three"], [1, "2", 3.0]),
                *each([], [], ()),
                *each(["a", ["b", "c"]], ["A", ["B", "C"]], ["a", ["b", "c"]]),
                *each([True, "yes"], [True, "yes"], ["yes", "Yes"], ["true", "yes"]),
                *each([None, "a"], [None, "a"], [None, "A"]),
                *each([{"a": "x"}], [{"a": "X"}], [{"a": "x", "b": None}]),
            ],
            rejects=[
                *each(["red", "blue"], ["blue", "red"], ["red"], ["red", "blue", "blue"], "red, blue", [], {}, None, 5),
                *each(["red", "blue"], ["red", ["blue"]], ["red", None], ["red", 5], ["red blue"], {"red": "blue"}),
                *each([1, 2, 3], [1, 2], [3, 2, 1], [1, 2, 4], "123", [[1, 2, 3]]),
                *each([], ["a"], [None], "", {}),
            ],
            near=each(
                ["red", "blue"],
                ["red", "blu"],
                ["rd", "blue"],
                ["red", "glue"],
                ["blue", "red"],
                ["red"],
                ["blue"],
                ["red", "blue", ""],
                ["bred", "blue"],
                ["red", "bluex"],
                ["red", "red"],
            ),
        ),
    ),
    "set": (
        "text",
        Table(
            options={"set": True},
            accepts=[
                *each(
                    ["red", "blue"],
                    ["blue", "red"],
                    ["red", "blue"],
                    ["Blue", "RED"],
                    ["red", "blue", "red"],
                    ("blue", "red"),
                ),
                *each([1, 2, 3], [3, 1, 2], ["2", "3", "1"], [1, 1, 2, 3], ["three", "two", "one"], [3.0, 2, 1]),
                *each(["a", "a"], ["a"], ["a", "a", "a"], ["A"]),
                *each(["a", "b"], ["b", "a", "b", "a"], ["the a", "b"]),
                *each([], [], ()),
                *each([["a", "b"]], [["b", "a"]], [["a", "b"], ["b", "a"]]),
                *each([True, False], [False, True], ["no", "yes"]),
            ],
            rejects=[
                *each(
                    ["red", "blue"], ["red"], ["blue"], ["red", "green"], [], "red", None, {}, ["red", "blue", "green"]
                ),
                *each(["red", "blue"], ["red blue"], ["red", ["blue"]], ["red", 1], [None, "red", "blue"]),
                *each([1, 2, 3], [1, 2], [1, 2, 3, 4], [1, 2, "x"], 123),
                *each([], ["a"], [[]]),
                *each(["a"], [], ["b"], ["a", "b"]),
            ],
            near=each(
                ["red", "blue"],
                ["blue", "rd"],
                ["blu", "red"],
                ["red", "glue"],
                ["red"],
                ["blue"],
                ["red", "blue", "x"],
                ["red", "red"],
                ["bred", "blue"],
                ["blue", "bred"],
                ["red", "blu e"],
            ),
        ),
    ),
    "object": (
        "text",
        Table(
            options={"fields": FIELDS},
            accepts=[
                *each(PEOPLE, PEOPLE, person(name="ada lovelace"), person(name="Lovelace, Ada"), person(extra=None)),
                *each(PEOPLE, person(born="December 10, 1815"), person(born="10 Dec 1815"), person(born="1815/12/10")),
                *each(
                    PEOPLE, at(city="Vegas"), at(city="las vegas"), at(zip="00 123"), at(zip="0-0-1-2-3"), at(x=None)
                ),
                *each(PEOPLE, person(name="Ms. Ada Lovelace", born="the 10th of December 1815")),
                *each({"a": "x"}, {"a": "X"}, {"a": "the x"}, {"a": "x", "b": None}),
                *each({}, {}, {"a": None}),
                *each({"a": {"b": [1, 2]}}, {"a": {"b": ["1", 2]}}, {"a": {"b": [1.0, "two"]}}),
                *each({"a": True}, {"a": "yes"}, {"a": True}),
            ],
            rejects=[
                *each(
                    PEOPLE, {}, person(name=None), person(born=None), person(address=None), person(extra=1), [PEOPLE]
                ),
                *each(PEOPLE, person(name="Ada"), person(born="1816-12-10"), person(address="Las Vegas"), "Ada", None),
                *each(
                    PEOPLE, at(city="Reno"), at(zip="123"), at(zip=123), at(city=None), at(more="x"), at(city=["Vegas"])
                ),
                *each({"a": "x"}, {"b": "x"}, {"a": "x", "b": "x"}, {"A": "x"}, {"a": {}}),
            ],
            near=[
                *each(PEOPLE, person(name="Ida Lovelace"), person(name="Ada Lovelac"), person(born="1815-12-11")),
                *each(
                    PEOPLE, person(born="1815-11-10"), person(born="1814-12-10"), at(city="Los Vegas"), at(zip="00124")
                ),
                *each(PEOPLE, at(zip="0123"), at(city="Vega"), person(extra="")),
            ],
            open=[(PEOPLE, person(born="10/12/1815")), (PEOPLE, person(name="A. Lovelace"))],
        ),
    ),
}
