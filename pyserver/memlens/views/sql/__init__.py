"""Questions in SQL."""
