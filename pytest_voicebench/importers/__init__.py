"""What others made, read into our forms: the official FDB-v3 release, and results of its scripts."""
