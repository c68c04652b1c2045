"""The headline of a snapshot, and its ranked findings."""
