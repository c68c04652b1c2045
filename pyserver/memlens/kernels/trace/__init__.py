"""Sweeps over events, allocations and segments."""
