"""Sampling rates and the length of a block: known without numpy, which a collection has no use for."""

RATE_HZ = 24_000
"""The rate of every conversation's timeline. One *tick* is one sample at this rate."""

BLOCK_S = 0.02
"""Length of the blocks in which the user's voice is sent."""

BLOCK_TICKS = 480

MIN_RECORDED_HZ, MAX_RECORDED_HZ = 8_000, 96_000
"""The rates that a recording, and the timing file beside it, may have."""
