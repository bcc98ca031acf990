"""TwiML, as far as a call needs it that becomes a stream: where `<Connect><Stream>` leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from pytest_voicebench.agents.addresses import websocket_flaw

LARGEST = 64 * 1024
"""Bytes of a document that Twilio takes."""


class NoStream(ValueError):  # noqa: N818 - says what is the case, for a person
    """The document leads to no stream; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The address of a WebSocket, and the parameters that `start` tells it."""

    url: str
    parameters: Mapping[str, str]


@dataclass(slots=True)
class _Reading:
    """What has been read. `path` are the open elements."""

    path: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    url: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    done: bool = False

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self.path.append(name)
        if len(self.path) == 2:
            self.verbs.append(name)
        elif self.path == ["Response", "Connect", "Stream"] and not self.done:
            self.url = attributes.get("url", "").strip()
        elif self.path == ["Response", "Connect", "Stream", "Parameter"] and not self.done and "name" in attributes:
            self.parameters[attributes["name"]] = attributes.get("value", "")

    def end(self, _name: str) -> None:
        self.done = self.done or self.path == ["Response", "Connect", "Stream"]
        self.path.pop()


def read_stream(document: bytes) -> Stream:
    """The first stream that the call is connected to. Raises NoStream.

    A document with a DTD is refused before anything in it is expanded: TwiML has none, and entities are how XML bombs
    and reads of local files are made. Verbs before it (`Say`, `Pause`) are not carried out.
    """
    if len(document) > LARGEST:
        raise NoStream(f"the TwiML has more than {LARGEST // 1024} KiB")
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_dtd
    parser.StartElementHandler = reading.begin
    parser.EndElementHandler = reading.end
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, NoStream):
            raise
        raise NoStream(f"the answer is not TwiML: {error}") from None
    if reading.url is None:
        held = ", ".join(dict.fromkeys(reading.verbs)) or "nothing"
        raise NoStream(f"the TwiML has no <Connect><Stream>: it holds {held[:200]}")
    if flaw := websocket_flaw(reading.url):
        raise NoStream(f"the TwiML's <Stream> has no usable address: {flaw}")
    return Stream(url=reading.url, parameters=reading.parameters)


def _refuse_dtd(*_declared: object) -> None:
    raise NoStream("the TwiML has a DTD, which is not read")
