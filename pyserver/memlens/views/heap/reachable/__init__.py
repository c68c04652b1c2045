"""What roots lead to: by which references, how far, and by the shortest paths."""
