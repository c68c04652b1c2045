"""Caches what functions of a snapshot return, by their other arguments, within the memory budget."""

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from memlens.store.snapshot import Key, Snapshot

P = ParamSpec("P")
T = TypeVar("T")


class Kept(Generic[P, T]):
    """A function whose results are cached. Its other arguments are hashable; a device's number is the first."""

    def __init__(self, make: Callable[Concatenate[Snapshot, P], T]) -> None:
        self._make = make
        self._name = f"{make.__module__}.{make.__qualname__}"
        parameters = list(inspect.signature(make).parameters.values())[1:]
        self._defaults = {each.name: each.default for each in parameters}
        update_wrapper(self, make)

    def __call__(self, snapshot: Snapshot, /, *args: P.args, **named: P.kwargs) -> T:
        """The function's result, kept or computed now."""
        return snapshot.keep(self._key(args, named), lambda: self._make(snapshot, *args, **named))

    def is_known(self, snapshot: Snapshot, /, *args: P.args, **named: P.kwargs) -> bool:
        """True if the result is in the cache."""
        return snapshot.has_kept(self._key(args, named))

    def put(self, snapshot: Snapshot, value: T) -> T:
        """Keep a result that was computed elsewhere, if none is kept yet, and return the kept one.

        For functions without further arguments.
        """
        return snapshot.keep(self._key((), {}), lambda: value)

    def _key(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Key:
        left = list(self._defaults.items())[len(args) :]
        return Key(self._name, (*args, *(named.get(name, default) for name, default in left)))


def kept(make: Callable[Concatenate[Snapshot, P], T]) -> Kept[P, T]:
    """Decorates a function whose results are kept."""
    return Kept(make)
