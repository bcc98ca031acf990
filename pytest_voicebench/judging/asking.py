"""Many questions to one judge: side by side, from the cache where it can, and given up where nobody is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_voicebench.judgement import ENDPOINT_FAILED, Cause, Judge
from pytest_voicebench.judging.cache import Remembered, VerdictCache
from pytest_voicebench.judging.client import JudgeClient, Spent
from pytest_voicebench.judging.prompts import Prompt
from pytest_voicebench.judging.settings import Endpoint, JudgeSettings, judge_of
from pytest_voicebench.judging.verdicts import Unjudged, Verdict, read_verdict

GIVE_UP_AFTER = 10
"""Failures of the endpoint in a row after which it is not asked any more: a dead one must not hold a run for hours."""

Progress = Callable[[int, int], None]
"""Told how many questions have their outcome, of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one question: a verdict, or the cause for which there is none. Tokens of a cached one are 0."""

    verdict: Verdict | None = None
    unjudged: Cause | None = None
    detail: str = ""
    judged_at: str = ""
    cached: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    output_format: str | None = None


INTERRUPTED = Outcome(unjudged="interrupted", detail="judging was interrupted")


def ask_all(
    prompts: Sequence[Prompt],
    settings: JudgeSettings,
    endpoint: Endpoint,
    cache: VerdictCache,
    progress: Progress = lambda done, total: None,
) -> list[Outcome]:
    """One outcome for each prompt, in their order. Never raises for what the endpoint does.

    Raises JudgeSettingsError where nothing can be sent at all.

    Ctrl-C ends it at once: what has no outcome by then is `interrupted`.
    """
    asking = _Asking(settings, endpoint, cache, len(prompts), progress)
    try:
        # A loop of its own that is never the thread's current one: pytest-asyncio's may still be open.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(asking.run(prompts))
    except KeyboardInterrupt:
        pass
    return [outcome or INTERRUPTED for outcome in asking.outcomes]


class _Asking:
    """The state of one `ask_all`."""

    def __init__(
        self, settings: JudgeSettings, endpoint: Endpoint, cache: VerdictCache, total: int, progress: Progress
    ) -> None:
        self.settings, self.endpoint, self.cache, self.progress = settings, endpoint, cache, progress
        self.judge: Judge = judge_of(settings, endpoint)
        self.outcomes: list[Outcome | None] = [None] * total
        self.failures_in_a_row = 0

    async def run(self, prompts: Sequence[Prompt]) -> None:
        """Fill `outcomes`."""
        waiting = list(reversed(list(enumerate(prompts))))

        async def work(client: JudgeClient) -> None:
            while waiting:
                number, prompt = waiting.pop()
                self.outcomes[number] = await self._outcome(client, prompt)
                self.progress(len(self.outcomes) - self.outcomes.count(None), len(self.outcomes))

        async with JudgeClient(settings=self.settings, endpoint=self.endpoint) as client, asyncio.TaskGroup() as group:
            for _ in range(min(self.settings.parallel, len(prompts))):
                group.create_task(work(client))

    async def _outcome(self, client: JudgeClient, prompt: Prompt) -> Outcome:
        known = self.cache.get(self.judge, prompt)
        if known is not None:
            try:
                verdict = read_verdict(known.text, prompt)
            except Unjudged:  # a damaged file: ask again
                pass
            else:
                return Outcome(
                    verdict=verdict, judged_at=known.judged_at, cached=True, output_format=known.output_format
                )
        if self.failures_in_a_row >= GIVE_UP_AFTER:
            return Outcome(unjudged="given_up", detail=f"{GIVE_UP_AFTER} failures of the endpoint in a row before")
        return await self._fresh(client, prompt)

    async def _fresh(self, client: JudgeClient, prompt: Prompt) -> Outcome:
        spent = Spent()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        answer, verdict, problem = None, None, None
        try:
            answer = await client.ask(prompt, spent)
            verdict = read_verdict(answer.text, prompt)
            self.cache.put(
                self.judge,
                prompt,
                Remembered(text=answer.text, judged_at=now, output_format=answer.output_format),
            )
        except Unjudged as unjudged:
            problem = unjudged
        failed = problem is not None and problem.cause in ENDPOINT_FAILED
        self.failures_in_a_row = self.failures_in_a_row + 1 if failed else 0
        return Outcome(
            verdict=verdict,
            unjudged=problem.cause if problem else None,
            detail=problem.detail if problem else "",
            judged_at=now,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            output_format=answer.output_format if answer else None,
        )
