"""Kernels over graphs of objects and references: dominators, distances, paths and groups."""
