"""Folders of the official layout, read into scenarios and conversations by the tests themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builders import conversation, expected, scenario
from shared_data import SHARED

from pytest_voicebench.conversation import AgentInfo, Call, Conversation, Reported, to_ticks
from pytest_voicebench.metrics.official import official_card
from pytest_voicebench.plugin.attempt import facts_of
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import Scenario

ROWS = SHARED / "fdb3" / "real_run_half.jsonl"
MAKER = SHARED / "fdb3" / "make_folders.py"


def make_folders(folder: Path) -> None:
    """The real run as folders."""
    subprocess.run([sys.executable, str(MAKER), str(ROWS), str(folder)], check=True, capture_output=True)


def read_folder(folder: Path, provider: str = "gemini2_5") -> tuple[Scenario, Conversation]:
    """One recording of the release and what a provider made of it."""
    metadata = json.loads((folder / "metadata.json").read_bytes())
    return item(metadata, json.loads((folder / f"result_{provider}.json").read_bytes()))


def item(metadata: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[Scenario, Conversation]:
    """A scenario and a conversation with the raw values of an official result file."""
    wanted = scenario(
        *(expected(call["function"], **call["args"]) for call in metadata["expected_tool_calls"]),
        domain=metadata["domain"],
        difficulty=metadata["difficulty"],
        disfluency=tuple(feature.lower() for feature in metadata["disfluency_features"]),
        state_rollback=metadata["state_rollback_test"],
    )
    calls = (_call(n, logged) for n, logged in enumerate(result["actual_tool_calls"]))
    reported = Reported(
        provider=result["provider"],
        status=result["status"],
        user_end_s=result.get("user_speech_end_rel"),
        agent_start_s=result.get("audio_agent_speech_start"),
        transcript=result["transcript"],
        words=tuple((w["text"], *w["timestamp"]) for w in result["asr_chunks"]),
        call_starts_s=tuple(call["timestamp_start"] for call in result["actual_tool_calls"]),
        user_words=tuple((w["text"], *w["timestamp"]) for w in result["input_asr_chunks"]),
    )
    return wanted, conversation(*calls, reported=reported)


def _call(number: int, logged: Mapping[str, Any]) -> Call:
    return Call(
        call_id=str(number),
        name=logged["function"],
        arguments=logged["args"],
        status="executed",
        at_ticks=to_ticks(logged["timestamp_start"]),
        self_reported=True,
    )


def official_result(item_id: str, wanted: Scenario, held: Conversation) -> Result:
    """The item's result, with its official card alone."""
    card = official_card(wanted, held)
    return Result(
        item_id=item_id,
        nodeid=f"s.yaml::scenario[{item_id}]",
        agent=AgentInfo(name="a", clock="wall"),
        facts=facts_of(wanted),
        outcome="passed" if card.passed else "failed",
        official=card,
    )
