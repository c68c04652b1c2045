"""Settings of PyTorch's caching allocator, as ``PYTORCH_ALLOC_CONF`` and files have them."""

import re
from typing import Any

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.timeline import ACTIONS
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.trace.allocator.blocks import divisions_of

_MAPS = tuple(ACTIONS.index(name) for name in ("segment_map", "segment_unmap"))
_LARGEST_BYTES = 1 << 50
POWERS = 16
"""The number of powers of two that ``roundup_power2_divisions`` has."""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of the allocator, as ``PYTORCH_ALLOC_CONF`` has them."""

    words: str
    expandable_segments: bool = False
    max_split_size_mb: float = 0
    """0 for no limit."""
    garbage_collection_threshold: float = 0
    """0 for none. Only effective if a fraction of the memory is set."""
    per_process_memory_fraction: float = 0
    """0 if unset; the same as ``set_per_process_memory_fraction``."""
    divisions: tuple[int, ...] = ()
    """``roundup_power2_divisions``: for requests below 2 MiB, below 4 MiB, and so on."""


def parse(words: str) -> Settings:
    """Read ``NAME:VALUE[,NAME:VALUE]``, a value of ``PYTORCH_ALLOC_CONF``, or ``default``. Raises BadRequestError."""
    if words == "default":
        return Settings(words=words)
    found: dict[str, Any] = {}
    for part in re.split(r",(?![^\[]*\])", words):
        name, colon, value = part.strip().partition(":")
        try:
            match name.strip() if colon else "":
                case "expandable_segments":
                    found[name] = {"true": True, "false": False}[value.strip().lower()]
                case "max_split_size_mb":
                    found[name] = _number(value, 20)
                case "garbage_collection_threshold":
                    found[name] = _number(value, 0, 1)
                case "per_process_memory_fraction":
                    found[name] = _fraction(value)
                case "roundup_power2_divisions":
                    found["divisions"] = _divisions(value)
                case _:
                    raise _not_replayed(part)
        except (KeyError, ValueError):
            raise _not_replayed(part) from None
    return Settings(words=words, **found)


def _not_replayed(setting: str) -> BadRequestError:
    return BadRequestError(
        phrase("{setting} is not a setting that can be replayed", setting=setting),
        advice=phrase(
            "Use {first}, {second}, {third}, {fourth} or {fifth}.",
            first="expandable_segments:True",
            second="max_split_size_mb:128",
            third="garbage_collection_threshold:0.8",
            fourth="per_process_memory_fraction:0.9",
            fifth="roundup_power2_divisions:8",
        ),
    )


def _number(value: str, least: float, most: float = float("inf")) -> float:
    number = float(value)
    if not least < number < most and number != least:
        raise ValueError(value)
    return number


def _fraction(value: str) -> float:
    fraction = float(value)
    if not 0 < fraction <= 1:
        raise ValueError(value)
    return fraction


def _divisions(value: str) -> tuple[int, ...]:
    """One number, or ``[256:1,512:2,1024:4,>:8]`` by megabytes, as PyTorch's ``parseRoundUpPower2Divisions``."""
    inner = value.strip()
    if not inner.startswith("["):
        return _powers([int(inner)] * POWERS)
    parts = dict(pair.split(":") for pair in inner.strip("[]").replace(" ", "").split(","))
    divisions = [0] * POWERS
    last, at = 0, 0
    for size, number in parts.items():
        if size == ">":
            divisions[at:] = [int(number)] * (POWERS - at)
            continue
        at = int(size).bit_length() - 1
        if int(size) != 1 << at or not 0 <= at < POWERS:
            raise ValueError(value)
        # sizes below the first named one have its number
        divisions[last : at + 1] = [int(number)] * (at + 1 - last)
        last = at = at + 1
    return _powers(divisions)


def _powers(numbers: list[int]) -> tuple[int, ...]:
    if any(number < 0 or number & (number - 1) for number in numbers):
        raise ValueError(numbers)
    return tuple(numbers)


def recorded_settings(snapshot: Snapshot, device: Device) -> Settings:
    """The settings in the file, or else those that its events show."""
    known = snapshot.manifest.settings
    expandable = known.get("expandable_segments")
    maps = bool(np.isin(device.event_action, _MAPS).any())
    is_expandable = maps or expandable is True or str(expandable).lower() == "true"
    split = known.get("max_split_size")
    threshold = known.get("garbage_collection_threshold")
    divisions = divisions_of(snapshot)
    return Settings(
        words="recorded",
        expandable_segments=is_expandable,
        max_split_size_mb=split / (1 << 20) if isinstance(split, int) and 0 < split < _LARGEST_BYTES else 0,
        garbage_collection_threshold=threshold if isinstance(threshold, float) and 0 < threshold < 1 else 0,
        divisions=tuple(divisions.tolist()) if divisions.any() else (),
    )
