"""How a profile came about over time."""
