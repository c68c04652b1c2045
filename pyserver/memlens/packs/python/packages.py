"""Packages of types in dumps by Memlens."""

import sys


def is_of_language(package: str) -> bool:
    """Whether a package is one of the language's own, or of none, as are built-in types."""
    return not package or package.partition(".")[0] in sys.stdlib_module_names
