"""The suite's tools over HTTP and MCP, for agents that run their own tools: one address of its own a conversation."""

from pytest_voicebench.agents.tool_host.address import LOOPBACK as LOOPBACK
from pytest_voicebench.agents.tool_host.address import address_flaw as address_flaw
from pytest_voicebench.agents.tool_host.host import ToolHost as ToolHost
from pytest_voicebench.agents.tool_host.host import tool_host as tool_host
from pytest_voicebench.agents.tool_host.joined import Timed as Timed
from pytest_voicebench.agents.tool_host.joined import with_calls as with_calls
from pytest_voicebench.agents.tool_host.joined import with_timed_calls as with_timed_calls
