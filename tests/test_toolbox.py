"""Mock tools answer the same to the same, refuse what their schema forbids, and share nothing between conversations."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from good_suites import GOOD

from pytest_voicebench.loading import load_suite
from pytest_voicebench.toolbox import Answer, MockError, Toolbox
from pytest_voicebench.tools import Parameter, Tool

TOOLS = load_suite(GOOD / "scalars.yaml").info.tools


@pytest.fixture
def toolbox() -> Toolbox:
    """The tools of the good suites."""
    return Toolbox(TOOLS, GOOD)


def tool(name: str = "t", *, writes: bool = False, **parameters: str) -> Tool:
    """A tool that the function of the same name in mock.py answers."""
    declared = {key: Parameter(name=key, type=kind) for key, kind in parameters.items()}  # type: ignore[arg-type]
    return Tool(name=name, description="A tool.", parameters=declared, writes=writes, answer=f"mock:{name}")


def mocked(folder: Path, code: str, *tools: Tool) -> Toolbox:
    """A toolbox whose mock.py holds the code."""
    (folder / "mock.py").write_text(code, encoding="utf-8")
    return Toolbox({t.name: t for t in tools}, folder)


def test_a_declared_answer_is_filled_with_the_arguments(toolbox: Toolbox) -> None:
    answer = toolbox.call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
    assert answer == Answer(
        status="executed",
        arguments={"destination": "Milan", "date": "2026-06-03"},
        result={
            "status": "success",
            "flights": [{"flight_id": "FL123", "destination": "Milan", "date": "2026-06-03", "price": 450.0}],
        },
    )
    assert not answer.is_error


def test_a_sole_placeholder_keeps_the_type_and_one_in_a_text_becomes_text(toolbox: Toolbox) -> None:
    given = {"count": 3, "many": ["a"], "ok": True}
    assert toolbox.call("measure", given).result == {
        "count": 3,
        "unit": "metre",
        "many": ["a"],
        "line": "3 metre, true",
    }
    assert toolbox.call("measure", {}).result == {"count": 1, "unit": "metre", "many": None, "line": "1 metre, "}


def test_an_answer_that_is_a_text_and_a_tool_without_parameters(toolbox: Toolbox) -> None:
    assert toolbox.call("ping", "{}").result == "pong"


@pytest.mark.parametrize("name", ["delete_account", "", "Ping", "search_flights "])
def test_an_unknown_tool_is_rejected_and_its_arguments_are_kept(toolbox: Toolbox, name: str) -> None:
    answer = toolbox.call(name, '{"id": 7}')
    assert (answer.status, answer.arguments, answer.is_error) == ("rejected", {"id": 7}, True)
    assert answer.reason == f"unknown tool {name}"
    assert answer.result == {"error": answer.reason}


@pytest.mark.parametrize(
    "text", ['{"city": "Par', "", "[1]", '"x"', "null", "3", "{'a': 1}", '{"a": NaN}', '{"a": 1} x', "[" * 100_000]
)
def test_arguments_that_are_no_json_object_are_rejected_and_the_raw_text_is_kept(toolbox: Toolbox, text: str) -> None:
    answer = toolbox.call("ping", text)
    assert (answer.status, answer.arguments, answer.arguments_text) == ("rejected", {}, text[:10_000])
    assert answer.result == {"error": "the arguments are not a JSON object"}


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("search_flights", {"destination": "Milan"}, "invalid arguments: 'date' is a required property"),
        ("search_flights", {"destination": "Milan", "date": None}, "invalid arguments: 'date' is a required property"),
        ("ping", {"x": 1}, "invalid arguments: Additional properties are not allowed ('x' was unexpected)"),
        ("measure", {"count": True}, "invalid arguments: count: True is not of type 'integer'"),
        ("measure", {"count": 1.5}, "invalid arguments: count: 1.5 is not of type 'integer'"),
        ("measure", {"count": "1"}, "invalid arguments: count: '1' is not of type 'integer'"),
        ("measure", {"ok": "yes"}, "invalid arguments: ok: 'yes' is not of type 'boolean'"),
        ("measure", {"unit": "mile"}, "invalid arguments: unit: 'mile' is not one of ['metre', 'foot']"),
        ("measure", {"rate": 2}, "invalid arguments: rate: 2 is greater than the maximum of 1"),
        ("measure", {"many": [1]}, "invalid arguments: many.0: 1 is not of type 'string'"),
    ],
)
def test_arguments_that_break_the_schema_get_an_error_as_a_real_api_gives(
    toolbox: Toolbox, name: str, arguments: dict[str, object], reason: str
) -> None:
    answer = toolbox.call(name, json.dumps(arguments))
    assert (answer.status, answer.arguments, answer.reason) == ("failed", arguments, reason)
    assert answer.result == {"error": reason}


def test_null_is_an_argument_left_out_and_a_whole_float_is_an_integer(toolbox: Toolbox) -> None:
    answer = toolbox.call("measure", {"count": 2.0, "unit": None})
    assert (answer.status, answer.arguments) == ("executed", {"count": 2.0, "unit": None})
    assert answer.result == {"count": 2, "unit": "metre", "many": None, "line": "2 metre, "}
    assert type(answer.result["count"]) is int


def test_a_date_in_words_reaches_the_scores(toolbox: Toolbox) -> None:
    assert toolbox.call("search_flights", {"destination": "Oslo", "date": "June 3"}).status == "executed"


def test_a_function_of_the_suite_answers_and_keeps_state(toolbox: Toolbox) -> None:
    empty = toolbox.state_sha256()
    first = toolbox.call("book_flight", {"passenger_name": "Ada Lovelace"})
    second = toolbox.call("book_flight", {"passenger_name": "Ada Lovelace", "flight_id": "FL123"})
    assert [first.result["booking"]["code"], second.result["booking"]["code"]] == ["B1", "B2"]
    assert toolbox.snapshot() == {
        "bookings": [{"passenger_name": "Ada Lovelace"}, {"passenger_name": "Ada Lovelace", "flight_id": "FL123"}]
    }
    assert toolbox.state_sha256() != empty


def test_a_new_toolbox_starts_anew_and_the_same_calls_give_the_same_answers(tmp_path: Path) -> None:
    code = "seen = []\ndef t(args, state):\n    seen.append(1)\n    state['n'] = len(seen)\n    return dict(state)\n"

    def results() -> list[object]:
        box = mocked(tmp_path, code, tool(writes=True))
        return [box.call("t", {}).result, box.call("t", {}).result, box.state_sha256()]

    assert results() == results()
    assert results()[:2] == [{"n": 1}, {"n": 2}]


def test_nothing_of_the_conversation_can_be_changed_from_outside(tmp_path: Path) -> None:
    code = (
        "def t(arguments, state):\n    state['kept'] = arguments['m']\n    arguments['m'].append(9)\n    return state\n"
    )
    box = mocked(tmp_path, code, tool(writes=True, m="array"))
    sent = {"m": [1]}
    answer = box.call("t", sent)
    answer.result["kept"].append(5)
    box.snapshot()["kept"].append(7)
    assert sent == {"m": [1]}
    assert box.snapshot() == {"kept": [1, 9]}


def test_the_users_folder_and_the_imported_modules_stay_as_they_are(tmp_path: Path) -> None:
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass D:\n    x: int = 1\n"
        "def t(arguments, state):\n    return {'x': D().x}\n"
    )
    modules, path = set(sys.modules), list(sys.path)
    assert mocked(tmp_path, code, tool()).call("t", {}).result == {"x": 1}
    assert {m for m in set(sys.modules) - modules if "mock" in m} == set()
    assert sys.path == path
    assert [p.name for p in tmp_path.iterdir()] == ["mock.py"]


@pytest.mark.parametrize(
    "body",
    [
        "return {'error': 'no such order'}",
        "raise ToolError('no such order')",
        "return {'status': 'error', 'message': 'no such order'}",
    ],
)
def test_a_tool_says_that_a_call_went_wrong(tmp_path: Path, body: str) -> None:
    code = f"from pytest_voicebench.toolbox import ToolError\ndef t(arguments, state):\n    {body}\n"
    answer = mocked(tmp_path, code, tool()).call("t", {})
    assert (answer.status, answer.reason, answer.is_error) == ("failed", "no such order", True)
    assert "no such order" in answer.result.values()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def t(arguments, state):\n    return 1 / 0\n", "t: mock.py:2: ZeroDivisionError: division by zero"),
        ("def t(a, state):\n    import json\n    json.loads('x')\n", "t: mock.py:3: JSONDecodeError: Expecting value"),
        ("def t(arguments):\n    return 1\n", "t: TypeError: t() takes 1 positional argument but 2 were given"),
        ("def t(a, state):\n    raise SystemExit(3)\n", "t: mock.py:2: SystemExit: 3"),
        ("def t(a, state):\n    return {1, 2}\n", "t: the answer that mock:t gives is not JSON: Object of type set"),
        ("def t(a, state):\n    return float('nan')\n", "t: the answer that mock:t gives is not JSON: Out of range"),
        (
            "def t(a, state):\n    state['x'] = 1\n",
            "t: mock:t changed the state, but the tool is not marked writes: true",
        ),
        (
            "def t(a, state):\n    state['x'] = object()\n",
            "t: the state that mock:t gives is not JSON: Object of type object",
        ),
    ],
)
def test_a_broken_mock_is_the_suites_fault_and_names_its_line(tmp_path: Path, code: str, message: str) -> None:
    box = mocked(tmp_path, code, tool())
    with pytest.raises(MockError) as caught:
        box.call("t", {})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert box.snapshot() == {}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_module_here\ndef t(a, s): ...\n", "mock.py:1: ModuleNotFoundError: No module named"),
        ("def t(a, s)\n", "mock.py:1: SyntaxError: expected ':'"),
        ("x = 1\n", "mock.py has no t"),
        ("t = 3\n", "mock:t is not a function"),
        ("import sys\nsys.exit(1)\ndef t(a, s): ...\n", "mock.py:2: SystemExit: 1"),
    ],
)
def test_a_mock_file_that_does_not_run_is_the_suites_fault(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(MockError) as caught:
        mocked(tmp_path, code, tool())
    assert str(caught.value).startswith(message)


def test_a_missing_mock_file_is_the_suites_fault(tmp_path: Path) -> None:
    with pytest.raises(MockError, match=r"there is no mock\.py in the suite's folder"):
        Toolbox({"t": tool()}, tmp_path)
