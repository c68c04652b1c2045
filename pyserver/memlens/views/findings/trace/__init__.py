"""Rules for traces of allocations, one per file, each with its threshold."""
