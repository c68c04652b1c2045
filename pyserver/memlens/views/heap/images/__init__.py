"""Objects that are images."""
