"""One page about a run that opens from disk: what was decided, what was measured, and every item to see and hear."""
