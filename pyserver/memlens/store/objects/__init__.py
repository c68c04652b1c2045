"""The parts of archives that only heap dumps have."""
