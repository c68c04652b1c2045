"""What is worth a look in a profile: a rule a file, each with its threshold."""
