"""Voice agents: the protocol they follow, the shipped ones, and how a name becomes one."""
