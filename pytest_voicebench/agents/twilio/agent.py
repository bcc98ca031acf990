"""The agent `twilio` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
import difflib
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace

from pytest_voicebench.agents.addresses import shown_url, websocket_flaw
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, scrubbed, secrets_in, secrets_of
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.tool_host import LOOPBACK, ToolHost, address_flaw, tool_host
from pytest_voicebench.agents.twilio.line import StreamLine
from pytest_voicebench.agents.twilio.messages import DIALECTS, TWILIO, Call, without_sound
from pytest_voicebench.agents.twilio.mulaw import RATE_HZ
from pytest_voicebench.agents.twilio.state import StreamState
from pytest_voicebench.agents.twilio.voice_url import announce, signed_headers, voice_url_flaw
from pytest_voicebench.agents.wire import open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

FAREWELL_S = 1.0
"""For the message that the stream is over, to an agent that reads no more."""

NO_TOOLS = "none"
"""As the setting `tools`: the agent gets none from us."""

_PREFIX = "parameter_"
_NUMBER = re.compile(r"\+?[0-9A-Za-z][0-9A-Za-z_@.:-]*")


@dataclass(frozen=True, kw_only=True, repr=False)
class Twilio(Unrevealing):
    """A phone agent that speaks Twilio's Media Streams; its fields are the settings.

    `url`: the agent's WebSocket. `voice_url` instead of it: the page that answers a call with TwiML. `dialect`:
    `twilio`, or `telnyx`, whose messages have the same shape and other names. `caller` and `called`: the numbers.
    `parameters` reach the agent as the stream's custom parameters; on the command line each is a setting
    `parameter_NAME`. `tools`: where the suite's tools are offered over HTTP and MCP, `none` for nowhere; the address,
    with a token of its own for each call, is the custom parameter `tools_url`. `tools_public_url`: how the agent
    reaches it, where that is another address (a tunnel).

    Where TWILIO_AUTH_TOKEN is set, requests carry Twilio's signature; the token itself is never sent. Raises
    ValueError, one line, for a wrong setting.
    """

    url: str = field(default="", repr=False)
    voice_url: str = field(default="", repr=False)
    dialect: str = TWILIO.name
    caller: str = "+15005550006"
    called: str = "+15005550001"
    account_sid: str = "AC" + 32 * "0"
    tools: str = LOOPBACK
    tools_public_url: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        """Check the settings and find the token."""
        if bool(self.url) == bool(self.voice_url):
            raise ValueError(
                "give url=wss://... (the agent's WebSocket) or voice_url=https://... (what answers with TwiML)"
            )
        if flaw := websocket_flaw(self.url) if self.url else voice_url_flaw(self.voice_url):
            raise ValueError(flaw)
        if self.dialect not in DIALECTS:
            raise ValueError(f"dialect must be {' or '.join(DIALECTS)}, not {self.dialect!r}")
        if self.voice_url and self.dialect != TWILIO.name:
            raise ValueError(f"voice_url belongs to dialect={TWILIO.name}: give url=wss://...")
        for name in ("caller", "called", "account_sid"):
            if not _NUMBER.fullmatch(str(getattr(self, name))):
                raise ValueError(f"{name} must be a number or a name, not {getattr(self, name)!r}")
        if not all(self.parameters):
            raise ValueError(f"a parameter has no name: write {_PREFIX}NAME=value")
        if self.tools == NO_TOOLS and self.tools_public_url:
            raise ValueError("tools_public_url belongs to tools=HOST:PORT")
        if self.tools != NO_TOOLS and (flaw := address_flaw(self.tools, self.tools_public_url or None)):
            raise ValueError(f"{flaw} (tools=none offers none)")
        if self.dialect == TWILIO.name:
            object.__setattr__(self, "_secret", find_key(("TWILIO_AUTH_TOKEN",)))

    @property
    def info(self) -> AgentInfo:
        """What the report says."""
        return AgentInfo(
            name="twilio",
            transport="websocket",
            clock="wall",
            input_hz=RATE_HZ,
            settings={
                "url": shown_url(self.url) if self.url else None,
                "voice_url": shown_url(self.voice_url) if self.voice_url else None,
                "dialect": self.dialect,
                "turn_detection": "the agent's own",
                "encoding": "mu-law, 8 kHz",
                "caller": self.caller,
                "called": self.called,
                "tools": self.tools,
                "tools_public_url": self.tools_public_url or None,
                **{f"{_PREFIX}{name}": value for name, value in self.parameters.items()},
                "proxy": "off",
                "signed_with": self._secret.variable if self._secret else None,
            },
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Place a call. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        loop = asyncio.get_running_loop()
        log = setup.log or WireLog(loop.time)
        async with self._tools(replace(setup, log=log)) as host, AsyncExitStack() as stack:
            call = self._call(host)
            hidden = self._hide(call, host, log)
            try:
                call, url = await self._answered(call, log)
                hidden = self._hide(call, host, log)
                headers = signed_headers(self._secret, url, {})
                opening = open_wire(url, log=log, headers=headers, hidden=hidden, shown=without_sound)
                wire = await stack.enter_async_context(opening)
            except Unreachable as refused:
                raise Unreachable(refused.kind, scrubbed(str(refused), hidden), refused.retry_after_s) from None
            present = Present(loop.time)
            state = StreamState(dialect=DIALECTS[self.dialect], call=call, now_s=present.now_s)
            line = StreamLine(wire, state, present, host, hidden)
            await line.open()
            try:
                yield line
            finally:
                await _say_goodbye(line)

    def _tools(self, setup: Setup) -> AbstractAsyncContextManager[ToolHost | None]:
        if self.tools == NO_TOOLS:
            return nullcontext()
        return tool_host(setup, address=self.tools, public_url=self.tools_public_url or None)

    def _call(self, host: ToolHost | None) -> Call:
        """A new call."""
        return Call(
            account_sid=self.account_sid,
            call_sid=f"CA{secrets.token_hex(16)}",
            stream_sid=f"MZ{secrets.token_hex(16)}",
            caller=self.caller,
            called=self.called,
            parameters=({"tools_url": host.url} if host else {}) | dict(self.parameters),
        )

    def _hide(self, call: Call, host: ToolHost | None, log: WireLog) -> list[Secret]:
        """What must be in no message; the log hides it from now on."""
        found = [secret for secret in (self._secret, host.secret if host else None) if secret is not None]
        found += secrets_of(self.voice_url)  # its server may hand on what it was asked with
        found += secrets_in(call.parameters)
        for secret in found:
            log.hide(secret)
        return found

    async def _answered(self, call: Call, log: WireLog) -> tuple[Call, str]:
        """The call and the WebSocket that takes it: as set, or as the voice URL says. Raises Unreachable."""
        if self.url:
            return call, self.url
        stream = await announce(call, self.voice_url, secret=self._secret, log=log)
        return replace(call, parameters={**call.parameters, **stream.parameters}), stream.url


async def _say_goodbye(line: StreamLine) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_S):
            await line.close()


def build(
    *,
    url: str = Twilio.url,
    voice_url: str = Twilio.voice_url,
    dialect: str = Twilio.dialect,
    caller: str | int = Twilio.caller,
    called: str | int = Twilio.called,
    account_sid: str = Twilio.account_sid,
    tools: str = Twilio.tools,
    tools_public_url: str = Twilio.tools_public_url,
    **parameter_NAME: str | float | bool,  # noqa: N803 - as the settings are written
) -> Twilio:
    """The agent from settings as they are typed: those that begin with `parameter_` become custom parameters.

    A telephone number, which is read as a whole number, gets its plus back. Raises ValueError for an unknown setting.
    """
    if unknown := [name for name in parameter_NAME if not name.startswith(_PREFIX)]:
        known = [f.name for f in fields(Twilio) if f.init and f.name != "parameters"]
        close = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"no setting {unknown[0]!r}{hint}; its settings: {', '.join(known)}, {_PREFIX}NAME")
    return Twilio(
        url=_text(url),
        voice_url=_text(voice_url),
        dialect=_text(dialect),
        caller=_number(caller),
        called=_number(called),
        account_sid=_text(account_sid),
        tools=_text(tools),
        tools_public_url=_text(tools_public_url),
        parameters={name.removeprefix(_PREFIX): _text(value) for name, value in parameter_NAME.items()},
    )


def _text(value: str | float | bool) -> str:
    """A setting as it was typed, as near as can be told."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: str | int) -> str:
    return f"+{value}" if isinstance(value, int) else value
