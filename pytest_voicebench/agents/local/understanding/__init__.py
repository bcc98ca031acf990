"""From the text of a turn to tool calls, by rules of general English and the tools' own declarations."""
