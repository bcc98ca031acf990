"""Questions to a judge over HTTP: every way in which an endpoint fails is unjudged with its cause, never a verdict."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.judge_server import JudgeServer, Play, Reply, Request, judge_server, verdict, yes

from pytest_voicebench.judging.asking import GIVE_UP_AFTER, Outcome, ask_all
from pytest_voicebench.judging.cache import VerdictCache
from pytest_voicebench.judging.evidence import information_record, response_record
from pytest_voicebench.judging.prompts import Prompt, prompt_for
from pytest_voicebench.judging.settings import Endpoint, JudgeSettings, JudgeSettingsError

KEY = "sk-secret-1234"
REQUEST = ["Where is my order K2?"]
CALLS = [
    {"tool": "track_order", "arguments": {"order_id": "K2"}, "status": "executed", "result": {"status": "shipped"}}
]
RESPONSE = prompt_for("response", response_record(REQUEST, CALLS, ["It has shipped."]))
INFORMATION = prompt_for("information", information_record(REQUEST, CALLS, ["One moment.", "It has shipped."]))
NO_CACHE = VerdictCache(folder=None)


@pytest.fixture(scope="module")
def double() -> Iterator[JudgeServer]:
    with judge_server() as server:
        yield server


@pytest.fixture(autouse=True)
def afresh(double: JudgeServer) -> None:
    double.play = yes
    double.seen.clear()


def settings(**changes: float) -> JudgeSettings:
    return JudgeSettings(**{"model": "double", "retries": 0, "timeout_s": 20.0, "parallel": 1} | changes)  # type: ignore[arg-type]


def ask(double: JudgeServer, *prompts: Prompt, cache: VerdictCache = NO_CACHE, **changes: float) -> list[Outcome]:
    return ask_all(prompts, settings(**changes), Endpoint(url=double.url, key=KEY), cache)


def says(text: str | None, finish: str = "stop") -> Play:
    return lambda request: Reply(content=text, finish=finish)


def test_the_sdk_takes_the_double_for_an_endpoint_and_sends_what_was_promised(double: JudgeServer) -> None:
    (outcome,) = ask(double, RESPONSE)
    assert outcome.verdict is not None
    assert (outcome.verdict.answer, outcome.verdict.reason, outcome.unjudged) == (True, "because", None)
    assert (outcome.input_tokens, outcome.output_tokens, outcome.output_format) == (100, 10, "json_schema")
    (request,) = double.seen
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (request.body["model"], request.body["temperature"]) == ("double", 0.0)
    schema = request.body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"] == RESPONSE.schema


ANSWERS = {
    "500": (Reply(status=500), "http_error"),
    "401": (Reply(status=401), "http_error"),
    "429": (Reply(status=429), "rate_limited"),
    "hang-up in the body": (Reply(content='{"reason": "x", "correct": true}', hang_up=True), "connection"),
    "no JSON as the response": (Reply(raw=b"<html>gateway"), "bad_response"),
    "another kind of JSON": (Reply(raw=b'{"choices": null}'), "bad_response"),
    "no choices": (Reply(raw=b'{"choices": []}'), "bad_response"),
    "a content that is no text": (
        Reply(raw=b'{"choices": [{"finish_reason": "stop", "message": {"content": 5}}]}'),
        "bad_response",
    ),
    "brackets without end": (Reply(raw=b"[" * 100_000), "bad_response"),
    "no text at all": (Reply(raw=b"\xff\xfe\x00"), "bad_response"),
    "a list": (Reply(raw=b"[1]"), "bad_response"),
    "filtered": (Reply(content=None, finish="content_filter"), "filtered"),
    "a refusal": (
        Reply(
            raw=b'{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "refusal": "I cannot.", '
            b'"content": "{\\"reason\\": \\"x\\", \\"correct\\": true}"}}]}'
        ),
        "filtered",
    ),
    "a list of one object": (Reply(content='[{"reason": "x", "correct": true}]'), "out_of_schema"),
    "a brace too many": (Reply(content='{"reason": "x", "correct": true}}'), "not_json"),
    "filtered with text": (Reply(content='{"reason": "x", "correct": true}', finish="content_filter"), "filtered"),
    "empty": (Reply(content=""), "empty"),
    "white": (Reply(content=" \n"), "empty"),
    "null": (Reply(content=None), "empty"),
    "yes in words": (Reply(content="Yes, nothing is missing"), "not_json"),
    "half an object": (Reply(content='{"correct": tr'), "not_json"),
    "an object in a broken one": (Reply(content='{"a": {"reason": "x", "correct": true}'), "not_json"),
    "false as text": (Reply(content='{"reason": "x", "correct": "false"}'), "out_of_schema"),
    "true as a number": (Reply(content='{"reason": "x", "correct": 1}'), "out_of_schema"),
    "null as a verdict": (Reply(content='{"reason": "x", "correct": null}'), "out_of_schema"),
    "no reason": (Reply(content='{"correct": true}'), "out_of_schema"),
    "one key more": (Reply(content='{"reason": "x", "correct": true, "score": 1}'), "out_of_schema"),
    "the key twice": (Reply(content='{"reason": "x", "correct": false, "correct": true}'), "out_of_schema"),
    "another question's key": (Reply(content='{"reason": "x", "same": true}'), "out_of_schema"),
    "two objects": (
        Reply(content='{"reason": "x", "correct": true} {"reason": "x", "correct": false}'),
        "several_answers",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_verdict_is_unjudged_with_its_cause(double: JudgeServer, name: str) -> None:
    reply, cause = ANSWERS[name]
    double.play = lambda request: reply
    (outcome,) = ask(double, RESPONSE)
    assert (outcome.verdict, outcome.unjudged) == (None, cause)
    assert "secret" not in outcome.detail
    assert outcome.detail


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_what_was_said_goes_to_the_host_that_was_named_and_no_other(double: JudgeServer, status: int) -> None:
    with judge_server() as other:
        address = f"{other.url}/chat/completions"
        double.play = lambda request: Reply(status=status, headers={"Location": address})
        (outcome,) = ask(double, RESPONSE)
        assert (outcome.unjudged, outcome.detail) == ("http_error", f"HTTP {status}")
        assert other.seen == []


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(raw=b"{}" * 10_000_000), "longer than 4,000,000 bytes"),
        (Reply(raw=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"}), "compressed"),
    ],
    ids=["long", "packed"],
)
def test_a_response_without_end_is_not_read(double: JudgeServer, reply: Reply, told: str) -> None:
    double.play = lambda request: reply
    (outcome,) = ask(double, RESPONSE)
    assert outcome.unjudged == "bad_response"
    assert told in outcome.detail


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_PROXY", "odd://me:secret@host"), ("SSL_CERT_FILE", "/gone"), ("ALL_PROXY", "socks9://me:secret@host")],
)
def test_an_environment_that_no_client_can_use_is_one_line_without_its_values(
    double: JudgeServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(JudgeSettingsError, match="cannot be used") as caught:
        ask(double, RESPONSE)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sentence", [-1, 2, 99])
def test_a_sentence_that_is_not_there_is_unjudged(double: JudgeServer, sentence: int) -> None:
    double.play = lambda request: verdict(request, sentence)
    (outcome,) = ask(double, INFORMATION)
    assert (outcome.verdict, outcome.unjudged) == (None, "wrong_index")


@pytest.mark.parametrize("sentence", ["1", True, 1.0])
def test_a_sentence_that_is_no_whole_number_is_unjudged(double: JudgeServer, sentence: object) -> None:
    double.play = lambda request: verdict(request, sentence)
    (outcome,) = ask(double, INFORMATION)
    assert (outcome.verdict, outcome.unjudged) == (None, "out_of_schema")


@pytest.mark.parametrize("sentence", [0, 1, None])
def test_a_sentence_or_none_is_a_verdict(double: JudgeServer, sentence: int | None) -> None:
    double.play = lambda request: verdict(request, sentence)
    (outcome,) = ask(double, INFORMATION)
    assert outcome.verdict is not None
    assert outcome.verdict.answer == sentence


TALK = {
    "fenced": '```json\n{"reason": "x", "correct": false}\n```',
    "fenced without a name": '```\n{"reason": "x", "correct": false}\n```',
    "chatty": 'Sure, true to the rules: {"reason": "x", "correct": false}. Yes, nothing is missing!',
    "braces in the reason": '{"reason": "an {odd} one", "correct": false}',
}


@pytest.mark.parametrize("name", TALK)
def test_one_object_in_fences_or_talk_is_the_verdict(double: JudgeServer, name: str) -> None:
    double.play = says(TALK[name])
    (outcome,) = ask(double, RESPONSE)
    assert outcome.verdict is not None
    assert outcome.verdict.answer is False


def test_a_silent_endpoint_is_a_timeout(double: JudgeServer) -> None:
    double.play = lambda request: Reply(wait=True)
    (outcome,) = ask(double, RESPONSE, timeout_s=0.2)
    assert outcome.unjudged == "timeout"


def test_an_endpoint_that_sends_a_byte_now_and_then_is_a_timeout_too(double: JudgeServer) -> None:
    double.play = lambda request: Reply(content='{"reason": "x", "correct": true}', drip=True)
    (outcome,) = ask(double, RESPONSE, timeout_s=0.3)
    assert outcome.unjudged == "timeout"


def test_nobody_there_is_a_lost_connection() -> None:
    with judge_server() as gone:
        url = gone.url
    (outcome,) = ask_all([RESPONSE], settings(), Endpoint(url=url, key=KEY), NO_CACHE)
    assert outcome.unjudged == "connection"


def test_an_answer_that_was_cut_is_asked_for_once_more_with_more_room(double: JudgeServer) -> None:
    cut = Reply(content='{"reason": "a long', finish="length")
    double.play = lambda request: cut if request.body["max_tokens"] < 1000 else verdict(request, True)
    (outcome,) = ask(double, RESPONSE)
    assert outcome.verdict is not None
    assert [r.body["max_tokens"] for r in double.seen] == [400, 1600]
    assert outcome.input_tokens == 200


def test_an_answer_that_is_cut_twice_is_unjudged_also_where_it_looks_whole(double: JudgeServer) -> None:
    double.play = says('{"reason": "x", "correct": true}', finish="length")
    (outcome,) = ask(double, RESPONSE)
    assert (outcome.verdict, outcome.unjudged) == (None, "cut")
    assert len(double.seen) == 2


def test_the_sdk_retries_as_often_as_was_said(double: JudgeServer) -> None:
    replies = iter([Reply(status=503), None])
    double.play = lambda request: next(replies) or verdict(request, True)
    (outcome,) = ask(double, RESPONSE, retries=1)
    assert outcome.verdict is not None
    assert len(double.seen) == 2


def test_an_endpoint_without_schemas_is_asked_in_the_format_it_takes_and_is_not_asked_twice(
    double: JudgeServer,
) -> None:
    def play(request: Request) -> Reply:
        return Reply(status=400) if "response_format" in request.body else verdict(request, True)

    double.play = play
    first, second = ask(double, RESPONSE, INFORMATION)
    assert (first.output_format, first.unjudged) == ("plain", None)
    kinds = [(r.body.get("response_format") or {}).get("type") for r in double.seen]
    assert kinds == ["json_schema", "json_object", None, None]
    assert (second.verdict, second.unjudged) == (None, "out_of_schema")  # true is no sentence


def test_an_endpoint_that_refuses_every_format_is_an_error_of_the_endpoint(double: JudgeServer) -> None:
    double.play = lambda request: Reply(status=400)
    (outcome,) = ask(double, RESPONSE)
    assert (outcome.unjudged, outcome.detail) == ("http_error", "HTTP 400")


def test_one_failure_of_two_is_one_unjudged_of_two(double: JudgeServer) -> None:
    replies = iter([Reply(status=500), None] * 15)
    double.play = lambda request: next(replies) or yes(request)
    causes = [outcome.unjudged for outcome in ask(double, *[RESPONSE] * 30)]
    assert causes == ["http_error", None] * 15


def test_a_dead_endpoint_is_given_up_after_failures_in_a_row(double: JudgeServer) -> None:
    double.play = lambda request: Reply(status=500)
    causes = [outcome.unjudged for outcome in ask(double, *[RESPONSE] * 25)]
    assert causes == ["http_error"] * GIVE_UP_AFTER + ["given_up"] * (25 - GIVE_UP_AFTER)
    assert len(double.seen) == GIVE_UP_AFTER


def test_answers_come_in_the_order_of_the_questions(double: JudgeServer) -> None:
    double.play = lambda request: verdict(request, request.record["user_request"] == ["even"])
    prompts = [
        prompt_for(
            "response",
            response_record(
                [
                    ("even", "odd")[n % 2],
                ],
                [],
                [str(n)],
            ),
        )
        for n in range(40)
    ]
    outcomes = ask(double, *prompts, parallel=8)
    assert [o.verdict.answer for o in outcomes if o.verdict] == [n % 2 == 0 for n in range(40)]


def test_a_verdict_is_remembered_and_costs_nothing_the_second_time(double: JudgeServer, tmp_path: Path) -> None:
    cache = VerdictCache(folder=tmp_path)
    (first,) = ask(double, RESPONSE, cache=cache)
    double.play = lambda request: verdict(request, False)
    (second,) = ask(double, RESPONSE, cache=cache)
    assert len(double.seen) == 1
    assert (second.verdict, second.cached, second.judged_at) == (first.verdict, True, first.judged_at)
    assert (second.input_tokens, second.output_tokens) == (0, 0)


def test_the_cache_is_not_used_for_another_judge_other_content_or_another_endpoint(
    double: JudgeServer, tmp_path: Path
) -> None:
    cache = VerdictCache(folder=tmp_path)
    ask(double, RESPONSE, cache=cache)
    other = settings()
    asked = ask_all([RESPONSE], JudgeSettings(model="b", retries=0), Endpoint(url=double.url, key=KEY), cache)
    assert not asked[0].cached
    assert not ask(double, INFORMATION, cache=cache)[0].cached
    url = double.url.replace("127.0.0.1", "localhost")
    assert not ask_all([RESPONSE], other, Endpoint(url=url, key=KEY), cache)[0].cached
    assert ask(double, RESPONSE, cache=cache)[0].cached


def test_what_is_unjudged_is_not_remembered(double: JudgeServer, tmp_path: Path) -> None:
    cache = VerdictCache(folder=tmp_path)
    double.play = says('{"correct": "false"}')
    ask(double, RESPONSE, cache=cache)
    double.play = yes
    (outcome,) = ask(double, RESPONSE, cache=cache)
    assert outcome.verdict is not None
    assert not outcome.cached


@pytest.mark.parametrize("text", [b"", b"{", b'{"text": "no", "judged_at": "x", "output_format": "plain"}'])
def test_a_damaged_memory_is_asked_again(double: JudgeServer, tmp_path: Path, text: bytes) -> None:
    cache = VerdictCache(folder=tmp_path)
    ask(double, RESPONSE, cache=cache)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(text)
    (outcome,) = ask(double, RESPONSE, cache=cache)
    assert (outcome.verdict is not None, outcome.cached) == (True, False)


def test_a_cache_that_cannot_be_written_stops_nothing(double: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (outcome,) = ask(double, RESPONSE, cache=VerdictCache(folder=tmp_path / "file"))
    assert outcome.verdict is not None


def test_the_key_stands_in_no_file_of_the_cache(double: JudgeServer, tmp_path: Path) -> None:
    ask(double, RESPONSE, INFORMATION, cache=VerdictCache(folder=tmp_path))
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(texts) == 2
    assert not any(KEY in text for text in texts)
    assert all(json.loads(text)["text"] for text in texts)
