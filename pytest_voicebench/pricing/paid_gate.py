"""A gate that a conversation passes only where the run's money lasts for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from pytest_voicebench.agents.gate import AbsenceKind, Gate, GateBroken, NotBegun
from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.pricing.ledger import Ledger


class PaidGate(Gate):
    """`gate`, and the ledger behind it: money is set aside when there is a place, and not while one waits for it.

    `estimate_usd` is None where no price is known: then no conversation begins.
    """

    def __init__(
        self,
        gate: Gate,
        ledger: Ledger,
        *,
        key: str,
        estimate_usd: float | None,
        aside: Callable[..., Awaitable[Any]] = asyncio.to_thread,
    ) -> None:
        self._gate = gate
        self._ledger = ledger
        self._key = key
        self._estimate_usd = estimate_usd
        self._aside = aside

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        if self._estimate_usd is None:
            raise NotBegun("no price is known, so that it might cost more than is allowed")
        async with self._gate.admitted():
            if not await self._begun(self._estimate_usd):
                raise NotBegun(f"it might cost more than the {self._ledger.most_usd:g} USD that are allowed")
            yield

    async def _begun(self, estimate_usd: float) -> bool:
        try:
            begun: bool = await self._aside(self._ledger.begin, self._key, estimate_usd)
        except OSError as error:
            raise GateBroken(f"{self._ledger.path} cannot be used: {error.strerror or error}") from None
        return begun

    async def start(self) -> None:
        await self._gate.start()

    async def connected(self) -> None:
        await self._gate.connected()

    async def again(self, absent: AgentAbsent, log: WireLog) -> bool:
        return await self._gate.again(absent, log)

    def told(self, absent: AgentAbsent) -> tuple[AbsenceKind, str]:
        return self._gate.told(absent)
