"""What judges said, as tables: one for each judge, with the exact figure beside every judged one."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_voicebench.counted import counted
from pytest_voicebench.official_summary import OfficialJudgedAgent
from pytest_voicebench.summary import JudgedAgent, JudgedScore, JudgeSummary, Mean, Summary
from pytest_voicebench.writers.cells import seconds_text
from pytest_voicebench.writers.grid import Grid

HEAD = ("", "judged", "95 % interval", "n", "asked", "unjudged", "by matchers")


def judge_tables(summary: Summary) -> Iterator[Grid]:
    """One table a judge and agent; nothing where nobody was asked."""
    several = len(summary.agents) > 1
    for judged in summary.judge:
        for number, agent in enumerate(judged.agents):
            name = summary.agents[number].name if number < len(summary.agents) else agent.name
            yield _table(judged, agent, f": {name}" if several else "", number)


def _table(judged: JudgeSummary, agent: JudgedAgent, suffix: str, number: int) -> Grid:
    last = number == len(judged.agents) - 1
    scores = (
        ("response carries what was asked", agent.response_quality, None),
        ("argument accuracy", agent.argument_accuracy, agent.argument_accuracy_exact),
        ("  wrong for matchers, same in meaning", agent.same_meaning, None),
        ("a sentence holds the information", agent.information_said, None),
    )
    rows = [_row(label, score, exact) for label, score, exact in scores]
    latency = agent.information_latency_s
    if latency.n:
        rows.append(("user's end to that sentence, mean", seconds_text(latency.mean), "", str(latency.n), "", "", ""))
    withheld = [f"withheld: {label.strip()}: {score.withheld}" for label, score, _ in scores if score.withheld]
    official = [_official_text(one) for one in judged.official[number : number + 1]]
    return Grid(
        title=f"Judge {judged.judge.text}{suffix}",
        head=HEAD,
        rows=rows,
        notes=[*withheld, *official, *(_notes(judged) if last else ())],
    )


def _official_text(agent: OfficialJudgedAgent) -> str:
    """The figures of the official set under this judge, in one line."""
    if agent.scores is None:
        return f"official-judged(ours) withheld: {agent.withheld}"
    means, rate = agent.scores.by_metric, agent.scores.pass_rate
    values = (means.argument_accuracy.value, agent.response_quality and agent.response_quality.value, rate.value)
    shown = ["n/a" if value is None else f"{value:.3f}" for value in values]
    turns = counted(means.argument_accuracy.n, "turn")
    return (
        f"official-judged(ours): arguments {shown[0]}, response {shown[1]} ({turns} taken); "
        f"Pass {shown[2]} ({rate.k}/{rate.n}{f', {agent.unjudged} unjudged' if agent.unjudged else ''})"
    )


def _row(label: str, score: JudgedScore, exact: Mean | None) -> tuple[str, ...]:
    value = f"{score.value:.3f}" if score.value is not None else ("withheld" if score.withheld else "n/a")
    interval = "" if score.low is None or score.high is None else f"[{score.low:.2f}, {score.high:.2f}]"
    if score.unjudged and score.least is not None and score.most is not None:
        interval = f"{score.least:.2f} to {score.most:.2f}"  # what the unjudged leave open says more than chance does
    matchers = "" if exact is None else ("n/a" if exact.value is None else f"{exact.value:.3f}")
    return (label, value, interval, str(score.n), str(score.asked), str(score.unjudged), matchers)


def _notes(judged: JudgeSummary) -> Iterator[str]:
    yield "a judge changes no outcome; where questions are unjudged, the interval is what they leave open"
    causes = ", ".join(f"{number} {cause}" for cause, number in judged.unjudged_causes.items())
    yield f"{judged.judged} of {judged.asked} judged ({judged.cached} from the cache), {judged.unjudged} unjudged" + (
        f": {causes}" if causes else ""
    )
    cost = "" if judged.cost is None else f", cost {judged.cost:.4f}"
    formats = ", ".join(f"{number} {name}" for name, number in judged.output_formats.items()) or "none"
    yield f"tokens: {judged.input_tokens} in, {judged.output_tokens} out{cost}; answers as {formats}"
    if judged.judged_from:
        yield f"verdicts given {judged.judged_from} to {judged.judged_until}"
