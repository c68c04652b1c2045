"""Rules for profiles, one per file, each with its threshold."""
