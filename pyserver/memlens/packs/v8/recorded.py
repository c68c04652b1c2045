"""What Memlens adds to recordings that it takes, so that its reader finds it there."""

ALLOCATED_FIELD = "memlens_allocated_bytes"
"""A field of the header: what the program allocated while it was recorded."""
