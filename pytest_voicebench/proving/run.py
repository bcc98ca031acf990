"""All items of some suites proved, in this process or in several, always in the order written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from pytest_voicebench.proving.mutant import KINDS, Kind
from pytest_voicebench.proving.proof import ItemProof, Tried, prove_item
from pytest_voicebench.proving.vocabulary import Vocabulary, vocabulary_of
from pytest_voicebench.scenario import Scenario, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mutant that passed, in all items (speakers) of its scenario in which it did."""

    item: ItemProof
    mutant: Tried
    item_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of all items, in order."""

    items: tuple[ItemProof, ...]

    @property
    def tried(self) -> Iterator[Tried]:
        """All mutants that were scored."""
        return (mutant for item in self.items for mutant in item.tried)

    @property
    def made(self) -> int:
        """How many mutants were scored."""
        return sum(1 for _ in self.tried)

    @property
    def killed(self) -> int:
        """How many of them failed, as they must."""
        return sum(mutant.killed for mutant in self.tried)

    @property
    def oracle_faults(self) -> tuple[ItemProof, ...]:
        """Items in which an agent that does everything right fails."""
        return tuple(item for item in self.items if item.oracle_fault is not None)

    @property
    def holds(self) -> bool:
        """Whether something was proved, and nothing against it: every oracle passed, every mutant failed."""
        return self.made > 0 and self.killed == self.made and not self.oracle_faults

    def by_kind(self) -> dict[Kind, tuple[int, int, int]]:
        """Mutants made, killed and not made, of each kind of which there is one."""
        made = Counter(mutant.kind for mutant in self.tried)
        killed = Counter(mutant.kind for mutant in self.tried if mutant.killed)
        not_made = Counter(mutant.kind for item in self.items for mutant in item.excluded)
        return {kind: (made[kind], killed[kind], not_made[kind]) for kind in KINDS if made[kind] or not_made[kind]}

    def exclusions(self) -> list[tuple[Kind, str, int]]:
        """Kind, reason and number of the mutants that were not made."""
        counted = Counter((mutant.kind, mutant.reason) for item in self.items for mutant in item.excluded)
        return [(kind, reason, n) for kind in KINDS for (k, reason), n in counted.items() if k == kind]

    def skipped(self) -> list[tuple[str, int]]:
        """Reason and number of the items in which nothing was tried."""
        return list(Counter(item.skipped for item in self.items if item.skipped is not None).items())

    def survivors(self) -> list[Survivor]:
        """Every mutant that passed, once a scenario: its speakers expect the same."""
        found: dict[tuple[str, str, Kind, str], list[tuple[ItemProof, Tried]]] = {}
        for item in self.items:
            for mutant in item.tried:
                if not mutant.killed:
                    key = (item.path, item.scenario_id, mutant.kind, mutant.what)
                    found.setdefault(key, []).append((item, mutant))
        return [
            Survivor(item=same[0][0], mutant=same[0][1], item_ids=tuple(item.item_id for item, _ in same))
            for same in found.values()
        ]


def prove(suites: Sequence[Suite], *, workers: int = 1) -> Proof:
    """The proof of all suites' items. `workers` above 1 shares the items out to so many processes.

    Raises concurrent.futures.process.BrokenProcessPool where one of them dies.
    """
    work = [(scenario, words) for suite in suites for scenario, words in _with_words(suite)]
    if workers <= 1 or len(work) <= 1:
        return Proof(items=tuple(prove_item(scenario, words) for scenario, words in work))
    return Proof(items=_in_processes(work, min(workers, len(work))))


def _with_words(suite: Suite) -> Iterator[tuple[Scenario, Vocabulary]]:
    return zip(suite.scenarios, repeat(vocabulary_of(suite.scenarios)))


def _in_processes(work: Sequence[tuple[Scenario, Vocabulary]], workers: int) -> tuple[ItemProof, ...]:
    import multiprocessing
    import signal
    from concurrent.futures import ProcessPoolExecutor

    scenarios, words = zip(*work, strict=True)
    fresh = multiprocessing.get_context("spawn")  # a fork would copy what threads hold
    with ProcessPoolExecutor(workers, fresh, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        return tuple(pool.map(prove_item, scenarios, words, chunksize=4))
