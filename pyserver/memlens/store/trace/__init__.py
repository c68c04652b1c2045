"""The parts of archives that only traces have."""
