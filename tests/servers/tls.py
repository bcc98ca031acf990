"""A certificate of our own for doubles that must speak TLS."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def new_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key, made with openssl."""
    paths = folder / "certificate.pem", folder / "key.pem"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run([*new, *names], check=True, capture_output=True, timeout=60)
    return paths


def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """What a server needs to show it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context
