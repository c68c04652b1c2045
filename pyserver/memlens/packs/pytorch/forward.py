"""Infer which forward line a backward operator belongs to, for files that don't record it.

The autograd engine runs backward on a separate thread, so its allocations have only C++ frames. These name the node
that ran (``torch::autograd::generated::BmmBackward0::apply``), and the forward stacks name the operator that made such
a node (``torch::autograd::VariableType::(anonymous namespace)::bmm`` above the user's line). The engine runs nodes in
the reverse order of their creation (``Engine::evaluate_function`` takes the highest sequence number first). Hence:

* A *pass* is a series of forward allocations and the series of backward ones after it. Forward operators under
  ``torch.no_grad`` decorators and in optimizers make no nodes and don't count; what activation checkpointing recomputes
  within backward is another forward.
* Only operators that occur in both series count; consecutive allocations of one operator are a *run*, since a call may
  allocate several times.
* The k-th run of an operator in backward belongs to its k-th last run in forward.
* Pairs whose order contradicts that of the others (those not in the longest decreasing sequence) are dropped. If they
  are half of a pass or more, the rules don't apply to it, and nothing is inferred.
* Within a pair, backward allocations are assigned to lines in reverse. That is trivial if the run is on one line; else
  the number of backward allocations must be a multiple of the forward ones, or nothing is inferred.

The result may be wrong, and is marked as inferred wherever it is shown.
"""

import re
from collections.abc import Iterable

import numpy as np

from memlens.arrays import I32, I64, U8, U32
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import NATIVE, RECORDED, Frames
from memlens.model.timeline import NEVER

_NODE = re.compile(r"^torch::autograd::generated::(\w+?)Backward\d*::apply(?:_with_saved)?\(")
_OPERATOR = re.compile(r"^torch::autograd::VariableType::\(anonymous namespace\)::(\w+)\(")
_NO_GRADIENT = ("torch/optim/", "torch/utils/_contextlib.py", "torch/autograd/grad_mode.py")
_AGAIN = "torch/utils/checkpoint.py"
# lower-case beginnings of overload names, which C++ appends to the operator's
_OVERLOADS = frozenset(
    (
        "dim",
        "self",
        "other",
        "names",
        "out",
        "correction",
        "int",
        "start",
        "input",
        "dtype",
        "forward",
        "unbiased",
    )
)
_NO_OPERATOR = -1
FORWARD_STACK, BACKWARD_STACK = 1, 2


def operators_of(frames: Frames) -> tuple[U8, I32]:
    """Return the role of each stack (forward operator, backward node, or 0 for neither) and its operator."""
    functions = [frame.function if frame.kind == NATIVE else "" for frame in frames.frames]
    nodes = [match[1].lower() if (match := _NODE.match(function)) else "" for function in functions]
    count = len(frames.starts) - 1
    roles, operators = np.zeros(count, np.uint8), np.full(count, _NO_OPERATOR, np.int32)
    names = {name: number for number, name in enumerate(sorted({name for name in nodes if name}))}
    if not names:
        return roles, operators
    of_node = np.array([names.get(name, _NO_OPERATOR) for name in nodes], np.int32)
    of_forward = np.array(
        [
            names.get(_base(match[1], names), -1) if (match := _OPERATOR.match(function)) else -1
            for function in functions
        ],
        np.int32,
    )
    paths = [frame.file.replace("\\", "/") for frame in frames.frames]
    python = frames.kinds != NATIVE
    quiet = frames.stacks_with(np.array([any(part in path for part in _NO_GRADIENT) for path in paths], bool))
    again = frames.stacks_with(np.array([path.endswith(_AGAIN) for path in paths], bool))
    engine = frames.stacks_with(
        np.array(["torch::autograd::Engine::" in function for function in functions], bool)
    )
    recorded = frames.stacks_with(python & (frames.sources == RECORDED))
    known = frames.stacks_with(frames.sources != RECORDED)
    node_of_stack = _outermost(frames, of_node)
    forward_of_stack = _outermost(frames, of_forward)
    forward = (forward_of_stack >= 0) & recorded & ~quiet & (~engine | again)
    backward = (node_of_stack >= 0) & ~recorded & ~known
    roles[forward] = FORWARD_STACK
    roles[backward] = BACKWARD_STACK
    operators[forward] = forward_of_stack[forward]
    operators[backward] = node_of_stack[backward]
    return roles, operators


def _base(operator: str, nodes: Iterable[str]) -> str:
    """Return which of ``nodes`` an operator such as ``sum_dim_IntList`` makes: ``sum``; empty for none."""
    parts = [part for part in operator.split("_") if part]
    for end in range(len(parts), 0, -1):
        rest = parts[end:]
        name = "".join(parts[:end]).lower()
        if name in nodes and (not rest or rest[0][0].isupper() or rest[0] in _OVERLOADS):
            return name
    return ""


def _outermost(frames: Frames, numbers: I32) -> I32:
    """Return the number of the outermost numbered frame of each stack, -1 for none."""
    outermost = np.full(len(frames.starts) - 1, _NO_OPERATOR, np.int32)
    here = np.flatnonzero(numbers[frames.sequence] >= 0)
    # frames are innermost first, and the last value written remains
    outermost[frames.stack_of_places()[here]] = numbers[frames.sequence[here]]
    return outermost


def infer_forward(
    stacks: U32,
    roles: U8,
    operators: I32,
    labels: U32,
) -> U32:
    """Return the frame of the inferred forward line of each allocation, NEVER for none.

    ``stacks`` are those of a device's allocations in the order of the trace, ``labels`` the frame that each stack is
    labelled with, ``roles`` and ``operators`` the results of :func:`operators_of`.
    """
    inferred = np.full(len(stacks), NEVER, np.uint32)
    rows = np.flatnonzero(roles[stacks])
    role = roles[stacks[rows]]
    # a pass begins where forward follows backward
    begins = np.flatnonzero((role[1:] == FORWARD_STACK) & (role[:-1] == BACKWARD_STACK)) + 1
    for part in np.split(np.arange(len(rows)), begins):
        forward = rows[part[role[part] == FORWARD_STACK]]
        backward = rows[part[role[part] == BACKWARD_STACK]]
        if len(forward) and len(backward):
            lines = labels[stacks[forward]]
            _pair(operators[stacks[forward]], lines, operators[stacks[backward]], backward, inferred)
    return inferred


def _pair(
    forward: I32,
    lines: U32,
    backward: I32,
    rows: I64,
    inferred: U32,
) -> None:
    """Pair the operators of one pass, and write the lines of the unambiguous ones into ``inferred``."""
    kept = np.isin(forward, backward)
    forward, lines = forward[kept], lines[kept]
    kept = np.isin(backward, forward)
    backward, rows = backward[kept], rows[kept]
    if not len(backward):
        return
    forward_starts, backward_starts = _runs(forward), _runs(backward)
    forward_ends, backward_ends = (
        np.append(forward_starts[1:], len(forward)),
        np.append(backward_starts[1:], len(backward)),
    )
    of_forward = _ranked(forward[forward_starts][::-1])
    of_backward = _ranked(backward[backward_starts])
    _, of_run, with_run = np.intersect1d(of_backward, of_forward, assume_unique=True, return_indices=True)
    order = np.argsort(of_run)
    of_run, with_run = of_run[order], len(forward_starts) - 1 - with_run[order]
    keep = np.empty(len(of_run), np.uint8)
    kernel.longest_falling(with_run.astype(np.int64), keep)
    if 2 * int(keep.sum()) <= len(keep):
        return
    of_run, with_run = of_run[keep != 0], with_run[keep != 0]
    first, calls = forward_starts[with_run], forward_ends[with_run] - forward_starts[with_run]
    made = backward_ends[of_run] - backward_starts[of_run]
    one_line = (
        np.maximum.reduceat(lines, forward_starts)[with_run]
        == np.minimum.reduceat(lines, forward_starts)[with_run]
    )
    even = made % calls == 0
    share = np.where(even, made // calls, 1)
    within = np.arange(int(made.sum())) - np.repeat(np.cumsum(made) - made, made)
    place = np.repeat(first, made) + np.where(
        np.repeat(one_line, made),
        0,
        np.repeat(calls, made) - 1 - within // np.repeat(np.maximum(share, 1), made),
    )
    sure = np.repeat(one_line | even, made)
    target = rows[np.repeat(backward_starts[of_run], made) + within]
    inferred[target[sure]] = lines[place[sure]]


def _runs(operators: I32) -> I64:
    """Return where each run of one operator starts."""
    return np.flatnonzero(np.append(True, operators[1:] != operators[:-1]))


def _ranked(operators: I32) -> I64:
    """Combine each operator with the number of equal ones before it."""
    order = np.argsort(operators, kind="stable")
    starts = _runs(operators[order])
    rank = np.empty(len(operators), np.int64)
    counts = np.diff(np.append(starts, len(operators)))
    rank[order] = np.arange(len(operators)) - np.repeat(starts, counts)
    return operators.astype(np.int64) << 32 | rank
