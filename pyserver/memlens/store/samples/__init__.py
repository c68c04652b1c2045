"""The parts of archives that only profiles have."""
