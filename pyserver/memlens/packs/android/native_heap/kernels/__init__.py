"""Cython code that reads native memory's samples."""
