"""The subcommands of `python -m pytest_voicebench`; each module has `run(argv) -> exit status`."""
