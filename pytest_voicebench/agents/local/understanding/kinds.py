"""What kind of value a tool's parameter takes, read from its declaration."""

from __future__ import annotations

from typing import Literal

from pytest_voicebench.agents.local.understanding.lexicon import PRICE_GROUP, concepts
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import stem
from pytest_voicebench.tools import Parameter, Tool

Kind = Literal["date", "currency", "identifier", "place", "person", "money", "count", "enum", "boolean", "text"]
Role = Literal["goal", "source", "none"]

_PERSONS = word_set("""
    passenger customer guest person traveler traveller recipient contact user patient owner
    """)
_PLACES = word_set("""
    city destination origin address location place town area country airport station region
    neighborhood neighbourhood district
    """)
_GOALS = word_set("destination to arrival end target goal dropoff")
_SOURCES = word_set("origin from source start departure pickup")
_WORDY = word_set("type kind name value")
_FREE = word_set("query search keyword keywords term terms")


def name_words(parameter: Parameter) -> list[str]:
    """The words of a parameter's name."""
    return parameter.name.lower().split("_")


def kind_of(parameter: Parameter) -> Kind:
    """The kind of value, from matcher, format, enum, type and at last the name."""
    words = set(name_words(parameter))
    if parameter.enum or parameter.match == "enum":
        return "enum"
    if parameter.type == "boolean" or parameter.match == "boolean":
        return "boolean"
    if parameter.match == "date" or parameter.format in ("date", "date-time") or words & {"date", "day"}:
        return "date"
    if parameter.match == "currency" or "currency" in words:
        return "currency"
    if parameter.match == "money":
        return "money"
    if parameter.type in ("integer", "number") or parameter.match == "number":
        return "money" if any(f"#{PRICE_GROUP}" in concepts(w) for w in words) else "count"
    if parameter.match in ("identifier", "phone", "card") or words & {"id", "number", "code"}:
        return "identifier"
    if parameter.match == "person" or words & _PERSONS or parameter.name in ("name", "full_name"):
        return "person"
    return "place" if parameter.match == "place" or words & _PLACES else "text"


def role_of(parameter: Parameter) -> Role:
    """Whether the value is where something goes to or comes from."""
    words = set(name_words(parameter))
    return "goal" if words & _GOALS else "source" if words & _SOURCES else "none"


def head_words(parameter: Parameter) -> set[str]:
    """Stems of the name's words that tell what the value is about: `card` of `card_type`."""
    return {stem(w) for w in name_words(parameter)} - {stem(w) for w in _WORDY | _SOURCES | _GOALS}


def is_free_search(parameter: Parameter) -> bool:
    """A parameter that takes whatever is looked for."""
    return bool(set(name_words(parameter)) & _FREE)


def setting_name(tool: Tool) -> Parameter | None:
    """The parameter that names what a tool sets to its `value`; None for a tool that does not set named things."""
    names = [p for p in tool.parameters.values() if p.enum and {"name", "key", "setting"} & set(name_words(p))]
    return names[0] if names and "value" in tool.parameters else None


def is_bounding(parameter: Parameter) -> bool:
    """A parameter that limits: the value is said as "at most", "under"."""
    return bool({"max", "min", "maximum", "minimum", "limit", "budget"} & set(name_words(parameter)))


def is_place_word(word: str) -> bool:
    """A word for a kind of place."""
    return word in _PLACES
