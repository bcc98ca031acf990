"""Recordings from text with a disfluency markup: what is said, by which voice, and when each word is heard."""
