"""Proof that a suite can fail: mutants of the oracle, one change each, and whether the scores see them."""
