"""One module for each command of `python -m pytest_voicebench`: `run(argv)` returns the exit status."""
