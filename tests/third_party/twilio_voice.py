"""A voice URL by Twilio's own package: `twilio_voice.py TOKEN STREAM_URL connect|say`; prints its port, then each call.

It checks the signature of a call as an application does, and answers with TwiML out of the package's builder: a stream
with parameters, or words alone. A line `URL SIGNATURE` on standard input is answered by whether the signature is that
of a WebSocket's handshake. Ends with its standard input. Runs in an environment with twilio; nothing of ours is
imported.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from twilio.request_validator import RequestValidator
from twilio.twiml.voice_response import Connect, VoiceResponse

TOKEN, STREAM_URL, KIND = sys.argv[1:]
VALIDATOR = RequestValidator(TOKEN)


def twiml() -> str:
    """What the call is to do."""
    response = VoiceResponse()
    response.say("Please hold.")
    if KIND == "connect":
        connect = Connect()
        stream = connect.stream(url=STREAM_URL, name="agent")
        stream.parameter(name="tenant", value='<7> & "more"')
        response.append(connect)
    return str(response)


class Page(BaseHTTPRequestHandler):
    """The voice URL."""

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode(), keep_blank_values=True))
        url = f"http://127.0.0.1:{self.server.server_address[1]}{self.path}"
        valid = VALIDATOR.validate(url, form, self.headers.get("X-Twilio-Signature", ""))
        body = twiml().encode() if valid else b"signature"
        self.send_response(200 if valid else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        print(json.dumps({"valid": valid, "form": form}), flush=True)

    def log_message(self, *_words: object) -> None:
        """Nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
for line in sys.stdin:
    url, signature = line.split()
    print(json.dumps({"valid": VALIDATOR.validate(url, {}, signature)}), flush=True)
