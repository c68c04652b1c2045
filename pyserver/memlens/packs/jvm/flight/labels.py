"""The names of samples' labels, and of lines over time."""

TYPE, THREAD, HELD_BY, ROOT, AGE = "type", "thread", "held by", "root", "age"

AFTER = "heap_after_collections_bytes"
