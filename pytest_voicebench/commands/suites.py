"""`suites list` and `suites copy NAME DIR`: the suites that travel with the package."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from pathlib import Path

from pytest_voicebench.shipped_suites import shipped_suites
from pytest_voicebench.staging import staged


def run(argv: list[str]) -> int:
    """List the packaged suites, or copy one to DIR/suites/NAME. Exit status: 0, 1 where nothing could be copied."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench suites", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the suites")
    copy = commands.add_parser("copy", help="copy a suite into a folder, to run or to change it")
    copy.add_argument("name")
    copy.add_argument("folder", type=Path, metavar="DIR", help="gets suites/NAME inside; nothing is overwritten")
    options = parser.parse_args(argv)
    if options.command == "list":
        for name, path in shipped_suites().items():
            print(f"{name}  {path}")
        return 0
    return _copy(options.name, options.folder)


def _copy(name: str, folder: Path) -> int:
    known = shipped_suites()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else f"; there are: {', '.join(known) or 'none'}"
        print(f'there is no suite "{name}"{hint}', file=sys.stderr)
        return 1
    target = folder / "suites" / name
    if target.exists():
        print(f"{target} is there already; nothing was copied", file=sys.stderr)
        return 1
    try:
        with staged(target) as stage:
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(known[name], stage, ignore=ignored, dirs_exist_ok=True)
    except OSError as error:
        told = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror or error
        print(f"{target}: cannot be written: {told}", file=sys.stderr)
        return 1
    print(f"copied {name} to {target}\nrun it: {_next_command(folder, target)}")
    return 0


def _next_command(folder: Path, target: Path) -> str:
    here = folder.resolve() == Path.cwd().resolve()
    return f"pytest suites/{target.name}" if here else f"cd {folder} && pytest suites/{target.name}"
