"""Figures as people read them."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def format_bytes(count: int) -> str:
    """A size with three or four digits, ``1.25 GiB``; whole bytes below a kibibyte."""
    value = float(count)
    for unit in _UNITS:
        if abs(value) < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    if unit == "B":
        return f"{count} B"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f} {unit}"


def format_time(microseconds: float) -> str:
    """A span of time, ``1.25 s``."""
    for limit, scale, unit in ((1e3, 1.0, "µs"), (1e6, 1e3, "ms"), (float("inf"), 1e6, "s")):
        if abs(microseconds) < limit:
            break
    return f"{microseconds / scale:.3g} {unit}" if abs(microseconds / scale) < 1000 else f"{microseconds / scale:,.0f} {unit}"
