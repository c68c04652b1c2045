"""Memlens: opens memory snapshots, and answers what filled the memory, when, and from which line of source."""
