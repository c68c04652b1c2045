"""Heap snapshots and recordings of running programs, by V8's inspector."""
