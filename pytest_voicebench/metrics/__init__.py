"""Metrics: pure functions of a scenario and a conversation."""
