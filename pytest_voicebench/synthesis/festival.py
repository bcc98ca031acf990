"""festival's script for one text, and word times from what the script prints."""

from __future__ import annotations

from pathlib import Path

_TIMES = """
(define (times_of token)
  (mapcar
    (lambda (word)
      (format t "%s %f %f " "word" (item.feat word "word_start") (item.feat word "word_end")))
    (item.daughters token))
  (format t "\\n"))
(mapcar times_of (utt.relation.items said 'Token))
"""


def festival_script(text: str, name: str, speed: float, wave_file: Path) -> str:
    """A Scheme program that saves the text's sound and prints one line a token: start and end of each of its words.

    HTS voices ignore Duration_Stretch and take the rate among the parameters of their engine.
    """
    quoted = text.replace("\\", " ").replace('"', " ")
    return (
        f"(voice_{name})\n(Parameter.set 'Duration_Stretch {1.0 / speed:.4f})\n"
        "(if (symbol-bound? 'hts_engine_params)\n"
        f'  (set! hts_engine_params (append hts_engine_params (list (list "-r" {speed:.4f})))))\n'
        f'(set! said (utt.synth (Utterance Text "{quoted}")))\n'
        f'(utt.save.wave said "{wave_file}" \'riff)\n{_TIMES}'
    )


def read_festival_times(printed: str, words: int) -> tuple[tuple[float, float], ...] | None:
    """Start and end of each token in seconds, or None where the number of tokens is not `words`.

    Punctuation is a word without sound to festival; its end is 0, so a token ends at the largest end.
    """
    times = []
    for line in printed.splitlines():
        values = [float(value) for value in line.replace("word", " ").split()]
        pairs = [(s, e) for s, e in zip(values[::2], values[1::2], strict=True) if e > s]
        if pairs:
            times.append((pairs[0][0], max(end for _, end in pairs)))
    return tuple(times) if len(times) == words else None
