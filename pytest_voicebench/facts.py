"""`facts_of`: what a result keeps of its scenario, so that a run folder stands alone."""

from __future__ import annotations

from pytest_voicebench.result import Facts
from pytest_voicebench.scenario import Scenario


def facts_of(scenario: Scenario) -> Facts:
    """What tables break results down by."""
    return Facts(
        suite=scenario.suite.name,
        kind=scenario.suite.kind,
        stimulus=scenario.suite.stimulus,
        scenario_id=scenario.id,
        title=scenario.title,
        domain=scenario.domain,
        difficulty=scenario.difficulty,
        disfluency=scenario.disfluency,
        tags=scenario.tags,
        speaker=scenario.speaker.id if scenario.speaker else None,
        expected_calls=len(scenario.expect.calls),
        has_retraction=bool(scenario.retracted),
        state_rollback=scenario.state_rollback,
        known_issue=scenario.known_issue,
        scenario_sha256=scenario.sha256,
        expect_sha256=scenario.expect_sha256,
    )
