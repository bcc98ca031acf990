"""Messages of a LiveKit agent's session, as it sends them over a console connection and into a room."""

from __future__ import annotations

from livekit.protocol.agent_pb import agent_session as pb


def event(**fields):
    return pb.AgentSessionMessage(event=pb.AgentSessionEvent(**fields))


def state(new):
    return event(agent_state_changed=pb.AgentSessionEvent.AgentStateChanged(new_state=new))


def said(text, role=pb.ASSISTANT, interrupted=False):
    message = pb.ChatMessage(role=role, content=[pb.ChatMessage.ChatContent(text=text)], interrupted=interrupted)
    item = pb.ChatContext.ChatItem(message=message)
    return event(conversation_item_added=pb.AgentSessionEvent.ConversationItemAdded(item=item))


def heard(text, is_final):
    told = pb.AgentSessionEvent.UserInputTranscribed(transcript=text, is_final=is_final)
    return event(user_input_transcribed=told)


def begins(call_id, name, arguments="{}"):
    updated = pb.AgentSessionEvent.ToolExecutionUpdated
    call = pb.FunctionCall(call_id=call_id, name=name, arguments=arguments)
    return event(tool_execution_updated=updated(started=updated.Started(function_call=call)))


def ran(*calls):
    """Calls as (id, name, arguments, output), the output None where there is none."""
    made = [pb.FunctionCall(call_id=c[0], name=c[1], arguments=c[2]) for c in calls]
    outputs = [pb.FunctionCallOutput(call_id=c[0], name=c[1], output=c[3]) for c in calls if c[3] is not None]
    executed = pb.AgentSessionEvent.FunctionToolsExecuted(function_calls=made, function_call_outputs=outputs)
    return event(function_tools_executed=executed)


def used(**models):
    usage = pb.AgentSessionUsage(model_usage=[pb.ModelUsage(**{kind: counts}) for kind, counts in models.items()])
    return event(session_usage_updated=pb.AgentSessionEvent.SessionUsageUpdated(usage=usage))
