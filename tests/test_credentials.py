"""Where keys come from, and that nothing shows them."""

from __future__ import annotations

import copy
import pickle

import pytest

from pytest_voicebench.agents.credentials import Secret, find_key, need_key, secrets_of_environment

NAMES = ("FIRST_KEY", "SECOND_KEY")


@pytest.mark.parametrize(
    ("environment", "local", "shared", "value", "variable"),
    [
        ({"FIRST_KEY": "a", "SECOND_KEY": "b"}, "", "", "a", "FIRST_KEY"),
        ({"SECOND_KEY": "b"}, "", "", "b", "SECOND_KEY"),
        ({"FIRST_KEY": "a"}, "FIRST_KEY=local", "FIRST_KEY=shared", "a", "FIRST_KEY"),
        ({}, "FIRST_KEY=local", "FIRST_KEY=shared", "local", "FIRST_KEY"),
        ({}, "OTHER=x", "FIRST_KEY=shared", "shared", "FIRST_KEY"),
        ({"FIRST_KEY": " "}, "", "export FIRST_KEY='in quotes' # and", None, None),
        ({}, "# FIRST_KEY=no\n\nFIRST_KEY = spaced # why\r\n", "", "spaced", "FIRST_KEY"),
        ({}, 'FIRST_KEY="quoted#1"  # why', "", "quoted#1", "FIRST_KEY"),
        ({}, "FIRST_KEY=", "FIRST_KEY=shared", "shared", "FIRST_KEY"),
        ({}, "FIRST_KEY", "", "", None),
        ({}, "\ufeffFIRST_KEY=bom", "", "bom", "FIRST_KEY"),
    ],
)
def test_the_environment_comes_first_and_files_fill_in(tmp_path, environment, local, shared, value, variable):
    (tmp_path / ".env.local").write_text(local, encoding="utf-8")
    (tmp_path / ".env").write_text(shared, encoding="utf-8")
    if value is None:
        with pytest.raises(ValueError, match=r"^FIRST_KEY is not a key: it holds spaces"):
            find_key(NAMES, environment=environment, folder=tmp_path)
        return
    found = find_key(NAMES, environment=environment, folder=tmp_path)
    assert (found.reveal() if found else "", found.variable if found else None) == (value, variable)


def test_a_missing_key_is_one_line_that_names_the_variables(tmp_path, monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"^FIRST_KEY \(or SECOND_KEY\) is not set: export it, or put it into \.env"):
        need_key(NAMES, folder=tmp_path)


def test_files_change_no_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("FIRST_KEY", raising=False)
    (tmp_path / ".env").write_text("FIRST_KEY=x")
    assert need_key(NAMES, folder=tmp_path).reveal() == "x"
    assert find_key(NAMES, environment={}, folder=tmp_path / "nowhere") is None


def test_no_way_of_showing_a_secret_gives_its_value():
    secret = Secret("sk-planted", "FIRST_KEY")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "%s %r" % (secret, secret), repr([secret])]  # noqa: UP031
    assert "sk-planted" not in "".join(shown)
    assert not hasattr(secret, "__dict__")
    with pytest.raises(TypeError, match="FIRST_KEY") as refused:
        pickle.dumps(secret)
    assert "sk-planted" not in str(refused.value)
    with pytest.raises(TypeError, match="FIRST_KEY"):
        copy.deepcopy(secret)
    assert secret.scrub("Incorrect key: sk-planted.") == "Incorrect key: ***."


def test_variables_whose_name_says_so_are_secret_and_short_values_are_not():
    environment = {
        "OPENAI_API_KEY": "sk-long-enough",
        "apikey": "as-well-as-this",
        "AUTH_TOKEN": "t" * 8,
        "DB_PASSWORD": "p" * 8,
        "A_KEY": "short",
        "MAX_TOKENS": "100000000",
        "HOME": "/home/somebody",
        "KEYBOARD": "qwertyuiop",
    }
    assert [s.variable for s in secrets_of_environment(environment)] == [
        "OPENAI_API_KEY",
        "apikey",
        "AUTH_TOKEN",
        "DB_PASSWORD",
    ]
