"""The positions and labels of the ticks of axes."""

import math
from collections.abc import Iterator

from memlens.units import format_bytes, format_time, format_value

_STEPS = (1, 2, 5, 10)


def byte_ticks(top: float, most: int) -> Iterator[tuple[float, str]]:
    """Roughly ``most`` ticks or fewer from 0 to ``top``, at multiples of a power of two."""
    if top <= 0:
        return
    step = 2.0 ** max(math.ceil(math.log2(top / most)), 0)
    for number in range(int(top / step) + 1):
        yield number * step, format_bytes(int(number * step))


def even_ticks(low: float, high: float, most: int, unit: str) -> Iterator[tuple[float, str]]:
    """At most ``most`` ticks at round numbers of a unit: ``microseconds``, ``events``, or a unit of a profile."""
    rough = (high - low) / most
    if not rough > 0:
        return
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in _STEPS if each * power >= rough * 0.999)
    if unit != "microseconds":
        step = max(step, 1.0)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        at = number * step
        match unit:
            case "microseconds":
                yield at, format_time(at) if at else "0 s"
            case "events":
                yield at, f"{at:,.0f}"
            case _:
                yield at, format_value(int(at), unit)
