"""Caches of results in memory, which share a budget in bytes."""

import gc
import itertools
import mmap
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, wraps
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakSet, finalize

import numpy as np
import numpy.typing as npt

from memlens import limits

T = TypeVar("T")
P = ParamSpec("P")

_LOOKED_AT = 64
"""How many items of a longer list or dict are measured; the others are assumed to be like them."""
_LARGE_BYTES = 4096
_MOST_UNMEASURED = 8
_AGAIN_S = 1.0
"""How long a measured result isn't measured again, although it was used and may have grown."""
_LONGEST_TEXT, _LONGEST_OF_FEW, _LONG_TEXTS = 512, 16_384, 256
_MISSING: Any = object()


class Uncounted:
    """A base class of objects that outlive the caches that refer to them, and don't count there."""


class Size(NamedTuple):
    """The approximate bytes that a value takes. ``large`` parts count once, however many values refer to them."""

    small: int
    large: dict[int, int]
    """Bytes of arrays, of long lists and dicts, and of other results, by ``id``."""

    @property
    def bytes(self) -> int:
        """The sum of all parts."""
        return self.small + sum(self.large.values())


class _Entry(NamedTuple):
    value: Any
    size: Size


class _Count:
    """The bytes of several results together."""

    def __init__(self) -> None:
        self.bytes = 0
        self._users: dict[int, int] = {}
        self._large: dict[int, int] = {}

    def add(self, size: Size) -> None:
        """Add a result's size."""
        self.bytes += size.small
        for each, large_bytes in size.large.items():
            self._users[each] = self._users.get(each, 0) + 1
            known_bytes = self._large.get(each, 0)
            # a part that several results share may have grown since it was last measured
            if large_bytes >= known_bytes:
                self._large[each] = large_bytes
                self.bytes += large_bytes - known_bytes

    def remove(self, size: Size) -> None:
        """Subtract a result's size."""
        self.bytes -= size.small
        for each in size.large:
            self._users[each] -= 1
            if not self._users[each]:
                del self._users[each]
                self.bytes -= self._large.pop(each)


class Budget:
    """The bytes that several caches may take together.

    If they take more, results are evicted from the least recently used cache, the least recently used result first. The
    latest result is kept, however large it is, since it is probably being shown.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.lock = threading.RLock()
        self._members: WeakSet[ResultCache] = WeakSet()
        self._count = _Count()
        self._left = deque[Mapping[Hashable, _Entry]]()
        """The results of caches that no longer exist."""
        self._uses = itertools.count()

    @property
    def size_bytes(self) -> int:
        """The bytes of all results, as last measured."""
        with self.lock:
            self._count_gone()
            return self._count.bytes

    def join(self, member: "ResultCache") -> None:
        """Add a cache."""
        with self.lock:
            self._members.add(member)
        # this only appends, since a finalizer may run at any point of the program
        finalize(member, self._left.append, member.results).atexit = False

    def next_use(self) -> int:
        """Return the number of a use, which is higher than all before."""
        return next(self._uses)

    def make_room(self) -> None:
        """Evict results until the rest is within the budget, or only the latest is left."""
        with self.lock:
            members = sorted(self._members, key=lambda member: member.used)
            self._count_gone()
            left = sum(map(len, members))
            for member in members:
                while len(member) and left > 1 and self._count.bytes > self.most_bytes:
                    member.pop_oldest()
                    left -= 1

    def replace(self, old: Size | None, new: Size | None) -> None:
        """Count a result with another size; None for no result before or after. The caller holds the lock."""
        if new is not None:
            self._count.add(new)
        if old is not None:
            self._count.remove(old)

    def _count_gone(self) -> None:
        """Subtract the results of caches that no longer exist."""
        while self._left:
            for entry in self._left.popleft().values():
                self._count.remove(entry.size)


SHARED = Budget(limits.cache_bytes())
"""The budget of this process."""


class ResultCache:
    """A cache of results by key, within a shared budget. For one thread at a time; other caches may evict its results.

    A new result is measured at once or, so that an answer needn't wait for it, when the function that is passed to
    ``defer`` is called. Results that were used since are measured as well, but at most once a second.
    """

    def __init__(
        self, budget: Budget | None = None, defer: Callable[[Callable[[], None]], None] | None = None
    ) -> None:
        self._budget = SHARED if budget is None else budget
        self._defer = defer
        self.results: OrderedDict[Hashable, _Entry] = OrderedDict()
        """The least recently used one is the first. Changes need the budget's lock."""
        self._new: dict[Hashable, None] = {}
        """Keys of results that aren't measured yet, in the order of insertion: a result's parts precede it."""
        self._touched: dict[Hashable, None] = {}
        """Keys of results that were used since they were measured, and may have grown."""
        self._measured_again_s = time.monotonic()
        self.used = 0
        """The number of the cache's latest use."""
        self._budget.join(self)

    def __len__(self) -> int:
        return len(self.results)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``key``; if there is none, what ``make`` returns, which is added."""
        value = self.find(key, _MISSING)
        if value is _MISSING:
            value = make()
            self.put(key, value)
        result: T = value
        return result

    def find(self, key: Hashable, default: Any = None) -> Any:
        """Return the result of ``key``, or ``default``."""
        with self._budget.lock:
            entry = self.results.get(key)
            self.used = self._budget.next_use()
            if entry is None:
                return default
            self.results.move_to_end(key)
            self._touched[key] = None
            return entry.value

    def put(self, key: Hashable, value: object) -> None:
        """Add or replace the result of ``key``."""
        with self._budget.lock:
            self.used = self._budget.next_use()
            self._set(key, _Entry(value, Size(0, {})))
            self.results.move_to_end(key)
            self._new.pop(key, None)
            self._new[key] = None
            unmeasured = len(self._new)
        if self._defer is None or unmeasured > _MOST_UNMEASURED:
            self._measure_due()
        elif unmeasured == 1:
            self._defer(self._measure_due)

    def measure(self) -> None:
        """Measure new and used results, and evict some if they take too much."""
        self._measure(again=True)

    def _measure_due(self) -> None:
        self._measure(again=time.monotonic() - self._measured_again_s >= _AGAIN_S)

    def _measure(self, *, again: bool) -> None:
        with self._budget.lock:
            due = {**self._touched, **self._new} if again else self._new
            values = {key: self.results[key].value for key in due if key in self.results}
            known = {id(entry.value): entry for key, entry in self.results.items() if key not in due}
            self._new = {}
            if again:
                self._touched = {}
                self._measured_again_s = time.monotonic()
        # without the lock, since it takes a while
        measured: dict[Hashable, _Entry] = {}
        for key, value in values.items():
            size = size_of(value, known)
            # as a large part, so that it counts once if other results refer to it
            own_bytes = size.small + size.large.get(id(value), 0)
            measured[key] = known[id(value)] = _Entry(value, Size(0, {**size.large, id(value): own_bytes}))
        with self._budget.lock:
            for key, entry in measured.items():
                if key in self.results and self.results[key].value is entry.value:
                    self._set(key, entry)
            self._budget.make_room()

    def drop(self, fits: Callable[[Any], bool]) -> None:
        """Drop the results for whose keys ``fits`` returns True."""
        with self._budget.lock:
            for key in [key for key in self.results if fits(key)]:
                self._drop(key)

    def pop_oldest(self) -> None:
        """Drop the least recently used result. The caller holds the budget's lock."""
        self._drop(next(iter(self.results)))

    def clear(self) -> None:
        """Drop all results."""
        with self._budget.lock:
            for key in list(self.results):
                self._drop(key)
            self._touched.clear()
            self._new.clear()

    def _set(self, key: Hashable, entry: _Entry) -> None:
        old = self.results.get(key)
        self.results[key] = entry
        self._budget.replace(None if old is None else old.size, entry.size)

    def _drop(self, key: Hashable) -> None:
        self._budget.replace(self.results.pop(key).size, None)


def size_of(value: object, known: Mapping[int, _Entry] = MappingProxyType({})) -> Size:
    """Estimate the memory of a value and of all that it refers to; ``known`` has results by id that may be among these.

    An array counts with the whole array of which it is a slice; a mapped one counts as 0, since the system can drop its
    pages at any time. Of long lists and dicts some items are measured. Classes, modules and objects that are
    :class:`Uncounted` don't count.
    """
    small, large = 0.0, dict[int, int]()
    seen: set[int] = set()
    waiting: list[tuple[object, float, int]] = [(value, 1.0, 0)]
    while waiting:
        # parts of a long list or dict count there, unless they are large themselves
        each, weight, within = waiting.pop()
        number = id(each)
        if number in seen:
            continue
        if number in known and each is not value:
            seen.add(number)
            large |= known[number].size.large
            continue
        kind = type(each)
        if kind not in _PLAIN and isinstance(each, _UNCOUNTED):
            continue
        seen.add(number)
        own_bytes = sys.getsizeof(each)
        if kind in _PLAIN:
            # most values are of these types, and refer to nothing
            pass
        elif isinstance(each, np.ndarray):
            holder = _holder(each)
            if holder is not None and id(holder) not in large and (holder is each or id(holder) not in seen):
                seen.add(id(holder))
                own_bytes += 0 if holder is each and each.base is None else holder.nbytes
                if own_bytes >= _LARGE_BYTES:
                    large[id(holder)], own_bytes = own_bytes, 0
        else:
            items, long = _items(each)
            if long:
                # the other items are assumed to be like the measured ones
                weight *= long / max(len(items), 1)
                large[id(each)], own_bytes, within = own_bytes, 0, id(each)
            waiting += [(item, weight, within) for item in items]
        if within:
            large[within] += round(weight * own_bytes)
        else:
            small += weight * own_bytes
    return Size(round(small), large)


_PLAIN = frozenset((str, bytes, int, float))
_UNCOUNTED = (type, ModuleType, BuiltinFunctionType, CodeType, Uncounted, type(None), bool)


def _items(value: object) -> tuple[Sequence[Any], int]:
    """Return what a value refers to, and 0; or some of it, and the number of all.

    Other threads may change the value meanwhile.
    """
    if type(value) is tuple and len(value) <= _LOOKED_AT:
        # the most frequent case
        return value, 0
    match value:
        case str() | bytes() | int() | float() | np.generic():
            return [], 0
        case dict():
            step = len(value) // _LOOKED_AT + 1
            pairs = list(itertools.islice(value.items(), 0, None, step))
            return [part for pair in pairs for part in pair], 2 * len(value) if step > 1 else 0
        case list() | tuple() | set() | frozenset() | deque():
            step = len(value) // _LOOKED_AT + 1
            return list(itertools.islice(value, 0, None, step)), len(value) if step > 1 else 0
        case FunctionType():
            # without its globals, which belong to its module
            return [*(value.__closure__ or ()), *(value.__defaults__ or ())], 0
        case _:
            return gc.get_referents(value), 0


def _holder(array: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the array that owns the bytes of an array; None if a mapped file does."""
    holder = array
    while isinstance(base := _base(holder), np.ndarray):
        holder = base
    return None if isinstance(base, mmap.mmap) else holder


def _base(array: npt.NDArray[Any]) -> object:
    base: object = array.base
    return base.obj if isinstance(base, memoryview) else base


def remembered(most: int) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """Cache the results of a function of a text, for at most ``most`` texts.

    Of texts of more than 512 characters only a few are cached, so that the cache is bounded in bytes as well: one long
    name may have thousands of lines.
    """

    def decorate(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
        remembering: Any = lru_cache(maxsize=most)(function)
        few: Any = lru_cache(maxsize=_LONG_TEXTS)(function)

        @wraps(function)
        def returned(text: str, /, *rest: P.args, **named: P.kwargs) -> T:
            length = len(text)
            chosen = (
                remembering if length <= _LONGEST_TEXT else few if length <= _LONGEST_OF_FEW else function
            )
            result: T = chosen(text, *rest, **named)
            return result

        return returned

    return decorate
