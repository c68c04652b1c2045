"""Profiles over time."""
