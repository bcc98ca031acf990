"""`self-test`: the search for the largest number that holds, and the command against a real socket."""

from __future__ import annotations

import pytest

from pytest_voicebench.__main__ import main
from pytest_voicebench.checking.pace import Pace, largest


def machine(holds, tried):
    """One that is on time up to a number."""

    def measure(number):
        tried.append(number)
        return Pace(at_once=number, late_p99_s=0.001 if number <= holds else 0.05, late_max_s=0.06)

    return measure


@pytest.mark.parametrize(
    ("holds", "most", "found"),
    [
        *[(0, 512, 0), (1, 512, 1), (2, 512, 2), (3, 512, 3), (7, 512, 7), (100, 512, 96), (511, 512, 480)],
        *[(900, 512, 512), (900, 1, 1), (900, 3, 3), (900, 100, 100), (70, 100, 68), (99, 100, 91)],
    ],
)
def test_the_largest_number_is_found_to_within_an_eighth(holds, most, found):
    assert largest(machine(holds, []), lambda pace: None, most) == found
    assert found <= holds or not found


def test_what_holds_once_by_luck_does_not_hold():
    seen = []

    def measure(number):
        seen.append(number)
        lucky = number < 4 or seen.count(number) == 1
        return Pace(at_once=number, late_p99_s=0.001 if lucky else 0.05, late_max_s=0.06)

    assert largest(measure, lambda pace: None) == 3


def test_a_number_that_broke_does_not_hold():
    assert not Pace(at_once=1, late_p99_s=0.001, late_max_s=0.001, broken="no connection").holds
    assert not Pace(at_once=1, late_p99_s=None, late_max_s=None).holds


def test_the_command_prints_a_line_for_each_number_and_what_it_found(capsys):
    status = main(["self-test", "--most", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["at", "once", "late", "p99,", "ms", "worst,", "ms", "read", "p99,", "ms"]
    assert all(line.split()[0] == "1" for line in lines[1:-1])
    if status == 0:
        assert lines[-1] == "this machine holds 1 at once: --voicebench-concurrency=1"
    else:  # a machine that is busy with other things
        assert (status, lines[-1].startswith("this machine does not hold one")) == (1, True)


def test_a_number_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["self-test", "--most", "0"])
    assert ended.value.code == 2
    assert "must be a whole number from 1 to 10000" in capsys.readouterr().err
