"""Suites read from YAML and checked: `load_suite` gives a Suite or raises SuiteError with every mistake in it."""

from pytest_voicebench.loading.mistakes import Mistake, SuiteError
from pytest_voicebench.loading.suite_file import check_distinct, is_suite_file, load_suite

__all__ = ["Mistake", "SuiteError", "check_distinct", "is_suite_file", "load_suite"]
