"""One attempt at one item: what is known while it runs, and the result it becomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_voicebench.conversation import AgentInfo, Conversation
    from pytest_voicebench.official_card import OfficialCard
    from pytest_voicebench.result import ErrorKind, Facts, Outcome, Result
    from pytest_voicebench.scenario import Scenario
    from pytest_voicebench.scorecard import Scorecard


@dataclass(slots=True, kw_only=True)
class Attempt:
    """An attempt in progress. `number` counts from 1; reruns go on counting; 0 is before the first."""

    planned: Result
    scenario: Scenario
    number: int = 1
    agent: AgentInfo | None = None
    conversation: Conversation | None = None
    error_kind: ErrorKind | None = None
    result: Result | None = None
    failed_before: bool = False
    recorded: Result | None = None  # what an earlier run made of the conversation that is judged again

    def next(self) -> Attempt:
        """The attempt after this one. A valid attempt that failed is not forgotten: the first valid one counts."""
        failed = self.failed_before or (self.result is not None and self.result.outcome == "failed")
        return Attempt(planned=self.planned, scenario=self.scenario, number=self.number + 1, failed_before=failed)

    @property
    def item_id(self) -> str:
        """The id of the item."""
        return self.planned.item_id

    @property
    def folder(self) -> str:
        """Where its files go, relative to the run folder: each attempt has its own, so that none hides another."""
        from pytest_voicebench.result_files import ITEMS_NAME, item_folder_name

        first = f"{ITEMS_NAME}/{item_folder_name(self.item_id)}"
        return first if self.number == 1 else f"{first}/attempt_{self.number}"

    def close(
        self,
        outcome: Outcome,
        *,
        scorecard: Scorecard | None = None,
        error_kind: ErrorKind | None = None,
        cause: str | None = None,
    ) -> Result:
        """The result of this attempt, which it is from now on.

        The conversation is let go: pytest keeps every item until the session ends, and an hour of sound is 350 MB.
        """
        from pytest_voicebench.conversation import to_seconds

        talk, self.conversation = self.conversation, None
        self.result = replace(
            self.planned,
            agent=self._agent(),
            outcome=outcome,
            error_kind=error_kind,
            cause=cause,
            scorecard=scorecard,
            folder=self.folder if outcome not in ("skipped", "not_run") else None,
            duration_s=to_seconds(talk.duration_ticks) if talk else None,
            ended=talk.ended if talk else None,
            warnings=(*talk.warnings, *(p.message for p in talk.problems if p.kind == "agent")) if talk else (),
            usage=_usage(talk) if talk else {},
            transcript_source=talk.transcript_source if talk else None,
            words_dropped=talk.words_dropped if talk else None,
            attempts=self._attempts(outcome),
            taken_from=self.recorded.taken_from if self.recorded else None,
            official=self._official(talk) if talk else None,
            usd=self.recorded.usd if self.recorded else None,
            usd_unknown=self.recorded.usd_unknown if self.recorded else None,
            withheld=talk.withheld if talk else (),
            delivery=talk.delivery if talk else None,
        )
        return self.result

    def _attempts(self, outcome: Outcome) -> tuple[str, ...]:
        """Those of the earlier run, where its conversation is judged again."""
        if self.recorded is None:
            return ()
        from pytest_voicebench.rescoring import attempts_with

        return attempts_with(self.recorded, outcome)

    def _official(self, talk: Conversation) -> OfficialCard:
        from pytest_voicebench.metrics.official import official_card

        return official_card(self.scenario, talk)

    def _agent(self) -> AgentInfo:
        """What the agent said of itself, under the name it was planned with."""
        from pytest_voicebench.plan import UNKNOWN_AGENT

        planned = self.planned.agent
        if self.agent is None or planned == UNKNOWN_AGENT:
            return self.agent or planned
        return replace(self.agent, name=planned.name)


def _usage(talk: Conversation) -> dict[str, float]:
    """What the provider counted, and the session, which some of them charge."""
    session = {"session_s": talk.session_s} if talk.session_s is not None else {}
    return {**talk.usage, **session}


had_session_key = pytest.StashKey[bool]()
"""Whether an item was connected to an agent on the wall clock, and no result has accounted for it."""

attempt_key = pytest.StashKey[Attempt]()
"""Where an item of a suite file keeps its attempt; other tests have none."""


def facts_of(scenario: Scenario) -> Facts:
    """What tables break results down by."""
    from pytest_voicebench import facts

    return facts.facts_of(scenario)
