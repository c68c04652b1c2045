"""What is wrong with a file of JSON: it is invalid, or valid but not as its format has it.

``json.loads`` decides what is valid, as its users do: it also takes NaN, Infinity and unpaired surrogates.
"""

import json
import mmap
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import ValidationError

from memlens.formats.errors import DamagedSnapshotError
from memlens.texts import Text, phrase
from memlens.units import shortened

Data = mmap.mmap | bytes
T = TypeVar("T")

_MOST_LOADED_BYTES = 1 << 28
"""Larger files are only checked by msgspec, which doesn't build objects and refuses NaN."""

_REASON = re.compile(r"(?P<reason>.*) \(byte (?P<offset>\d+)\)", re.DOTALL)
_PATH = re.compile(r"`\$.*?(\w+)(?:\[\.\.\.\])*`$")
_VALUE = re.compile(rb'"(?:[^"\\]|\\.){0,100}"?|[-+.\w]+|.', re.DOTALL)
_MOST_SHOWN = 40


class Invalid(NamedTuple):
    """Why a text isn't JSON, and where, if that is known."""

    reason: str
    offset: int | None


def invalid(data: Data) -> Invalid | None:
    """Return why the text is not JSON; None if it is."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if len(data) <= _MOST_LOADED_BYTES and _is_loaded(data):
            return None
        found = _REASON.fullmatch(str(error))
        return Invalid(found["reason"], int(found["offset"])) if found else Invalid(str(error), None)
    return None


def _is_loaded(data: Data) -> bool:
    try:
        json.loads(bytes(data))
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def fault(data: Data, offset: int, kind: Text) -> DamagedSnapshotError:
    """Return the error for text at ``offset`` that doesn't belong in ``kind``, a format's file with its article."""
    wrong = invalid(data)
    if wrong is not None:
        return DamagedSnapshotError(
            phrase("The file is not valid JSON: {reason}", reason=wrong.reason),
            offset=offset if wrong.offset is None else wrong.offset,
        )
    return _misplaced(data, offset, kind)


def converted(data: Data, type_: type[T]) -> T:
    """Decode a JSON value, including what only ``json.loads`` accepts.

    Raises what msgspec does, and UnicodeDecodeError.
    """
    try:
        return msgspec.json.decode(data, type=type_)
    except ValidationError:
        raise
    except msgspec.DecodeError as error:
        if len(data) > _MOST_LOADED_BYTES:
            raise
        try:
            value = json.loads(bytes(data))
        except (ValueError, RecursionError):
            raise error from None
        # unpaired surrogates can't be written as UTF-8
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.convert(json.loads(text), type_)


def decoded(data: Data, type_: type[T], kind: Text) -> T:
    """Decode a whole file. Raises :class:`DamagedSnapshotError`, with the offset of what isn't of the type."""
    try:
        return converted(data, type_)
    except ValidationError as error:
        raise DamagedSnapshotError(
            phrase("The file is not {kind}: {reason}", kind=kind, reason=str(error)),
            offset=_offset_of(data, error, type_),
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise fault(data, 0, kind) from error
    except RecursionError as error:
        raise DamagedSnapshotError(
            phrase("The file is not {kind}: {reason}", kind=kind, reason=str(error))
        ) from error


def _misplaced(data: Data, offset: int, kind: Text) -> DamagedSnapshotError:
    found = _VALUE.match(data, offset)
    if found is None:
        return DamagedSnapshotError(
            phrase("The file is JSON, but ends where {kind} has more", kind=kind), offset=offset
        )
    value = shortened(found[0].decode("utf-8", "replace"), _MOST_SHOWN)
    return DamagedSnapshotError(
        phrase("The file is JSON, but {value} is not what {kind} has here", value=value, kind=kind),
        offset=offset,
    )


def _offset_of(data: Data, error: ValidationError, type_: Any) -> int | None:
    """Return where the first value is that isn't of its field's type; None if it isn't found.

    msgspec names the field, but not which of all items of a list.
    """
    path = _PATH.search(str(error))
    if path is None or len(data) > _MOST_LOADED_BYTES:
        return None
    types = [kind for name, kind in _fields_of(type_, set()) if name == path[1]]
    text = bytes(data).decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder()
    for key in re.finditer(rf'"{path[1]}"\s*:\s*', text):
        try:
            value, _ = decoder.raw_decode(text, key.end())
            for each in types:
                msgspec.convert(value, each)
        except ValidationError:
            return len(text[: key.end()].encode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            continue  # within a text
    return None


def _fields_of(type_: Any, seen: set[Any]) -> Iterator[tuple[str, Any]]:
    """All fields of a struct and of those below it, with their types."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        if type_ not in seen:
            seen.add(type_)
            for field in msgspec.structs.fields(type_):
                yield field.encode_name, field.type
                yield from _fields_of(field.type, seen)
        return
    for each in get_args(type_):
        yield from _fields_of(each, seen)
