"""The one that uses the network: a question to an OpenAI-compatible endpoint, by the `openai` SDK, and its answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voicebench.judging.prompts import Prompt
from pytest_voicebench.judging.settings import TEMPERATURE, Endpoint, JudgeSettings, JudgeSettingsError
from pytest_voicebench.judging.verdicts import Unjudged

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Json = Any

FORMATS = ("json_schema", "json_object", "plain")
"""How an answer in JSON is asked for: strictest first, the next one where an endpoint refuses with 400 or 422."""
REFUSED = (400, 422)
MORE_ROOM = 4
"""How much longer an answer may be after one that was cut."""
MOST_BYTES = 4_000_000
"""Of a response; no verdict is longer, and an endpoint may send without end."""


@dataclass(slots=True, kw_only=True)
class Spent:
    """The tokens of one question, over all answers to it, as the endpoint counted them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, usage: Any) -> None:
        """Count an answer's usage; what an endpoint does not say counts as nothing."""
        self.input_tokens += _count(getattr(usage, "prompt_tokens", None))
        self.output_tokens += _count(getattr(usage, "completion_tokens", None))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The text of an answer that was neither cut nor filtered, and the format in which it was asked for."""

    text: str
    output_format: str


@dataclass(slots=True, kw_only=True)
class JudgeClient:
    """Asks one endpoint. To be used as an async context manager, within one event loop."""

    settings: JudgeSettings
    endpoint: Endpoint
    _sdk: AsyncOpenAI | None = field(default=None, repr=False)
    _first_format: int = 0

    async def __aenter__(self) -> JudgeClient:
        """Open. Raises JudgeSettingsError where the environment names a proxy, certificate or address of no use."""
        try:
            self._sdk = _sdk(self.settings, self.endpoint)
        except Exception as error:  # noqa: BLE001 - the SDK and its HTTP client raise what they like, with values
            what = "OPENAI_BASE_URL, a proxy or a certificate that the environment names cannot be used"
            raise JudgeSettingsError(f"{what} ({type(error).__name__})") from None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        if self._sdk is not None:
            await self._sdk.close()

    async def ask(self, prompt: Prompt, spent: Spent) -> Answer:
        """The answer's text; tokens are counted in `spent` also where there is none. Raises Unjudged."""
        room = self.settings.max_tokens
        try:
            return await self._ask(prompt, room, spent)
        except Unjudged as problem:
            if problem.cause != "cut":
                raise
        return await self._ask(prompt, room * MORE_ROOM, spent)

    async def _ask(self, prompt: Prompt, room: int, spent: Spent) -> Answer:
        last = len(FORMATS) - 1
        for number in range(self._first_format, last + 1):
            try:
                text = await self._send(prompt, room, FORMATS[number], spent)
            except _Refused as refused:
                if number == last:
                    raise Unjudged("http_error", f"HTTP {refused.status}") from None
                continue
            self._first_format = max(self._first_format, number)
            return Answer(text=text, output_format=FORMATS[number])
        raise AssertionError("unreachable: the last format answers or raises")

    async def _send(self, prompt: Prompt, room: int, output_format: str, spent: Spent) -> str:
        """One request, with the SDK's retries; never longer than all its attempts may take."""
        import openai

        assert self._sdk is not None, "used outside `async with`"
        # A server that sends a byte now and then keeps the SDK's own timeout from ending.
        limit_s = self.settings.timeout_s * (self.settings.retries + 1) + 10 * self.settings.retries
        try:
            async with asyncio.timeout(limit_s):
                completion = await self._sdk.chat.completions.create(
                    model=self.settings.model,
                    messages=[dict(m) for m in prompt.messages],  # type: ignore[misc]
                    temperature=TEMPERATURE,
                    max_tokens=room,
                    **_format_arguments(prompt, output_format),
                )
        except Unjudged:  # of `_limit`
            raise
        except (TimeoutError, openai.APITimeoutError):
            raise Unjudged("timeout", f"no answer in {self.settings.timeout_s:g} s") from None
        except openai.RateLimitError:
            raise Unjudged("rate_limited", "HTTP 429") from None
        except openai.APIStatusError as error:
            if error.status_code in REFUSED:
                raise _Refused(error.status_code) from None
            raise Unjudged("http_error", f"HTTP {error.status_code}") from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Unjudged):  # some versions of the SDK wrap it
                raise error.__cause__ from None
            raise Unjudged("connection", "the connection failed or broke off") from None
        except Exception as error:  # noqa: BLE001 - the SDK reads what an endpoint sends unchecked, and may stumble anyhow
            raise Unjudged("bad_response", type(error).__name__) from None
        return _text_of(completion, spent)


def _sdk(settings: JudgeSettings, endpoint: Endpoint) -> AsyncOpenAI:
    """The SDK's client. What people said goes to the host that was named and to no other: redirects are errors."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.url,
        timeout=settings.timeout_s,
        max_retries=settings.retries,
        default_headers={"Accept-Encoding": "identity"},  # a small response may unpack to a huge one
        http_client=DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [_limit]}),
    )


async def _limit(response: Any) -> None:
    """Let a response be read up to MOST_BYTES. Raises Unjudged."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Unjudged("bad_response", "the response is compressed, which was not asked for")
    http = sys.modules[type(response).__module__.partition(".")[0]]  # the SDK's HTTP library, whichever it is
    stream = response.stream

    class Limited(http.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_BYTES
            async for chunk in stream:
                left -= len(chunk)
                if left < 0:
                    raise Unjudged("bad_response", f"the response is longer than {MOST_BYTES:,} bytes")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Limited()


class _Refused(Exception):  # noqa: N818 - says what is the case
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _format_arguments(prompt: Prompt, output_format: str) -> Mapping[str, Any]:
    if output_format == "json_schema":
        schema = {"name": prompt.question, "strict": True, "schema": prompt.schema}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    return {"response_format": {"type": "json_object"}} if output_format == "json_object" else {}


def _text_of(completion: Any, spent: Spent) -> str:
    """The answer's text. The SDK does not check what an endpoint sends, so anything may be missing or odd."""
    spent.add(getattr(completion, "usage", None))
    try:
        choice = completion.choices[0]
        finish, message = choice.finish_reason, choice.message
        content, refusal = message.content, getattr(message, "refusal", None)
    except (AttributeError, TypeError, LookupError):
        raise Unjudged("bad_response", "no completion in the response") from None
    if finish == "length":
        raise Unjudged("cut", "the answer was cut for its length")
    if finish == "content_filter" or refusal:
        raise Unjudged("filtered", "a content filter, or a refusal")
    if content is None or content == "":
        raise Unjudged("empty", "the answer is empty")
    if not isinstance(content, str):
        raise Unjudged("bad_response", "the answer is not text")
    return content
