"""JSON Schemas of the files that people write, for editors, and of the files that we write."""
