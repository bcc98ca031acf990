"""The command line: one module for each command, each with `run(argv) -> exit status`."""
