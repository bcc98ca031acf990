"""Our runs in the forms of others: the official FDB-v3 layout."""
