"""Objects, types and references as rows, and facts about them that all other questions use."""
