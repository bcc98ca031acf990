"""Free-text arguments of one request: the thing looked for, or what stands before the parameter's own noun."""

from __future__ import annotations

from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import head_words, is_free_search, kind_of, setting_name
from pytest_voicebench.agents.local.understanding.mentions import Mention
from pytest_voicebench.agents.local.understanding.options import fill_setting
from pytest_voicebench.agents.local.understanding.sought import things_sought
from pytest_voicebench.agents.local.understanding.turn import Turn, settle
from pytest_voicebench.agents.local.understanding.words import stem
from pytest_voicebench.tools import Parameter


def fill_text(turn: Turn, request: Request, filled: dict[str, list[Mention]], anywhere: bool = False) -> None:
    """Adds to `filled` the values of free-text parameters, and of a named setting with its value."""
    scope = None if anywhere else request
    name = setting_name(request.tool)
    if name is not None:
        if not anywhere:
            fill_setting(turn, request, name, filled)
        return
    for parameter in request.tool.parameters.values():
        if kind_of(parameter) != "text" or parameter.name in filled:
            continue
        if is_free_search(parameter):
            candidates = [] if anywhere else things_sought(turn, request, parameter)
        else:
            candidates = _before_noun(turn, scope, parameter)
        if candidates:
            filled[parameter.name] = settle(turn.tokens, candidates, False)
            turn.use(candidates)


def _before_noun(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    """The words before the parameter's own noun: "gold" of "the gold card" for a `card_type`."""
    heads = head_words(parameter)
    found = []
    for phrase in turn.of_kind("phrase", scope):
        words = str(phrase.value).split()
        at = max((i for i, w in enumerate(words) if stem(w) in heads), default=0)
        if at:
            end = phrase.start + at
            found.append(Mention(kind="phrase", value=" ".join(words[:at]), start=phrase.start, end=end))
    return found
