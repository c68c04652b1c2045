"""Objects, types and references in words, and what is known of each: what all other questions of a heap dump need."""
