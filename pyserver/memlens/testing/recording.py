"""Measures a marked test, and fails it where it uses more memory than its mark allows."""

import re
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from memlens.errors import MemlensError
from memlens.packs import registry
from memlens.packs.api import Meter, NoMeterError
from memlens.testing.words import lines_of_file, shown
from memlens.units import shortened
from memlens.views.check.answers import LimitName, bound_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KEPT = "memlens"
_LIMITS: dict[str, LimitName] = {
    "peak": "max-peak",
    "leaked": "max-leaked",
    "growth_per_iteration": "max-leaked",
}
"""Whose lines say what exceeded a limit."""
_RUNS = 5
_MOST_RUNS = 10_000
_LONGEST_NAME = 120


class Limits(Struct, frozen=True):
    """What a mark allows, in bytes; None for what it says nothing about."""

    peak: int | None = None
    leaked: int | None = None
    growth_per_iteration: int | None = None
    runs: int = _RUNS
    by: str = ""


def limits_of(mark: pytest.Mark, test: str) -> Limits:
    """The limits of a mark. Raises pytest's UsageError, which names the test."""

    def wrong(what: str) -> pytest.UsageError:
        return pytest.UsageError(f"{test}: @pytest.mark.memory: {what}")

    known = {*Limits.__struct_fields__}
    if mark.args or not mark.kwargs or not known.issuperset(mark.kwargs):
        raise wrong(f"give limits by their names, {', '.join(Limits.__struct_fields__)}")
    values: dict[str, int] = {}
    for name in ("peak", "leaked", "growth_per_iteration"):
        value = mark.kwargs.get(name)
        if value is None:
            continue
        try:
            bound = bound_of(str(value))
        except MemlensError as error:
            raise wrong(f"{name}: {error.message}") from None
        if bound.relative:
            raise wrong(f"{name}: {value} has no base here")
        values[name] = int(bound.amount)
    if not values:
        raise wrong("give peak, leaked or growth_per_iteration, as '50MiB' or 0")
    runs, by = mark.kwargs.get("runs", _RUNS), mark.kwargs.get("by") or ""
    if not isinstance(runs, int) or not 2 <= runs <= _MOST_RUNS:
        raise wrong(f"runs: a number from 2 to {_MOST_RUNS:,}")
    try:
        registry.meter_named(by)
    except MemlensError as error:
        raise wrong(f"by: {error}") from None
    return Limits(**values, runs=runs, by=by)


class Recording:
    """The marked tests of a run."""

    def __init__(self, config: pytest.Config, marked: "Mapping[str, pytest.Mark]") -> None:
        self._limits = {test: limits_of(mark, test) for test, mark in marked.items()}
        self._by = config.getoption("memlens_by")
        try:
            registry.meter_named(self._by)
        except MemlensError as error:
            raise pytest.UsageError(f"--memlens-by: {error}") from None
        self._folder = config.rootpath / config.getoption("memlens_folder")

    def begin(self, item: pytest.Item) -> "Measurement | None":
        """What measures a test; None if it isn't marked."""
        limits = self._limits.get(item.nodeid)
        if limits is None:
            return None
        name = re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-")
        place = self._folder / shortened(name, _LONGEST_NAME).replace("…", "-")
        return Measurement(item, limits, registry.meter_named(limits.by or self._by), place)


class Measurement:
    """Measures one test while it runs; afterwards :meth:`check` fails it."""

    def __init__(self, item: pytest.Item, limits: Limits, meter: Meter, place: Path) -> None:
        self._item = item
        self._limits = limits
        self._meter = meter
        self._place = place

    def __enter__(self) -> None:
        try:
            self._meter.start(self._limits.peak)
        except NoMeterError as error:
            pytest.skip(f"nothing records its memory: {error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._meter.stop()

    def check(self) -> None:
        """Fail the test if it exceeds a limit. Raises pytest's Failed."""
        limits, meter, exceeded = self._limits, self._meter, list[str]()
        if limits.peak is not None and meter.peak_bytes > limits.peak:
            exceeded.append(self._sentence("peak", meter.peak_bytes, limits.peak, meter.peak_file))
        if limits.leaked is not None and meter.left_bytes > limits.leaked:
            # what the first run of some code keeps, as caches and imports, later ones don't keep again, or replace
            left = self._again(2)[-1]
            if left > limits.leaked:
                # the file is of a single run
                self._again(1)
                exceeded.append(self._sentence("leaked", left, limits.leaked, meter.left_file))
        if limits.growth_per_iteration is not None:
            grown = self._again(limits.runs)
            least = min(grown)
            if least > limits.growth_per_iteration:
                exceeded.append(
                    self._sentence(
                        "growth_per_iteration", least, limits.growth_per_iteration, meter.left_file
                    )
                )
        if exceeded:
            pytest.fail("\n".join(exceeded), pytrace=False)

    def _again(self, times: int) -> list[int]:
        """Run the test again, and return by how much each run grew; the meter has what all of them left."""
        meter = self._meter
        meter.start(None)
        try:
            for _ in range(times):
                self._item.runtest()
                meter.end_run()
        finally:
            meter.stop()
        return [after - before for before, after in pairwise([0, *meter.left_by_run])]

    def _sentence(self, limit: str, found: int, most: int, keep: "Callable[[Path], Path | None]") -> str:
        """What was exceeded, by which lines, and the file that is kept."""
        sentence = f"memory: {limit} is {shown(found)}, {shown(most)} are allowed ({self._meter.title})"
        file = keep(self._place.with_name(f"{self._place.name}.{limit}"))
        if file is None:
            return f"{sentence}\n  {self._meter.without_file}"
        self._item.user_properties.append((KEPT, str(file)))
        return "\n".join(
            (sentence, *(f"  {line}" for line in lines_of_file(file, _LIMITS[limit])), f"  kept: {file}")
        )
