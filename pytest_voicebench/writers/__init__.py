"""Writers: a summary as terminal tables, JSON and JUnit."""
