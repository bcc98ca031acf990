"""Two runs side by side as text: a line for each item that moved, what differs around them, one sentence at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_voicebench.comparing import Comparison, Difference, ItemChange, Json, Moved
from pytest_voicebench.writers.plain_text import columns, one_line, pad, value_text

MOST_MOVED = 6
MOST_ITEMS = 6
LONGEST_VALUE = 40
TOLD_BY_OUTCOME = ("outcome", "passed")

_WORDS = {
    "scenario_sha256": "the scenario of {items} is not the same: what was asked differs",
    "expect_sha256": "the expectation of {items} is not the same",
    "known_issue": "the known issue of {items} is not the same",
    "agent.clock": "the clock of {items} is not the same ({before} -> {after}): their latencies cannot be compared",
}


def comparison_text(found: Comparison, *, width: int = 100) -> str:
    """Lines of at most `width` columns, the sentence last."""
    lines = [one_line(f"compare {found.before} -> {found.after}", width), ""]
    if found.changes:
        lines += [*_table(found.changes, width), ""]
    around = list(_around(found))
    lines += [part for text in around for part in _wrapped(text, width)]
    lines += [""] if around else []
    return "\n".join([*lines, *_wrapped(sentence(found), width)]) + "\n"


def sentence(found: Comparison) -> str:
    """`100 items compared: 2 now pass, 1 now fails, 3 moved otherwise, 94 are the same; 1 only in A.`"""
    changes = found.changes
    passes = sum(c.flipped and c.after == "passed" for c in changes)
    fails = sum(c.flipped and c.after == "failed" for c in changes)
    others, same = len(changes) - passes - fails, found.compared - len(changes)
    parts = [f"{passes} now {'passes' if passes == 1 else 'pass'}"] * bool(passes)
    parts += [f"{fails} now {'fails' if fails == 1 else 'fail'}"] * bool(fails)
    parts += [f"{others} moved otherwise"] * bool(others)
    parts.append(f"{same} {'is' if same == 1 else 'are'} the same")
    only = [
        f"{len(items)} only in {name}"
        for name, items in ((found.before, found.only_before), (found.after, found.only_after))
        if items
    ]
    items = "1 item" if found.compared == 1 else f"{found.compared} items"
    return f"{items} compared: {', '.join(parts)}{''.join(f'; {text}' for text in only)}."


def _table(changes: Sequence[ItemChange], width: int) -> Iterator[str]:
    """Item, outcome, what moved; what does not fit into the line goes on below it."""
    several = len({c.agent for c in changes}) > 1
    names = [f"{c.item_id} ({c.agent})" if several and c.agent not in c.item_id else c.item_id for c in changes]
    outcomes = [c.before if c.before == c.after else f"{c.before} -> {c.after}" for c in changes]
    first = min(max(columns(one_line(t)) for t in [*names, "item"]), width // 3)
    second = max(len(t) for t in [*outcomes, "outcome"])
    yield f"{pad('item', first)}  {pad('outcome', second)}  what moved"
    for name, outcome, change in zip(names, outcomes, changes, strict=True):
        head = f"{pad(name, first)}  {pad(outcome, second)}  "
        for part in _in_lines(_moved_texts(change), width - first - second - 4):
            yield (head + part).rstrip()
            head = " " * (first + second + 4)


def _moved_texts(change: ItemChange) -> list[str]:
    told = [m for m in change.moved if m.name not in TOLD_BY_OUTCOME]
    parts = [_one_moved(m) for m in told[:MOST_MOVED]]
    left = len(told) - len(parts)
    return parts + [f"{left} more"] * bool(left)


def _in_lines(parts: Sequence[str], width: int) -> list[str]:
    """The parts with commas between them, broken after a comma; a part that is too long is broken at spaces."""
    lines = [""]
    for number, part in enumerate(parts):
        text = part if number + 1 == len(parts) else part + ","
        longer = f"{lines[-1]} {text}" if lines[-1] else text
        if columns(longer) <= width:
            lines[-1] = longer
        else:
            lines += _wrapped(text, width)
    return [line for line in lines if line] or [""]


def _one_moved(moved: Moved) -> str:
    name = moved.name.removesuffix(".verdict")
    if name != "times.cause":  # which would be taken for the cause of an error
        name = name.removeprefix("times.").removeprefix("manners.")
    return f"{name} {_value(moved.before)} -> {_value(moved.after)}"


def _value(value: Json) -> str:
    """Numbers to three decimals, flags as yes and no, what is not there as n/a."""
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    return one_line(value, LONGEST_VALUE) if isinstance(value, str) else value_text(value, LONGEST_VALUE)


def _around(found: Comparison) -> Iterator[str]:
    for difference in found.around:
        yield _difference_text(difference, found.compared)
    for name, items in ((found.before, found.only_before), (found.after, found.only_after)):
        if items:
            yield f"only in {name}: {_some(items)}"


def _difference_text(difference: Difference, compared: int) -> str:
    count = len(difference.items)
    items = "all items" if count == compared else f"{count} of {compared} items ({_some(difference.items)})"
    before, after = _value(difference.before), _value(difference.after)
    if difference.name in _WORDS:
        return _WORDS[difference.name].format(items=items, before=before, after=after)
    where = f" ({_some(difference.items)})" if difference.items and count < compared else ""
    return f"{difference.name}: {before} -> {after}{where}"


def _some(names: Sequence[str]) -> str:
    left = len(names) - MOST_ITEMS
    return ", ".join(names[:MOST_ITEMS]) + (f" and {left} more" if left > 0 else "")


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces."""
    lines = [""]
    for word in one_line(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and columns(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [one_line(line, width) for line in lines]
