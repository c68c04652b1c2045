"""Reachability from roots: followed references, distances, shortest paths, dominators."""
