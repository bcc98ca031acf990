"""`python -m pytest_voicebench COMMAND`: finds the command's module and runs it; no other command is imported."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys

from pytest_voicebench.commands.shown import Shown

COMMANDS = {
    "validate": ("pytest_voicebench.commands.validate:run", "check suite files without running them"),
    "prove": ("pytest_voicebench.commands.prove:run", "prove that a suite fails agents that are wrong"),
    "check-agent": ("pytest_voicebench.commands.check_agent:run", "say what of an agent works, before it is measured"),
    "self-test": ("pytest_voicebench.commands.self_test:run", "find how many conversations at once this machine holds"),
    "suites": ("pytest_voicebench.commands.suites:run", "list the suites that travel with the package, or copy one"),
    "synthesize": ("pytest_voicebench.commands.synthesize:run", "speak the text of new scenarios"),
    "annotate": ("pytest_voicebench.commands.annotate:run", "make the timing file of a recording and its text"),
    "speech": ("pytest_voicebench.commands.speech:run", "print the speech that the harness hears in a recording"),
    "import": (
        "pytest_voicebench.commands.import_:run",
        "bring in the official FDB-v3 release, or results of its scripts",
    ),
    "export": (
        "pytest_voicebench.commands.export:run",
        "write a run as CTRF, CSV, Parquet, or for the official scripts",
    ),
    "match": ("pytest_voicebench.commands.match:run", "compare two values as a matcher does"),
    "report": ("pytest_voicebench.commands.report:run", "print a run's tables again"),
    "judge": ("pytest_voicebench.commands.judge:run", "ask a judge about a run made earlier"),
    "judge-check": ("pytest_voicebench.commands.judge_check:run", "measure a judge against labelled controls"),
    "merge": ("pytest_voicebench.commands.merge:run", "join run folders, or lay a rerun over a run"),
    "leaderboard": ("pytest_voicebench.commands.leaderboard:run", "rank the agents of several runs"),
    "case": ("pytest_voicebench.commands.case:run", "show one scenario across agents and runs, side by side"),
    "compare": ("pytest_voicebench.commands.compare:run", "say which items and which scores moved between two runs"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; its exit status, 2 where there is no such command, 130 after Ctrl-C, whenever it comes."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except BaseException as error:
        if not _is_interruption(error):
            raise
        print("interrupted", file=sys.stderr)
        return 130


def _is_interruption(error: BaseException | None) -> bool:
    """Whether it came of Ctrl-C: what is half imported then raises whatever it likes after it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _main(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console without UTF-8 still gets every line
    try:
        with contextlib.redirect_stderr(Shown(sys.stderr)):
            return _run_or_tell(arguments)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        return 141


def _run_or_tell(arguments: list[str]) -> int:
    """A fault of ours is told in full, without keys that its message may hold."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        raise
    except Exception as error:
        if _is_interruption(error):
            raise
        import traceback

        traceback.print_exc()
        return 1


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        import difflib  # which takes longer than all other imports here

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        print(f'there is no command "{name}"{hint}\n\n{_usage()}', file=sys.stderr)
        return 2
    module, _, function = COMMANDS[name][0].partition(":")
    try:
        run = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        print(f"{name}: the module {error.name} is not installed", file=sys.stderr)
        return 2
    return int(run(rest))


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        ["usage: python -m pytest_voicebench COMMAND ...", "", *lines, "", "COMMAND --help says more about each."]
    )


if __name__ == "__main__":
    sys.exit(main())
