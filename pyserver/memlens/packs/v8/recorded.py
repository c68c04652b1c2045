"""What Memlens adds to the recordings it takes, for its own reader."""

ALLOCATED_FIELD = "memlens_allocated_bytes"
"""A field of the header: what the program allocated during the recording."""
