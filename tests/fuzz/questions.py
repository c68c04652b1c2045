"""Every question that a view can ask, with parameters made from their types: what is added later is asked as well."""

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import inspect as types

from memlens.errors import MemlensError
from memlens.model.info import ProfileInfo, SnapshotInfo
from memlens.server.handlers.views import QUESTIONS
from memlens.store.manifest import ArchiveError
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot

# what a parameter of that name most likely means; anything else is made from its type alone
_FILTERS = ("", "", "size>1KiB", "label:a", "file:a -function:b", "life<5ms stream:0")


def ask_everything(
    snapshot: Snapshot, chance: random.Random, rounds: int = 1, *, damaged: bool = False
) -> int:
    """Ask each question of :data:`QUESTIONS`; how many were answered.

    Whatever isn't a sentence about the question goes on to the caller: a bug always, and an archive that is said to be
    damaged unless it was, with ``damaged``.
    """
    answered = 0
    for _ in range(rounds):
        for question in QUESTIONS.values():
            params = make(question.params, snapshot.info, chance)
            if params is None:
                continue
            try:
                answer = snapshot.ask(functools.partial(_asked, question.ask, params))
            except ArchiveError:
                if not damaged:
                    raise
                continue
            except MemlensError:
                continue
            msgspec.json.encode(answer)
            answered += 1
    return answered


def _asked(ask: Callable[[Snapshot, Any], Any], params: msgspec.Struct, snapshot: Snapshot) -> Any:
    return ask(snapshot, params)


_TEXTS = ("", "a", "train.py", "\0", "é")


def make(
    params_type: type[msgspec.Struct],
    info: SnapshotInfo,
    chance: random.Random,
    texts: Sequence[str] = _TEXTS,
) -> msgspec.Struct | None:
    """Parameters that the contract lets pass, with some of ``texts``; None when what was made does not."""
    try:
        return msgspec.convert(_value(types.type_info(params_type), "", info, chance, texts), params_type)
    except msgspec.ValidationError:
        return None


def _value(
    kind: types.Type, name: str, info: SnapshotInfo, chance: random.Random, texts: Sequence[str]
) -> Any:
    match kind:
        case types.StructType():
            tag = {kind.tag_field: kind.tag} if kind.tag_field else {}
            return tag | {
                field.encode_name: _value(field.type, field.encode_name, info, chance, texts)
                for field in kind.fields
                if field.required or chance.random() < 0.7
            }
        case types.UnionType():
            return _value(chance.choice(kind.types), name, info, chance, texts)
        case types.ListType() | types.VarTupleType():
            count = chance.randrange(kind.min_length or 0, 4)
            return [_value(kind.item_type, name, info, chance, texts) for _ in range(count)]
        case types.DictType():
            return {}
        case types.LiteralType():
            return chance.choice(kind.values)
        case types.NoneType():
            return None
        case types.BoolType():
            return chance.random() < 0.5
        case types.IntType():
            # what the contract doesn't let pass asks nothing
            least = -(2**53) if kind.ge is None else kind.ge
            return min(max(_integer(name, info, chance), least), 2**53 if kind.le is None else kind.le)
        case types.FloatType():
            return chance.choice([0.0, -1.0, 0.25, 1.0, 1e3, 1e9, 1e300, float(_integer(name, info, chance))])
        case types.StrType():
            if name == "filter":
                return chance.choice(_FILTERS if texts is _TEXTS else (*_FILTERS, *texts))
            return chance.choice(texts)
    raise TypeError(f"no value can be made of {kind} for {name}")


def _integer(name: str, info: SnapshotInfo, chance: random.Random) -> int:
    devices = devices_of(info)
    found = chance.choice(devices) if devices else None
    if name in ("device", "other_device") and found is not None and chance.random() < 0.9:
        return found.device
    if name in ("columns", "rows", "width_px"):
        return chance.choice([1, 7, 300, 2000])
    if isinstance(info, ProfileInfo) and name in ("from_moment", "to_moment", "from_edge", "to_edge"):
        return chance.choice([0, 1, info.bins, chance.randrange(info.bins + 1), info.bins + 1])
    if isinstance(info, ProfileInfo) and name == "value":
        return chance.randrange(-1, len(info.values) + 1)
    events = found.events if found is not None else 0
    allocations = sum(device.allocations for device in devices)
    likely = [
        0,
        1,
        events,
        allocations - 1,
        chance.randrange(events + 1),
        chance.randrange(allocations + 1),
        200,
    ]
    return chance.choice([*likely, *likely, -1, 2**31, 2**53])
