"""One item proved: the oracle passes, and no mutant of it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from pytest_voicebench.agents.simulated import build
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.proving.arguments import argument_mutants
from pytest_voicebench.proving.calls import call_mutants
from pytest_voicebench.proving.exchanges import exchange_mutants
from pytest_voicebench.proving.faults import why_it_passed, why_the_oracle_failed
from pytest_voicebench.proving.mutant import Excluded, Kind, Made, Mutant
from pytest_voicebench.proving.oracle import Oracle, oracle_of
from pytest_voicebench.proving.replay import replayed
from pytest_voicebench.proving.vocabulary import Vocabulary
from pytest_voicebench.proving.voices import voice_mutants
from pytest_voicebench.runner import Runner
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.toolbox import MockError
from pytest_voicebench.validity import measurement_problems

SILENCE_IS_NO_OP = "no call is expected: it is nothing done, nothing said"
GENERATOR = "its steps come from a generator, which simulated agents cannot follow"
KNOWN_ISSUE = "it has a known issue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A mutant and what became of it. `why` is given where it survived, `broke` where a mock tool broke on it."""

    kind: Kind
    what: str
    killed: bool
    why: str | None = None
    broke: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProof:
    """What came of one item. `skipped` and `oracle_fault` say why nothing was tried; `path` is as it was given."""

    item_id: str
    scenario_id: str
    path: str
    line: int
    tried: tuple[Tried, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    skipped: str | None = None
    oracle_fault: str | None = None


def prove_item(scenario: Scenario, vocabulary: Vocabulary) -> ItemProof:
    """Hold the item's conversation with the oracle and two agents that fail, and score all mutants of the oracle.

    Runs in virtual time. Nothing that the scenario does makes it raise.
    """
    reason = _skipped(scenario)
    if reason:
        return _proof(scenario, skipped=reason)
    try:
        held = _held(scenario, "oracle")
        fault = _fault(scenario, held)
        if fault:
            return _proof(scenario, oracle_fault=fault)
        oracle = oracle_of(scenario, held, vocabulary)
        again = replayed(scenario, held, oracle.calls)  # else mutants might fail for being replayed
        card = score(scenario, again.conversation)
        if not card.passed:
            fault = again.broke or why_the_oracle_failed(card, ())
            return _proof(scenario, oracle_fault=f"with its calls one after another: {fault}")
        made = list(_mutants(oracle))
        tried = [*_live(scenario), *(_tried(oracle, m) for m in made if isinstance(m, Mutant))]
    except MockError as error:
        return _proof(scenario, oracle_fault=f"suite: {error}")
    excluded = [m for m in made if isinstance(m, Excluded)]
    return _proof(scenario, tried=tuple(tried), excluded=tuple(excluded))


def _skipped(scenario: Scenario) -> str | None:
    if scenario.skip:
        return f"skip: {scenario.skip}"
    if scenario.generator is not None:
        return GENERATOR
    return f"{KNOWN_ISSUE}: {scenario.known_issue}" if scenario.known_issue else None


def _proof(
    scenario: Scenario,
    *,
    tried: tuple[Tried, ...] = (),
    excluded: tuple[Excluded, ...] = (),
    skipped: str | None = None,
    oracle_fault: str | None = None,
) -> ItemProof:
    return ItemProof(
        item_id=scenario.item_id,
        scenario_id=scenario.id,
        path=str(scenario.suite.path),
        line=scenario.line,
        tried=tried,
        excluded=excluded,
        skipped=skipped,
        oracle_fault=oracle_fault,
    )


def _held(scenario: Scenario, behaviour: str) -> Conversation:
    with closing(Runner()) as runner:
        return detect_speech(runner.submit(scenario, build(scenario, behaviour=behaviour)).result())


def _fault(scenario: Scenario, held: Conversation) -> str | None:
    """Why the oracle failed; None where it passed, as held and as replayed: else mutants would fail for nothing."""
    problems = [*(p for p in held.problems if p.kind != "agent"), *measurement_problems(scenario, held)]
    card = score(scenario, held)
    if problems or not card.passed:
        return why_the_oracle_failed(card, problems)
    return None


def _mutants(oracle: Oracle) -> Iterator[Made]:
    yield from argument_mutants(oracle)
    yield from exchange_mutants(oracle)
    yield from call_mutants(oracle)
    yield from voice_mutants(oracle)
    if not oracle.calls:
        yield Excluded(kind="silent_worker", what="silent worker", reason=SILENCE_IS_NO_OP)


def _live(scenario: Scenario) -> Iterator[Tried]:
    """The two agents that must fail as agents, each in a conversation of its own."""
    kinds: tuple[Kind, ...] = ("no_op", "silent_worker") if scenario.expect.calls else ("no_op",)
    for kind in kinds:
        passed = score(scenario, _held(scenario, kind)).passed
        why = "it passes without a word" if passed else None
        yield Tried(kind=kind, what=kind.replace("_", "-"), killed=not passed, why=why)


def _tried(oracle: Oracle, mutant: Mutant) -> Tried:
    replay = replayed(oracle.scenario, oracle.held, mutant.calls)
    card = score(oracle.scenario, mutant.voices(replay.conversation))
    why = why_it_passed(oracle.scenario, mutant, card) if card.passed else None
    return Tried(kind=mutant.kind, what=mutant.what, killed=not card.passed, why=why, broke=replay.broke)
