"""The mock tools of one conversation: they answer at once, always the same, and change nothing but their own state.

A tool answers from declared data (`returns`) or from a function of the suite (`answer: mock_api:function`), which is
called as `function(arguments, state)` with the checked arguments, defaults filled in, and the conversation's state: a
dict that starts empty. What it returns must be JSON. It says that the call went wrong, as a real API would, by raising
ToolError, or by returning a mapping with an `error` that is not null or with `status: error`.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pytest_voicebench.folder_code import FolderCodeError, load_functions, place_of
from pytest_voicebench.loading.templates import fill
from pytest_voicebench.tools import Tool, Toolset

Json = Any


MOST_DEPTH = 100
MOST_RAW = 10_000
"""Characters that are kept of arguments which are no JSON."""


class ToolError(Exception):
    """Raised by a mock function: the tool answers with this error. The call counts as failed."""


class MockError(Exception):
    """The suite's own mock is broken: error kind `suite`. One line that names file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call came to. `status` as in `conversation.Call`; `result` is what the agent is told.

    `arguments` are as sent ({} where they were no JSON object; the raw text is then in `arguments_text`).
    `reason` says why a call failed or was rejected.
    """

    status: Literal["executed", "failed", "rejected"]
    arguments: Mapping[str, Json]
    result: Json
    reason: str | None = None
    arguments_text: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether the agent is told of an error."""
        return self.status != "executed"


class Toolbox:
    """The tools of one conversation, and their state.

    `folder` is the suite's folder, where `answer` functions live; each toolbox runs their file anew, so that nothing in
    it is shared between conversations. Raises MockError where that file does not run.
    """

    def __init__(self, tools: Toolset, folder: Path) -> None:
        self._tools = tools
        self._folder = folder
        self._state: dict[str, Json] = {}
        targets = sorted({tool.answer for tool in tools.values() if tool.answer})
        try:
            self._functions: dict[str, Callable[..., Any]] = load_functions(folder, targets)
        except FolderCodeError as error:
            raise MockError(str(error)) from error

    def prepare(self) -> None:
        """Load what calls need, so that the first one of a process takes no time from the blocks of a conversation."""
        for tool in self._tools.values():
            broken_rule(tool, {})

    def latency_s(self, name: str) -> float:
        """How long a tool takes to answer, as declared; 0 for a tool that does not exist."""
        tool = self._tools.get(name)
        return tool.latency_s if tool else 0.0

    def call(self, name: str, arguments: str | dict[str, Json]) -> Answer:
        """Answer one call.

        Rejected: no such tool; arguments that are not a JSON object. Failed: arguments that break the tool's schema
        (null means left out; `true` is no integer, `1.0` is one, as in JSON Schema 2020-12; `format` is not checked, so
        that a date in words reaches the scores); an error that the tool itself answers with. Raises MockError where the
        mock is broken, or a tool that is not marked `writes` changed the state.
        """
        parsed, text = _parse(arguments)
        tool = self._tools.get(name)
        if tool is None:
            return _refused("rejected", f"unknown tool {name}", parsed or {}, text if parsed is None else None)
        if parsed is None:
            return _refused("rejected", "the arguments are not a JSON object", {}, text)
        given = {key: value for key, value in parsed.items() if value is not None}
        reason = broken_rule(tool, given)
        if reason:
            return _refused("failed", reason, parsed)
        result, reason = self._result(tool, _complete(tool, given))
        return Answer(status="failed" if reason else "executed", arguments=parsed, result=result, reason=reason)

    def snapshot(self) -> Json:
        """A copy of the state, as JSON."""
        return copy.deepcopy(self._state)

    def state_sha256(self) -> str:
        """SHA-256 of the state as canonical JSON."""
        return hashlib.sha256(_canonical(self._state).encode("utf-8", "surrogatepass")).hexdigest()

    def _result(self, tool: Tool, arguments: dict[str, Json]) -> tuple[Json, str | None]:
        """The tool's answer, and the reason where it is an error."""
        if tool.answer is None:
            result = fill(tool.returns, {**dict.fromkeys(tool.parameters), **arguments})
        else:
            result, reason = self._run(tool, self._functions[tool.answer], arguments)
            if reason:
                return result, reason
        return result, _told_error(result)

    def _run(self, tool: Tool, function: Callable[..., Any], arguments: dict[str, Json]) -> tuple[Json, str | None]:
        before = _canonical(self._state)
        state = json.loads(before)
        reason = None
        try:
            result = function(arguments, state)
        except ToolError as error:
            reason = str(error) or "the tool failed"
            result = {"error": reason}
        except (Exception, SystemExit) as error:
            raise MockError(f"{tool.name}: {place_of(error, self._folder)}") from error
        self._keep(tool, state, before)
        return self._as_json(tool, result, "the answer"), reason

    def _keep(self, tool: Tool, state: dict[str, Json], before: str) -> None:
        self._as_json(tool, state, "the state")
        after = _canonical(state)
        if after != before and not tool.writes:
            raise MockError(f"{tool.name}: {tool.answer} changed the state, but the tool is not marked writes: true")
        self._state = json.loads(after)

    def _as_json(self, tool: Tool, value: Json, what: str) -> Json:
        """The value through JSON and back, so that nothing is shared with the mock."""
        try:
            if not _is_json(plain := json.loads(json.dumps(value, allow_nan=False))):
                raise ValueError(f"nested more than {MOST_DEPTH} deep")
            return plain
        except (TypeError, ValueError, RecursionError) as error:
            raise MockError(f"{tool.name}: {what} that {tool.answer} gives is not JSON: {error}") from error


def answer_of_another(arguments: str | dict[str, Json], result: Json, *, is_error: bool) -> Answer:
    """What a call came to that a tool of the agent's own answered: no schema of ours holds for it."""
    parsed, text = _parse(arguments)
    result = copy.deepcopy(result) if _is_json(result) else repr(result)[:MOST_RAW]
    if parsed is None:
        reason = "the arguments are not a JSON object"
        return Answer(status="rejected", arguments={}, result=result, reason=reason, arguments_text=text)
    if is_error:
        reason = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return Answer(status="failed", arguments=parsed, result=result, reason=reason[:MOST_RAW])
    return Answer(status="executed", arguments=parsed, result=result)


def _parse(arguments: str | dict[str, Json]) -> tuple[dict[str, Json] | None, str]:
    """The arguments object, or None where there is none that JSON can hold, and the raw text."""
    if isinstance(arguments, dict):
        # A copy: the agent keeps the dict it sent, and may change it.
        return (copy.deepcopy(arguments) if _is_json(arguments) else None), repr(arguments)[:MOST_RAW]
    try:
        value = json.loads(arguments, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None, arguments[:MOST_RAW]
    return (value if isinstance(value, dict) and _is_json(value) else None), arguments[:MOST_RAW]


def _is_json(value: Json, depth: int = 0) -> bool:
    """Whether a value is plain JSON that every reader takes: finite numbers, text as keys, at most 100 levels deep."""
    if isinstance(value, dict):
        return depth < MOST_DEPTH and all(isinstance(k, str) and _is_json(v, depth + 1) for k, v in value.items())
    if isinstance(value, list):
        return depth < MOST_DEPTH and all(_is_json(v, depth + 1) for v in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _refused(
    status: Literal["failed", "rejected"], reason: str, arguments: Mapping[str, Json], text: str | None = None
) -> Answer:
    return Answer(status=status, arguments=arguments, result={"error": reason}, reason=reason, arguments_text=text)


def broken_rule(tool: Tool, arguments: Mapping[str, Json]) -> str | None:
    """Which rule of the tool's schema the arguments break first, in words; None where they keep all.

    The arguments are those given: without the null ones.
    """
    validator = _validator(json.dumps(tool.json_schema(), sort_keys=True))
    errors = sorted(
        validator.iter_errors(dict(arguments)), key=lambda error: (list(map(str, error.path)), error.message)
    )
    if not errors:
        return None
    path = ".".join(str(step) for step in errors[0].path)
    return f"invalid arguments: {path + ': ' if path else ''}{errors[0].message}"


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """The validator of a schema, made once: checking the schema itself costs more than a hundred calls."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def _complete(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments as a mock gets them: a copy, defaults filled in, `1.0` for an integer as 1."""
    given = copy.deepcopy(dict(arguments))
    for parameter in tool.parameters.values():
        value = given.get(parameter.name)
        if parameter.name not in given and parameter.has_default:
            given[parameter.name] = copy.deepcopy(parameter.default)
        elif parameter.type == "integer" and isinstance(value, float):
            given[parameter.name] = int(value)
    return given


def _told_error(result: Json) -> str | None:
    if not isinstance(result, dict):
        return None
    error = result.get("error")
    if error not in (None, False, ""):
        return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if result.get("status") == "error":
        return str(result.get("message") or "the tool answered with status error")
    return None


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
