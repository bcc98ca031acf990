"""`judge RUN --judge=MODEL`: ask a judge about a run made earlier, and print its tables with what the judge said."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.gate_options import decided_or_kept
from pytest_voicebench.commands.report import page_lost, print_tables
from pytest_voicebench.gating import Asked
from pytest_voicebench.judgement import Judgement
from pytest_voicebench.judging.cache import CACHE_NAME, VerdictCache
from pytest_voicebench.judging.settings import JudgeSettingsError, endpoint_of, judge_of, parse_judge
from pytest_voicebench.judging.stage import judge_run
from pytest_voicebench.page.write import write_page
from pytest_voicebench.result_files import RunUnreadable, find_run
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.markdown import write_markdown
from pytest_voicebench.writers.plain_text import one_line
from pytest_voicebench.writers.summary_json import write_summary

JUDGE_HELP = (
    "MODEL[,timeout_s=60,retries=2,parallel=8,max_tokens=400,input_price=...,output_price=...], at OPENAI_BASE_URL "
    "with OPENAI_API_KEY; prices are those of a million tokens"
)


def run(argv: list[str]) -> int:
    """Write judgements.jsonl and summary.json of the run anew and print its tables (0); 2 with one line if it cannot.

    1, and a line that says so, where there were questions and this judge answered none.
    Ctrl-C ends the judging: what was not judged is counted, and another call asks for it (130).
    """
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench judge", description=__doc__)
    parser.add_argument("run", nargs="?", default="latest", metavar="RUN", help="a run's folder, its name, or `latest`")
    parser.add_argument("--judge", required=True, metavar="MODEL[,KEY=VALUE...]", help=JUDGE_HELP)
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    options = parser.parse_args(argv)
    try:
        settings, endpoint = parse_judge(options.judge), endpoint_of()
        saved = load_run(find_run(options.run, options.reports))
        cache = VerdictCache(folder=saved.folder.resolve().parent / CACHE_NAME)
        judgements = judge_run(saved.folder, saved.results, settings, endpoint, cache=cache, progress=print_progress)
        judged = load_run(saved.folder)
        summary = decided_or_kept(judged, Asked())
        write_summary(saved.folder, summary)
        write_markdown(saved.folder, summary, judged.results)
    except (JudgeSettingsError, RunUnreadable, CodecError, OSError) as error:
        print(one_line(f"judge: {error}"), file=sys.stderr)
        return 2
    for note in (*judged.notes, *page_lost(judged, summary, write_page)):
        print(one_line(f"note: {note}"), file=sys.stderr)
    print_tables(summary)
    return _status([one for one in judgements if one.judge == judge_of(settings, endpoint)])


def _status(judgements: Sequence[Judgement]) -> int:
    causes = Counter(one.unjudged for one in judgements if one.unjudged is not None)
    if causes["interrupted"]:
        return 130
    if not judgements or causes.total() < len(judgements):
        return 0
    told = ", ".join(f"{number} {cause}" for cause, number in causes.most_common())
    print(one_line(f"judge: no question was answered: {told}"), file=sys.stderr)
    return 1


def print_progress(done: int, total: int) -> None:
    """A line on a terminal's stderr that overwrites itself; nothing into a file."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rjudged {done}/{total}", end=end, file=sys.stderr, flush=True)
