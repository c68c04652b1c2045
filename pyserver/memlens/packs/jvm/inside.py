"""Implements ``Contents`` of ``packs/api``."""

from memlens.packs.jvm.array_contents import numbers_in, whole_contents
from memlens.packs.jvm.collection_sizes import all_collections, all_reference_arrays, usage_of_arrays
from memlens.packs.jvm.contents import contents_of, count_of
from memlens.packs.jvm.values import words_of

__all__ = [
    "all_collections",
    "all_reference_arrays",
    "contents_of",
    "count_of",
    "numbers_in",
    "usage_of_arrays",
    "whole_contents",
    "words_of",
]
