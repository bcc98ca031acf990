"""A result file of the official scripts becomes a Conversation: what is known of it, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_voicebench.audio_files import AudioError
from pytest_voicebench.conversation import (
    AgentInfo,
    Call,
    CallStatus,
    Conversation,
    Problem,
    Recording,
    Span,
    Transcribed,
    TranscriptSource,
    Utterance,
    Word,
    to_ticks,
)
from pytest_voicebench.counted import counted
from pytest_voicebench.importers.agent_track import AgentTrack, Side, padded, read_agent_track
from pytest_voicebench.importers.result_file import ReportedCall, ResultFile, TimedText
from pytest_voicebench.recognised import within_speech
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.silero import merged
from pytest_voicebench.speech import detect_agent_speech
from pytest_voicebench.timeline import RATE_HZ
from pytest_voicebench.toolbox import broken_rule
from pytest_voicebench.user import Clip, load_clip, utterance_of

FROM_WORDS = "speech from word times"
COMPLETED = "completed"

_SHORTEST_TICKS = to_ticks(0.1)
_FIRST_SAMPLE_TICKS = to_ticks(0.05)
_LONGEST_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """The agent's side: when it spoke (None: nobody knows), what it said, its track where there is one."""

    speech: tuple[Span, ...] | None
    words: tuple[Word, ...] = ()
    text: str = ""
    track: AgentTrack | None = None
    words_dropped: int | None = None
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def conversation_of(
    file: ResultFile, scenario: Scenario, agent: AgentInfo, *, item_id: str, wav: Path | None, side: Side | None = None
) -> Conversation:
    """The conversation that a result file and the agent's recording tell of, on the stream's clock.

    The user's speech is the stimulus's own, from its timing file; where there is none, the recogniser's words; else
    unknown. The agent's speech is detected in its recording; without one it is where its words are, with a warning.
    What the file claims in numbers is kept in `reported` and used for no time of ours.
    """
    user = _user_clip(scenario)
    voice = _voice(file, wav, side, _session_s(file, user))
    ticks = _duration_ticks(file, user, voice)
    warnings = [*voice.warnings]
    utterances = _utterances(file, scenario, ticks, warnings)
    calls = _calls(file.calls or (), scenario, ticks, warnings)
    return Conversation(
        item_id=item_id,
        scenario_sha256=scenario.sha256,
        agent=agent,
        duration_ticks=ticks,
        ended="window",
        truncated=voice.track.truncated if voice.track else False,
        utterances=utterances,
        agent_speech=voice.speech,
        calls=calls,
        transcripts=_transcripts(voice, file.transcript_source),
        problems=(*_status_problems(file), *voice.problems),
        warnings=tuple(warnings),
        reported=file.reported,
        words_dropped=voice.words_dropped,
        recording=_recording(user, voice.track, ticks),
    )


def _status_problems(file: ResultFile) -> tuple[Problem, ...]:
    status = file.reported.status
    if status != COMPLETED:
        said = f"its status is {status!r}" if status else "it has no status"
        return (Problem(kind="infrastructure", message=f"{said}: the conversation was not held to its end"),)
    if file.calls is None:
        return (Problem(kind="infrastructure", message="it has no actual_tool_calls"),)
    return ()


def _user_clip(scenario: Scenario) -> Clip | None:
    step = scenario.steps[0] if scenario.steps else None
    if step is None or not isinstance(step.audio, Path):
        return None
    return load_clip(step.audio, RATE_HZ, step.channel)


def _session_s(file: ResultFile, user: Clip | None) -> float | None:
    """How long the user's audio was at least: the recording's length, else the file's word for it."""
    if user is not None:
        return len(user.samples) / RATE_HZ
    words, _ = _timed(file.reported.user_words)
    return file.input_duration_s or max((word.end_ticks / RATE_HZ for word in words), default=None)


def _voice(file: ResultFile, wav: Path | None, side: Side | None, session_s: float | None) -> Voice:
    if wav is None:
        return _voice_of_words(file)
    try:
        track = read_agent_track(wav, side, session_s)
    except AudioError as error:
        told = str(error).replace(f"{wav}", wav.name)
        return Voice(speech=None, problems=(Problem(kind="invalid_measurement", message=told),))
    speech = detect_agent_speech(track.samples)
    words, left = _timed(file.reported.words)
    heard = within_speech(words, speech)
    warnings = list(track.warnings)
    if len(heard) < len(words):
        dropped = len(words) - len(heard)
        warnings.append(f"{dropped} of {counted(len(words), 'word')} lie outside the agent's detected speech; dropped")
    if speech and speech[0].start_ticks < _FIRST_SAMPLE_TICKS:
        warnings.append("the agent speaks from its recording's first sample on: is that the session's first?")
    if track.truncated:
        warnings.append("the agent was speaking when its recording ended: possibly truncated")
    whole = len(heard) == len(words) and speech
    text = file.reported.transcript if whole else " ".join(word.text for word in heard)
    if not words and left and speech:
        text = file.reported.transcript
    return Voice(
        speech=speech,
        words=heard,
        text=text,
        track=track,
        words_dropped=len(words) - len(heard),
        warnings=tuple(warnings),
    )


def _voice_of_words(file: ResultFile) -> Voice:
    words, left = _timed(file.reported.words)
    if not words and (left or file.reported.transcript.strip()):
        problem = "there are words of the agent, but neither its recording nor their times: when it spoke is unknown"
        return Voice(
            speech=None,
            text=file.reported.transcript,
            problems=(Problem(kind="invalid_measurement", message=problem),),
        )
    return Voice(speech=_spans(words), words=words, text=file.reported.transcript, warnings=(FROM_WORDS,))


def _timed(words: Sequence[TimedText]) -> tuple[tuple[Word, ...], int]:
    """Words with their times, in order, and how many have none."""
    found = [
        Word(text=text, start_ticks=to_ticks(start), end_ticks=to_ticks(max(end, start)))
        for text, start, end in words
        if start is not None and end is not None and abs(start) <= _LONGEST_S and end <= _LONGEST_S
    ]
    return tuple(sorted(found, key=lambda word: word.start_ticks)), len(words) - len(found)


def _spans(words: Sequence[Word]) -> tuple[Span, ...]:
    bounds = merged((w.start_ticks, max(w.end_ticks, w.start_ticks + _SHORTEST_TICKS)) for w in words)
    return tuple(Span(start_ticks=a, end_ticks=b) for a, b in bounds)


def _duration_ticks(file: ResultFile, user: Clip | None, voice: Voice) -> int:
    """As long as the longest track; without the agent's, also as its last word and what the file says."""
    ends = [len(user.samples) if user else to_ticks(file.input_duration_s or 0.0)]
    if voice.track is not None:
        ends.append(len(voice.track.samples))
    else:
        ends += [to_ticks(file.output_duration_s or 0.0), *(word.end_ticks for word in voice.words)]
    return max(ends)


def _utterances(file: ResultFile, scenario: Scenario, ticks: int, warnings: list[str]) -> tuple[Utterance, ...]:
    step = scenario.steps[0] if scenario.steps else None
    if step is not None and step.timing is not None:
        return (utterance_of(step, 0, 0, ticks / RATE_HZ),)
    words, _ = _timed(file.reported.user_words)
    if not words:
        warnings.append("when the user spoke is unknown: neither a timing file nor word times")
        return ()
    warnings.append("when the user spoke is known from a recogniser's words only")
    speech = _spans(words)
    return (
        Utterance(
            step=0,
            kind="turn",
            text=step.text if step else "",
            start_ticks=speech[0].start_ticks,
            end_ticks=speech[-1].end_ticks,
            speech=speech,
            words=words,
        ),
    )


def _calls(calls: Sequence[ReportedCall], scenario: Scenario, ticks: int, warnings: list[str]) -> tuple[Call, ...]:
    untimed = [n for n, call in enumerate(calls) if call.start_s is None]
    if untimed:
        warnings.append(
            f"{len(untimed)} of {counted(len(calls), 'call')} have no time: {', '.join(calls[n].name for n in untimed)}"
        )
    return tuple(_call(n, call, scenario, ticks) for n, call in enumerate(calls))


def _call(number: int, call: ReportedCall, scenario: Scenario, ticks: int) -> Call:
    """Calls without a time come last, so that the first call is the earliest whose time is known."""
    status, reason = _status(call, scenario)
    end_ticks = None if call.end_s is None or call.start_s is None else to_ticks(max(call.end_s, call.start_s))
    answered_ticks = end_ticks if call.answered_s is None else to_ticks(call.answered_s)
    return Call(
        call_id=f"call_{number}",
        name=call.name,
        arguments=call.arguments or {},
        status=status,
        at_ticks=ticks if call.start_s is None else to_ticks(call.start_s),
        finished_ticks=end_ticks,
        answered_ticks=answered_ticks,
        acknowledged_ticks=answered_ticks,
        result=call.result,
        reason=reason,
        arguments_text=call.text,
        self_reported=call.is_logged,
        timed=call.start_s is not None,
    )


def _status(call: ReportedCall, scenario: Scenario) -> tuple[CallStatus, str | None]:
    """As our own toolbox would have it; where our own export wrote the file, as it was."""
    if call.status == "executed":
        return "executed", None
    if call.status == "failed":
        return "failed", call.reason
    tool = scenario.suite.tools.get(call.name)
    if tool is None:
        return "rejected", f"unknown tool {call.name}"
    if call.arguments is None or call.status == "rejected":
        return "rejected", call.reason or "the arguments are not a JSON object"
    broken = broken_rule(tool, {k: v for k, v in call.arguments.items() if v is not None})
    return ("failed", broken) if broken else ("executed", None)


def _transcripts(voice: Voice, source: TranscriptSource) -> tuple[Transcribed, ...]:
    """The agent's words: the official scripts recognise its recording; only our own export can tell the agent's own."""
    if not voice.text.strip():
        return ()
    at_ticks = voice.words[0].start_ticks if voice.words else (voice.speech[0].start_ticks if voice.speech else 0)
    one = Transcribed(speaker="agent", text=voice.text, at_ticks=at_ticks, words=voice.words, source=source)
    return (replace(one, heard_text=voice.text) if voice.track is not None else one,)


def _recording(user: Clip | None, track: AgentTrack | None, ticks: int) -> Recording | None:
    if track is None:
        return None
    silence = track.samples[:0]
    return Recording(user=padded(user.samples if user else silence, ticks), agent=padded(track.samples, ticks))
