"""How many conversations a provider holds at once: limits, places that processes share, and trying again."""
