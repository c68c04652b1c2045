"""Which series grow, and don't merely end above their start."""

import numpy as np

from memlens.arrays import I64, Mask

_LEAST_RISES = 2
_LEAST_POINTS = 4
_FALLS = 2
"""A series falls by at most this part (a half) of what it rises: of a saw's teeth both are alike."""
_ELSEWHERE = 10
"""At least this part (a tenth) of what it rises isn't its largest step, and of what it grows is in its second half."""


def growing(points: I64) -> Mask:
    """Return which rows grow from point to point.

    A row ends above its start, rises twice or more (once if it has two points), falls by at most half of what it rises,
    and rises elsewhere than at its largest step, in the second half as well. So what comes once and stays, comes and
    goes, is filled and then full, or varies around a level doesn't grow.
    """
    count = points.shape[1]
    if count < 2:
        return np.zeros(len(points), np.bool_)
    changes = np.diff(points, axis=1)
    rises = np.maximum(changes, 0)
    risen, net = rises.sum(axis=1), points[:, -1] - points[:, 0]
    found = (net > 0) & ((rises > 0).sum(axis=1) >= min(_LEAST_RISES, count - 1))
    found &= _FALLS * (risen - net) <= risen
    if count > _LEAST_RISES:
        found &= _ELSEWHERE * (risen - rises.max(axis=1)) >= risen
    if count >= _LEAST_POINTS:
        found &= _ELSEWHERE * (points[:, -1] - points[:, (count - 1) // 2]) >= net
    return np.asarray(found, np.bool_)
