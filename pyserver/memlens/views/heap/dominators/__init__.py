"""The trees of dominators and of shortest paths, in groups."""
