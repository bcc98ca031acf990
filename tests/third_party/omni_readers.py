"""What vLLM-Omni's and SGLang-Omni's own code makes of a client's events: `omni_readers.py vllm|sglang`.

Takes a JSON list of events, prints a list with the kind that each was read as, or why it was refused. Runs in an
environment of its own with both packages without their dependencies, and pydantic, numpy, pybase64, msgspec, msgpack.
"""

from __future__ import annotations

import json
import logging
import sys
import types

from bare import bare


def by_vllm(events):
    """The command that each event becomes; of a session, what the server would take for its configuration."""
    bare("vllm_omni", "vllm_omni.engine", "vllm_omni.engine.duplex")
    logger = types.ModuleType("vllm.logger")  # all that this part wants of vllm
    logger.init_logger = logging.getLogger
    sys.modules |= {"vllm": types.ModuleType("vllm"), "vllm.logger": logger}
    from vllm_omni.engine.duplex.config import DuplexSessionConfig
    from vllm_omni.engine.duplex.realtime_commands import translate_realtime_command

    for event in events:
        if event["type"] == "session.event_ack":  # the transport's, before any command
            yield "EventAck" if isinstance(event["server_event_seq"], int) else "no number"
            continue
        command = translate_realtime_command(event)
        told = {"kind": type(command).__name__}
        if event["type"] == "session.update":
            config = DuplexSessionConfig.from_realtime(event["session"])
            told |= {
                "model": config.model,
                "voice": bool(config.ref_audio),
                "policies": [config.overlap_policy, config.playback_commit_policy],
                "tools": len(config.extra_body.get("realtime_tools") or []),
                "detection": config.extra_body["realtime_turn_detection"],
            }
        if event["type"] == "input_audio_buffer.append":
            told["audio"] = len(command.audio)
        if event["type"] == "playback.ack":
            told["played"] = [command.response_id, command.item_id, command.played_ms, command.committed_ms]
        yield told


def by_sglang(events):
    """The event as the strict schema reads it; of a session, what MiniCPM-o's deployment would grant."""
    bare("sglang_omni", "sglang_omni.serve", "sglang_omni.serve.realtime")
    from sglang_omni.serve.realtime.negotiation import SessionNegotiation
    from sglang_omni.serve.realtime.schema import CLIENT_EVENT
    from sglang_omni.serve.realtime.types import Capabilities, RuntimeLimits

    capabilities = Capabilities(
        native_unit_ms=1000,
        output_sample_rate_hz=24_000,
        output_modalities=("audio", "text"),
        tail_policy="pad",
        supports_reference_audio=True,
    )
    desk = SessionNegotiation(model="openbmb/MiniCPM-o-4_5", capabilities=capabilities, limits=RuntimeLimits())
    for event in events:
        read = CLIENT_EVENT.validate_python(event)
        told = {"kind": type(read).__name__}
        if event["type"] == "session.update":
            config, granted = desk.negotiate({}, "CREATED", read.session)
            told |= {"granted": granted["output_modalities"], "rejections": granted["rejections"]}
            told["voice"] = len(config.get("sglang", {}).get("reference_audio").data)
        yield told


def verdicts(found):
    while True:
        try:
            yield next(found)
        except StopIteration:
            return
        except Exception as refusal:  # noqa: BLE001 - whatever the vendor's code raises is its verdict
            yield {"refused": f"{type(refusal).__name__}: {refusal}"[:500]}
            return


reader = {"vllm": by_vllm, "sglang": by_sglang}[sys.argv[1]]
print(json.dumps(list(verdicts(reader(json.load(sys.stdin))))))
