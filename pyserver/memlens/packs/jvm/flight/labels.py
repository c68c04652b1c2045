"""The names of samples' labels."""

TYPE, THREAD, HELD_BY, ROOT, AGE = "type", "thread", "held by", "root", "age"
