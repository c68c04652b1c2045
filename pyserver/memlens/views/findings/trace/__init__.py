"""What is worth a look in a trace of allocations: a rule a file, each with its threshold."""
