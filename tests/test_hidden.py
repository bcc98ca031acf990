"""What no text may show: values under a secret's name however deep JSON is written into JSON, and whose home it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.hidden import HIDDEN, without_secrets
from pytest_voicebench.machine import without_home
from pytest_voicebench.some_names import some


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"api_key": "sk-1", "n": 2}', '{"api_key": "***", "n": 2}'),
        (r'{"a": "{\"api_key\": \"sk-1\", \"n\": 2}"}', r'{"a": "{\"api_key\": \"***\", \"n\": 2}"}'),
        (r'"{\"token\": \"a\\\"b\", \"x\": 1}"', r'"{\"token\": \"***\", \"x\": 1}"'),
        ('{"api_key": "a\\\\", "n": 1}', '{"api_key": "***", "n": 1}'),
        (r'{"caf\u00e9_key": "sk-1"}', r'{"caf\u00e9_key": "***"}'),
        ('{"api_key": "sk-cut', '{"api_key": "***"'),
        (r"{\"token\": 55, \"b\": 1}", r"{\"token\": \"***\", \"b\": 1}"),
        ('{"name": "value"}', '{"name": "value"}'),
        ("wss://me:pw@host/?key=1&b=2", "wss://***@host/?key=***&b=***"),
    ],
)
def test_values_under_a_secrets_name_are_hidden_and_others_stay(text, shown):
    assert without_secrets(text) == shown


@given(st.text(min_size=1, max_size=20), st.integers(0, 3))
def test_a_value_is_hidden_however_often_its_json_was_written_into_json(value, times):
    secret = f"sk-{value}-planted"
    text = json.dumps({"api_key": secret, "other": 1})
    for _ in range(times):
        text = json.dumps({"inner": text})
    found = json.loads(without_secrets(text))
    for _ in range(times):
        found = json.loads(found["inner"])
    assert found == {"api_key": HIDDEN, "other": 1}


def test_the_home_folder_is_no_name_in_a_text_also_where_it_is_a_link(tmp_path, monkeypatch):
    (tmp_path / "really").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "really")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert without_home(f"{tmp_path}/home/a {tmp_path}/really/b") == "~/a ~/b"


@pytest.mark.parametrize(("most", "told"), [(2, "a, b and 1 more"), (3, "a, b, c"), (5, "a, b, c")])
def test_the_first_names_are_told_and_how_many_more_there_are(most, told):
    assert some(["a", "b", "c"], most) == told
