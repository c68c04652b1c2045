"""Prefix trees of stacks: built, merged, summed, laid out."""
