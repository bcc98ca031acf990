"""The voices of this machine: what they are given to read."""

from __future__ import annotations

import sys

import pytest

from pytest_voicebench.agents.voice import FliteVoice, PicoVoice

PROGRAM = """#!{python}
import shutil, sys, wave
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
shutil.copy(given["-f"], {kept!r})
with wave.open(given["-o"], "wb") as file:
    file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000), file.writeframes(bytes(320))
"""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("It costs $12.50, I'd say.", "It costs $12.50, I'd say."),
        ("I\u2019ll book \u201cZ\u00fcrich\u201d \u2013 S\u00e3o Paulo\u2026", 'I\'ll book "Zurich" - Sao Paulo...'),
        ("Stra\u00dfe, \u0141\u00f3d\u017a, \u00d8rsted", "Strasse, Lodz, Orsted"),
        ("\u20ac50\u00a0or \u00a320", "euro 50 or pound 20"),
        ("Booked! \U0001f60a", "Booked! "),
    ],
)
def test_flite_which_reads_ascii_alone_is_given_the_nearest_that_can_be_said(tmp_path, text, read):
    kept, program = tmp_path / "kept", tmp_path / "flite"
    program.write_text(PROGRAM.format(python=sys.executable, kept=str(kept)))
    program.chmod(0o755)
    assert FliteVoice(str(program), "slt").say(text).duration_s == 0.01
    assert kept.read_bytes().decode("ascii") == read


def test_half_a_surrogate_pair_stops_no_voice():
    pytest.importorskip("py_nanotts", reason="needs the extra 'local'")
    assert PicoVoice().say("Booked \ud83d now").duration_s > 0.3
