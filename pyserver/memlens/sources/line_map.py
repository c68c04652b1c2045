"""Where lines moved while their file was edited."""

import sys
from typing import NamedTuple

_END = sys.maxsize


class LineEdit(NamedTuple):
    """From ``line`` on (counted from 1), ``removed`` lines were replaced by ``added`` ones."""

    line: int
    removed: int
    added: int


class _Run(NamedTuple):
    """Lines that stayed together: from ``here`` on in the current text, from ``there`` on in the original."""

    here: int
    there: int
    length: int


class LineMap:
    """Maps original lines to current ones, and back. Immutable; ``LineMap()`` changes nothing."""

    __slots__ = ("_runs",)

    def __init__(self, runs: list[_Run] | None = None) -> None:
        self._runs = [_Run(1, 1, _END)] if runs is None else runs

    def edited(self, edit: LineEdit) -> "LineMap":
        """The map after one more edit, whose lines are current ones."""
        first, after = edit.line, edit.line + edit.removed
        shift = edit.added - edit.removed
        runs: list[_Run] = []
        for here, there, length in self._runs:
            end = _END if length == _END else here + length
            if here < first:
                runs.append(_Run(here, there, min(end, first) - here))
            if end > after:
                skipped = max(after - here, 0)
                rest = _END if length == _END else length - skipped
                runs.append(_Run(max(here, after) + shift, there + skipped, rest))
        joined: list[_Run] = []
        for run in runs:
            before = joined[-1] if joined else None
            if (
                before is not None
                and before.here + before.length == run.here
                and before.there + before.length == run.there
            ):
                length = _END if run.length == _END else before.length + run.length
                joined[-1] = _Run(before.here, before.there, length)
            else:
                joined.append(run)
        return LineMap(joined)

    def here(self, there: int) -> int:
        """The current number of an original line; 0 if it is gone."""
        for run in self._runs:
            if run.there <= there < run.there + run.length:
                return run.here + there - run.there
        return 0

    def there(self, here: int) -> int:
        """The original number of a current line; 0 if it is new."""
        for run in self._runs:
            if run.here <= here < run.here + run.length:
                return run.there + here - run.here
        return 0
