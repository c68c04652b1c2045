"""Recordings of Java Flight Recorder: what was allocated, what was kept and what holds it."""
