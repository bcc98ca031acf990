"""Two runs side by side as text: a line for each item that moved, what differs around them, one sentence at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_voicebench.comparing import Comparison, Difference, ItemChange, Json, Moved
from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.some_names import some
from pytest_voicebench.writers.plain_text import columns, one_line, pad, value_text, wrapped

MOST_MOVED = 6
MOST_ITEMS = 6
LONGEST_VALUE = 40
TOLD_BY_OUTCOME = ("outcome", "passed")

_WORDS = {
    "expect_sha256": "the expectation of {items} is not the same",
    "known_issue": "the known issue of {items} is not the same",
    "agent.clock": "the clock of {items} is not the same ({before} -> {after}): their latencies cannot be compared",
}


def comparison_text(found: Comparison, *, width: int = 100) -> str:
    """Lines of at most `width` columns, the sentence last; the first says so where nothing could be compared."""
    nothing = "" if found.compared else f": nothing can be compared, {_why_nothing(found)}"
    lines = [*wrapped(f"compare {found.before} -> {found.after}{nothing}", width), ""]
    if found.changes:
        lines += [*_table(found.changes, width), ""]
    around = list(_around(found))
    lines += [part for text in around for part in wrapped(text, width)]
    lines += [""] if around else []
    return "\n".join([*lines, *wrapped(sentence(found), width)]) + "\n"


def _why_nothing(found: Comparison) -> str:
    if found.other_requests:
        return "items of the same name are other requests"
    if not (found.only_before and found.only_after):
        return "a run has no items"
    several = len(found.agents_before) > 1 or len(found.agents_after) > 1
    if several and not set(found.agents_before) & set(found.agents_after):
        return "no agent is in both runs: choose one with --agent NAME"
    return "no item is in both runs"


def sentence(found: Comparison) -> str:
    """`100 items compared: 2 now pass, 1 now fails, 3 moved otherwise, 94 are the same; 1 only in A.`

    Items that ask something else are counted after them: `; 8 could not be compared: another request`.
    """
    rest = [f"{len(found.other_requests)} could not be compared: another request"] * bool(found.other_requests)
    for name, only in ((found.before, found.only_before), (found.after, found.only_after)):
        rest += [f"{len(only)} only in {name}"] * bool(only)
    items = counted(found.compared, "item") if found.compared else "no item"
    compared = f"{items} compared: {_counts(found)}" if found.compared else f"{items} compared"
    return "; ".join([compared, *rest]) + "."


def _counts(found: Comparison) -> str:
    changes = found.changes
    passes = sum(c.flipped and c.after == "passed" for c in changes)
    fails = sum(c.flipped and c.after == "failed" for c in changes)
    others, same = len(changes) - passes - fails, found.compared - len(changes)
    parts = [f"{passes} now {noun_for(passes, 'passes', 'pass')}"] * bool(passes)
    parts += [f"{fails} now {noun_for(fails, 'fails', 'fail')}"] * bool(fails)
    parts += [f"{others} moved otherwise"] * bool(others)
    return ", ".join([*parts, f"{counted(same, 'is', 'are')} the same"])


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
            lines += wrapped(text, width)
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
    yield from found.damaged
    for difference in found.around:
        yield difference_text(difference, found.compared)
    if found.other_requests:
        yield f"another request under the same name, not compared: {some(found.other_requests, MOST_ITEMS)}"
    for name, items in ((found.before, found.only_before), (found.after, found.only_after)):
        if items:
            yield f"only in {name}: {some(items, MOST_ITEMS)}"
    yield from _agents_hint(found)


def _agents_hint(found: Comparison) -> Iterator[str]:
    """Where a run has several agents and the other does not have the same."""
    sides = ((found.before, found.agents_before), (found.after, found.agents_after))
    if set(found.agents_before) != set(found.agents_after) and any(len(names) > 1 for _, names in sides):
        told = ", ".join(f"{name} has {' and '.join(names) or 'none'}" for name, names in sides)
        yield f"agents: {told}; each meets the one of its name, --agent NAME takes one out of several to meet any"


def difference_text(difference: Difference, compared: int) -> str:
    """One difference around the scores as a line; `compared` is how many items it could have concerned."""
    count = len(difference.items)
    items = (
        "all items"
        if count == compared
        else f"{count} of {counted(compared, 'item')} ({some(difference.items, MOST_ITEMS)})"
    )
    before, after = _value(difference.before), _value(difference.after)
    if difference.name in _WORDS:
        return _WORDS[difference.name].format(items=items, before=before, after=after)
    where = f" ({some(difference.items, MOST_ITEMS)})" if difference.items and count < compared else ""
    return f"{difference.name}: {before} -> {after}{where}"
