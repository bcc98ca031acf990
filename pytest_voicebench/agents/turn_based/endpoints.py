"""Services over HTTP, by the `openai` SDK: every exchange logged, every failure in one line, no retry."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voicebench.agents.addresses import shown_url
from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.http_client import certificates, open_client
from pytest_voicebench.agents.http_failures import failure
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turn_based.bare_pcm import bytes_flaw, kind_flaw
from pytest_voicebench.agents.wire_log import WireLog

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Json = Any

MOST_CHARACTERS = 200_000
"""Of one transcript, or of one answer of the model with its calls."""

_NO_KEY = "none"  # the SDK wants one; a server that needs none ignores it


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service as the settings have it. `what` is its name in messages; `options` are sent with every request.

    `streamed`: whether a chat is asked for in pieces.
    """

    what: str
    url: str
    model: str
    secret: Secret | None
    options: Mapping[str, Json]
    streamed: bool = True


class Endpoint:
    """An open client of one service."""

    def __init__(self, service: Service, sdk: AsyncOpenAI, log: WireLog, limit_s: float) -> None:
        self.sdk = sdk
        self._service = service
        self._log = log
        self._limit_s = limit_s

    async def greet(self) -> None:
        """Open a connection, and learn of a host that is not there or a key that is refused.

        Asks for the list of models, which not every server has and not every key may see. Raises Unreachable.
        """
        import openai

        try:
            with self._failing():
                async with asyncio.timeout(self._limit_s):
                    await self.sdk.models.with_raw_response.list()
        except Unreachable as refused:
            cause = refused.__cause__
            if not isinstance(cause, openai.APIStatusError) or cause.status_code in (429, *range(500, 600)):
                raise
            if cause.status_code == 401 and "scope" not in str(cause.body):
                raise

    async def transcribe(self, wav: bytes) -> tuple[str, dict[str, float]]:
        """The text of a WAV file, and what the service counted. Raises Unreachable."""
        options = {"model": self._service.model, **self._service.options}
        self._log.sent({"type": "audio.transcriptions", **options, "file": f"<{len(wav)} bytes>"})
        with self._failing():
            async with asyncio.timeout(self._limit_s):
                heard: Any = await self.sdk.audio.transcriptions.create(
                    file=("speech.wav", wav, "audio/wav"), response_format="json", **options
                )
            if not isinstance(getattr(heard, "text", None), str):
                raise Unreachable("rejected", f"{self._where}: the answer holds no text")
            self.check_length(len(heard.text))
            found = _plain(heard)
        self._log.received({"type": "audio.transcriptions", **found})
        return heard.text, usage_counts(found.get("usage"), "stt_")

    async def chat(self, messages: Sequence[Json], tools: Sequence[Json]) -> AsyncGenerator[dict[str, Json], None]:
        """The chunks of a completion as they come, or one with all of it where the service is not to stream.

        Raises Unreachable, also for a pause that is too long.
        """
        asked = {
            "model": self._service.model,
            "messages": list(messages),
            **({"tools": list(tools), "tool_choice": "auto"} if tools else {}),
            **self._service.options,
        }
        self._log.sent({"type": "chat.completions", **asked})
        with self._failing():
            async with aclosing(self._streamed(asked) if self._service.streamed else self._whole(asked)) as chunks:
                async for found in chunks:
                    self._log.received(found)
                    yield found

    async def _streamed(self, asked: dict[str, Json]) -> AsyncGenerator[dict[str, Json], None]:
        async with asyncio.timeout(self._limit_s):
            stream: Any = await self.sdk.chat.completions.create(
                stream=True, stream_options={"include_usage": True}, **asked
            )
        async with stream:
            async for chunk in self._timed(stream):
                yield _plain(chunk)

    async def _whole(self, asked: dict[str, Json]) -> AsyncGenerator[dict[str, Json], None]:
        async with asyncio.timeout(self._limit_s):
            completion: Any = await self.sdk.chat.completions.create(**asked)
        if not callable(getattr(completion, "to_dict", None)):
            raise Unreachable("rejected", f"{self._where}: the answer is no completion")
        yield _plain(completion)

    async def speech(self, text: str) -> AsyncGenerator[bytes, None]:
        """The text as 24 kHz PCM, piece by piece as it comes. Raises Unreachable."""
        asked = {"model": self._service.model, "input": text, **self._service.options, "response_format": "pcm"}
        self._log.sent({"type": "audio.speech", **asked})
        total, speech = 0, self.sdk.audio.speech.with_streaming_response
        try:
            with self._failing():
                async with AsyncExitStack() as stack:
                    async with asyncio.timeout(self._limit_s):
                        answer: Any = await stack.enter_async_context(speech.create(**asked))
                    self._refuse(kind_flaw(answer.headers.get("Content-Type", "")))
                    async for piece in self._timed(answer.iter_bytes()):  # of a given size they would wait to be full
                        if not total:
                            self._refuse(bytes_flaw(piece))
                        total += len(piece)
                        yield piece
        finally:
            self._log.received({"type": "audio.speech", "bytes": total})

    def check_length(self, characters: int) -> None:
        """Raises Unreachable for an answer that nobody could say."""
        if characters > MOST_CHARACTERS:
            raise self.broken(f"an answer of more than {MOST_CHARACTERS} characters")

    def broken(self, told: str) -> Unreachable:
        """An answer of this service that came to no proper end."""
        found = Unreachable("refused", f"{self._where}: {told}")
        self._log.note(str(found))
        return found

    def _refuse(self, flaw: str | None) -> None:
        if flaw is not None:
            raise Unreachable("rejected", f"{self._where}: {flaw}")

    async def _timed(self, pieces: Any) -> AsyncIterator[Any]:
        """Each piece within the limit: a server that sends signs of life but no answer is no answer."""
        iterator = aiter(pieces)
        while True:
            try:
                async with asyncio.timeout(self._limit_s):
                    piece = await anext(iterator)
            except StopAsyncIteration:
                return
            yield piece

    @property
    def _where(self) -> str:
        return f"{self._service.what} at {shown_url(self._service.url)}"

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Whatever the SDK raises, as Unreachable."""
        try:
            yield
        except Exception as error:
            secret = self._service.secret
            found = failure(error, where=self._where, limit_s=self._limit_s, secret=secret)
            self._log.note(str(found))
            if found is error:
                raise
            raise found from error


def _plain(thing: Any) -> dict[str, Json]:
    """An object of the SDK as it came over the wire."""
    return thing.to_dict(mode="json", exclude_unset=True, warnings=False)  # type: ignore[no-any-return]


@asynccontextmanager
async def open_endpoints(services: Sequence[Service], log: WireLog, limit_s: float) -> AsyncIterator[list[Endpoint]]:
    """Clients of the services, connected; closed in the end. Raises Unreachable.

    No proxy, no redirect, no retry: what is measured is the service, once. Services at one address share a client,
    with a connection for each of them: while a model still writes, its first sentence is spoken.
    """
    await asyncio.to_thread(_load)
    clients: dict[tuple[str, str], list[Endpoint]] = {}
    async with AsyncExitStack() as stack:
        found = []
        for service in services:
            log.hide(service.secret)
            key = service.secret.reveal() if service.secret else _NO_KEY
            sharing = clients.setdefault((service.url, key), [])
            sdk = sharing[0].sdk if sharing else await stack.enter_async_context(_client(service.url, key, limit_s))
            found.append(Endpoint(service, sdk, log, limit_s))
            sharing.append(found[-1])
        for sharing in clients.values():
            await _greet(sharing)
        yield found


async def _greet(sharing: Sequence[Endpoint]) -> None:
    """Let a client hold so many connections as it has services. Raises Unreachable.

    The first request learns whether there is anything; the others open connections, since they are made at once.
    """
    await sharing[0].greet()
    if len(sharing) > 1:
        greeted = await asyncio.gather(*(endpoint.greet() for endpoint in sharing), return_exceptions=True)
        for failed in greeted:
            if failed is not None:
                raise failed


@functools.cache
def _load() -> None:
    """Import what the SDK loads late: it takes a second, and would count as the first answer's slowness."""
    for name in ("chat.completions", "audio.transcriptions", "audio.speech", "models"):
        importlib.import_module(f"openai.resources.{name}")
    certificates()


def _client(url: str, key: str, limit_s: float) -> AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(api_key=key, base_url=url, max_retries=0, timeout=limit_s, http_client=open_client())
