"""The values of Java's objects that stand for numbers, points in time and colours, in the place of a name.

They are made when they are shown: of boxed numbers there may be millions, and a text for each would be as large as the
dump. What an array of bytes or characters begins with is shown likewise where it is text.
"""

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from memlens.store.snapshot import Snapshot
from memlens.units import dimensions
from memlens.views.heap.objects.fields import FieldReader, Value, field_reader, number_array, value_text

_BOXES = ("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double")
_ATOMIC = "java.util.concurrent.atomic."
_COMPACT = -(1 << 63)
"""``BigDecimal.intCompact`` of one that has its digits in ``intVal``."""
_LEAST_TEXT = 4
_MOST_CELLS = 1_000


def words_of(snapshot: Snapshot, number: int) -> str:
    """The value of an object in words, "" where it isn't of a class whose values are known."""
    reader = field_reader(snapshot)
    made = _MAKERS.get(reader.type_name(number))
    if made is None:
        return ""
    try:
        return made(snapshot, reader, number)
    except (KeyError, TypeError, ValueError, OverflowError):
        # another version of the class, or a dump without values
        return ""


def _template(text: str) -> Callable[[Snapshot, FieldReader, int], str]:
    def made(_: Snapshot, reader: FieldReader, number: int) -> str:
        return text.format(**{name: value_text(value) for name, value in reader.values(number).items()})

    return made


def _size(_: Snapshot, reader: FieldReader, number: int) -> str:
    values = reader.values(number)
    return dimensions(_whole(values["width"]), _whole(values["height"]))


def _rectangle(snapshot: Snapshot, reader: FieldReader, number: int) -> str:
    return f"{_template('{x}, {y}')(snapshot, reader, number)}, {_size(snapshot, reader, number)}"


def _boolean(_: Snapshot, reader: FieldReader, number: int) -> str:
    return value_text(bool(reader.values(number)["value"]))


def _whole(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _sum(_: Snapshot, reader: FieldReader, number: int) -> str:
    """A counter that threads share: ``base`` and the cells of an array."""
    total = _whole(reader.values(number)["base"])
    cells = reader.references(number).get("cells")
    if cells is not None:
        for cell in reader.elements(cells)[1][:_MOST_CELLS].tolist():
            total += _whole(reader.values(cell)["value"])
    return str(total)


def _integer(snapshot: Snapshot, reader: FieldReader, number: int) -> int:
    """A ``BigInteger`` of as many digits as the first elements of its array have."""
    sign = _whole(reader.values(number)["signum"])
    row = number_array(snapshot, reader.references(number)["mag"]) if sign else None
    if row is None:
        if sign:
            raise ValueError("its digits aren't in the dump")
        return 0
    size = int(row["length"]) * int(row["element_bytes"])
    head = row["head"].tobytes()
    if size > len(head):
        raise ValueError("too many digits")
    return sign * int.from_bytes(head[:size], "big")


def _big_integer(snapshot: Snapshot, reader: FieldReader, number: int) -> str:
    return str(_integer(snapshot, reader, number))


def _big_decimal(snapshot: Snapshot, reader: FieldReader, number: int) -> str:
    values = reader.values(number)
    digits, scale = _whole(values.get("intCompact", _COMPACT)), _whole(values["scale"])
    if digits == _COMPACT:
        digits = _integer(snapshot, reader, reader.references(number)["intVal"])
    if not 0 < scale <= 100:
        return str(digits) if scale == 0 else f"{digits}E{-scale}"
    text = str(abs(digits)).rjust(scale + 1, "0")
    return f"{'-' if digits < 0 else ''}{text[:-scale]}.{text[-scale:]}"


def _uuid(_: Snapshot, reader: FieldReader, number: int) -> str:
    values = reader.values(number)
    high, low = (_whole(values[name]) % (1 << 64) for name in ("mostSigBits", "leastSigBits"))
    return str(uuid.UUID(int=high << 64 | low))


def _moment(seconds: int, nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds, microseconds=nanoseconds // 1_000)
    return moment.isoformat().replace("+00:00", "Z")


def _date(_: Snapshot, reader: FieldReader, number: int) -> str:
    milliseconds = _whole(reader.values(number)["fastTime"])
    return _moment(milliseconds // 1_000, milliseconds % 1_000 * 1_000_000)


def _instant(_: Snapshot, reader: FieldReader, number: int) -> str:
    values = reader.values(number)
    return _moment(_whole(values["seconds"]), _whole(values["nanos"]))


def _local_date(_: Snapshot, reader: FieldReader, number: int) -> str:
    values = reader.values(number)
    return date(*(_whole(values[name]) for name in ("year", "month", "day"))).isoformat()


def _text(snapshot: Snapshot, _: FieldReader, number: int) -> str:
    """What an array of bytes or characters begins with, if that can be read."""
    row = number_array(snapshot, number)
    if row is None:
        return ""
    width = int(row["element_bytes"])
    size, head = int(row["length"]) * width, row["head"].tobytes()
    try:
        text = head[:size].rstrip(b"\0").decode("utf-16-be" if width == 2 else "ascii")
    except UnicodeDecodeError:
        return ""
    if len(text) < _LEAST_TEXT or not all(each.isprintable() or each in "\r\n\t" for each in text):
        return ""
    return f"{text}…" if size > len(head) else text


_MAKERS: dict[str, Callable[[Snapshot, FieldReader, int], str]] = {
    **{f"java.lang.{name}": _template("{value}") for name in _BOXES},
    **{f"{_ATOMIC}{name}": _template("{value}") for name in ("AtomicInteger", "AtomicLong")},
    f"{_ATOMIC}AtomicBoolean": _boolean,
    f"{_ATOMIC}LongAdder": _sum,
    "java.math.BigInteger": _big_integer,
    "java.math.BigDecimal": _big_decimal,
    "java.util.UUID": _uuid,
    "java.util.Date": _date,
    "java.sql.Timestamp": _date,
    "java.time.Instant": _instant,
    "java.time.LocalDate": _local_date,
    "java.awt.Point": _template("{x}, {y}"),
    "java.awt.Dimension": _size,
    "java.awt.Rectangle": _rectangle,
    "org.eclipse.swt.graphics.Point": _template("{x}, {y}"),
    "org.eclipse.swt.graphics.Rectangle": _rectangle,
    "org.eclipse.swt.graphics.RGB": _template("{red}, {green}, {blue}"),
    "android.graphics.Point": _template("{x}, {y}"),
    "android.graphics.Rect": _template("{left}, {top}, {right}, {bottom}"),
    "org.osgi.framework.Version": _template("{major}.{minor}.{micro}"),
    "byte[]": _text,
    "char[]": _text,
}
