"""Operators, by the native functions that run them."""

import re
from collections.abc import Sequence

_DISPATCHED = re.compile(r"at::_ops::(\w+)::|^aten::(\w+)")
_KERNEL = re.compile(r"at::native::([a-z]\w*)[(<]")


_RECORDER = re.compile(
    r"^torch::(?:unwind::|CapturedTraceback::)|::gather(?:_with_cpp)?\(\)$|^c10::cuda::CUDACachingAllocator::"
)


def is_recorder(function: str) -> bool:
    """Return whether a native function belongs to PyTorch's recorder or allocator, which are in every stack."""
    return _RECORDER.search(function) is not None


def is_entry(function: str) -> bool:
    """Return whether a native function is the entry of an operator, not one of its kernels."""
    return _DISPATCHED.search(function) is not None


def operator_of(functions: Sequence[str]) -> str | None:
    """Return the operator that a stack's native frames (innermost first) ran, as ``aten::mm``; None if unknown.

    ``at::_ops::NAME::call`` is the entry that PyTorch generates for each operator. Operators call others, down to
    ``aten::empty``, which allocates; the outermost is the one that the program called. Without an entry it is the
    outermost kernel.
    """
    for pattern in (_DISPATCHED, _KERNEL):
        for function in reversed(functions):
            match = pattern.search(function)
            if match is not None:
                return f"aten::{next(name for name in match.groups() if name)}"
    return None
