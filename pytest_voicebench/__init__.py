"""A pytest plugin that tests voice agents: disfluent speech in, tool calls out, both voices on one timeline."""
