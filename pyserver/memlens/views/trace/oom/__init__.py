"""Out-of-memory events explained."""
