"""What a hosted agent is told before a conversation, from the setup: one text, and the tools' declarations."""

from __future__ import annotations

from typing import Any

from pytest_voicebench.agents.protocol import Setup

Json = Any


def briefing(setup: Setup) -> str:
    """The instructions, then the day on which the conversation takes place, then the documents."""
    day = f"Today is {setup.today:%A}, {setup.today.day} {setup.today:%B %Y}."
    return "\n\n".join(part for part in (setup.instructions.strip(), day, *setup.documents) if part)


def function_tools(setup: Setup) -> list[dict[str, Json]]:
    """The tools in the flat form of OpenAI's realtime API."""
    return [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.json_schema()}
        for t in setup.tools
    ]
