"""Turns around services that only answer: our own turn detection, a chat model with tools, sentences made sound."""
