"""The filter over a heap dump."""
