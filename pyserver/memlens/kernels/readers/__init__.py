"""Bytes of files to columns."""
