"""Settings of PyTorch's caching allocator, as ``PYTORCH_CUDA_ALLOC_CONF`` and files have them.

``PYTORCH_ALLOC_CONF`` is a newer name of that variable, which versions before 2.9 don't know and 2.9 doesn't heed for
expandable segments (https://github.com/pytorch/pytorch/issues/183387). All versions read the older name.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.model.timeline import ACTIONS
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.units import MIB, shortened
from memlens.views.trace.allocator.blocks import divisions_of

_MAPS = tuple(ACTIONS.index(name) for name in ("segment_map", "segment_unmap"))
_LARGEST_BYTES = 1 << 50
_MOST_DIVISIONS = 1 << 31
_LARGE = "large_segment_size_mb"
_TRIED_DIVISIONS = (2, 4, 8, 16)
_TRIED_SPLITS = (32, 64, 128, 256, 512)
_MOST_TRIED_SIZES = 3
_MOST_SHOWN = 100
"""Characters of a setting in an error."""
POWERS = 16
"""The number of powers of two that ``roundup_power2_divisions`` has."""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of the allocator, as ``PYTORCH_CUDA_ALLOC_CONF`` has them."""

    words: str
    expandable_segments: bool = False
    max_split_size_mb: float = 0
    """0 for no limit."""
    large_segment_size_mb: int = 20
    """Since PyTorch 2.11."""
    max_non_split_rounding_mb: int = 0
    """Since PyTorch 2.6; 0 for the size of a large segment, which it is without this setting."""
    garbage_collection_threshold: float = 0
    """0 for none. Only effective if a fraction of the memory is set."""
    per_process_memory_fraction: float = 0
    """0 if unset; the same as ``set_per_process_memory_fraction``."""
    divisions: tuple[int, ...] = ()
    """``roundup_power2_divisions``: for requests below 2 MiB, below 4 MiB, and so on."""

    @property
    def large_segment_bytes(self) -> int:
        """``kLargeBuffer``, which is a setting in newer versions."""
        return self.large_segment_size_mb * MIB

    @property
    def rounding_bytes(self) -> int:
        """How much larger a block may be that isn't split."""
        return (self.max_non_split_rounding_mb or self.large_segment_size_mb) * MIB


def parse(words: str) -> Settings:
    """Read ``NAME:VALUE[,NAME:VALUE]``, as ``PYTORCH_CUDA_ALLOC_CONF``, or ``default``. Raises BadRequestError."""
    if words == "default":
        return Settings(words=words)
    found: dict[str, Any] = {}
    for part in re.split(r",(?![^\[]*\])", words):
        name, colon, value = part.strip().partition(":")
        name = name.strip()
        try:
            match name if colon else "":
                case "expandable_segments":
                    found[name] = {"true": True, "false": False}[value.strip().lower()]
                case "max_split_size_mb":
                    found[name] = _number(value, 20, _LARGEST_BYTES >> 20)
                case "large_segment_size_mb":
                    found[name] = _megabytes(value, 11)
                case "max_non_split_rounding_mb":
                    found[name] = _megabytes(value, found.get("large_segment_size_mb", 20))
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
        phrase("{setting} is not a setting that can be replayed", setting=shortened(setting, _MOST_SHOWN)),
        advice=phrase(
            "Use {first}, {second}, {third}, {fourth}, {fifth}, {sixth} or {seventh}.",
            first="expandable_segments:True",
            second="max_split_size_mb:128",
            third="garbage_collection_threshold:0.8",
            fourth="per_process_memory_fraction:0.9",
            fifth="roundup_power2_divisions:8",
            sixth="large_segment_size_mb:12",
            seventh="max_non_split_rounding_mb:64",
        ),
    )


def _number(value: str, least: float, most: float) -> float:
    number = float(value)
    if not least < number < most and number != least:
        raise ValueError(value)
    return number


def _megabytes(value: str, least: int) -> int:
    if not least <= int(value) < _LARGEST_BYTES >> 20:
        raise ValueError(value)
    return int(value)


def _fraction(value: str) -> float:
    fraction = float(value)
    if not 0 < fraction <= 1:
        raise ValueError(value)
    # versions that have this setting set no limit with 1
    return fraction if fraction < 1 else 0


def _divisions(value: str) -> tuple[int, ...]:
    """One number, or ``[256:1,512:2,1024:4,>:8]`` by megabytes, as PyTorch's ``parseRoundUpPower2Divisions``."""
    inner = value.strip()
    if not inner.startswith("["):
        return _powers([int(inner)] * POWERS)
    parts = [pair.split(":") for pair in inner.strip("[]").replace(" ", "").split(",")]
    divisions = [0] * POWERS
    last = -1
    for size, number in parts:
        if size == ">":
            # older versions begin with the last named size, not after it
            divisions[max(last, 0) + 1 :] = [int(number)] * (POWERS - max(last, 0) - 1)
            continue
        at = min(int(size).bit_length() - 1, POWERS - 1)
        if int(size) <= 0 or int(size) & (int(size) - 1):
            raise ValueError(value)
        if last < 0:
            # sizes below the first named one have its number; those between two have none
            divisions[:at] = [int(number)] * at
        divisions[at] = int(number)
        last = at
    return _powers(divisions)


def _powers(numbers: list[int]) -> tuple[int, ...]:
    if any(not 0 <= number < _MOST_DIVISIONS or number & (number - 1) for number in numbers):
        raise ValueError(numbers)
    return tuple(numbers)


def _conf(conf: object, name: str) -> int:
    """A setting in megabytes that files only have in the text it was set by; 0 if it isn't there."""
    found = re.search(rf"\b{name} *: *(\d{{1,7}})\b", conf[:10000]) if isinstance(conf, str) else None
    return int(found[1]) if found is not None and int(found[1]) > 10 else 0


def recorded_settings(snapshot: Snapshot, device: Device) -> Settings:
    """The settings in the file, or else those that its events show."""
    known = snapshot.manifest.settings
    expandable = known.get("expandable_segments")
    maps = bool(np.isin(device.event_action, _MAPS).any())
    is_expandable = maps or expandable is True or str(expandable).lower() == "true"
    split = known.get("max_split_size")
    threshold = known.get("garbage_collection_threshold")
    divisions = divisions_of(snapshot)
    conf = known.get("PYTORCH_CUDA_ALLOC_CONF")
    large, rounding = (_conf(conf, name) for name in (_LARGE, "max_non_split_rounding_mb"))
    return Settings(
        words="recorded",
        large_segment_size_mb=large or 20,
        max_non_split_rounding_mb=rounding,
        expandable_segments=is_expandable,
        max_split_size_mb=split / (1 << 20) if isinstance(split, int) and 0 < split < _LARGEST_BYTES else 0,
        garbage_collection_threshold=threshold if isinstance(threshold, float) and 0 < threshold < 1 else 0,
        divisions=tuple(divisions.tolist()) if divisions.any() else (),
    )


def unsaid_settings(
    snapshot: Snapshot, spans: npt.NDArray[Any], recorded: Settings
) -> Iterator[tuple[str, Settings]]:
    """What may have been set where the file doesn't say it, as words and as settings.

    Versions before 2.3 write no ``allocator_settings``, and later ones the size of large segments only in the text that
    settings were set by, which is empty where a program sets them by itself.
    """
    known = snapshot.manifest.settings
    if not known:
        for number in _TRIED_DIVISIONS:
            yield f"roundup_power2_divisions:{number}", replace(recorded, divisions=(number,) * POWERS)
        for size in _TRIED_SPLITS:
            yield f"max_split_size_mb:{size}", replace(recorded, max_split_size_mb=size)
    if not _conf(known.get("PYTORCH_CUDA_ALLOC_CONF"), _LARGE):
        sizes, counts = np.unique(spans["size"][spans["size"] % MIB == 0] // MIB, return_counts=True)
        is_possible = (sizes > 10) & (sizes != recorded.large_segment_size_mb)
        often = np.argsort(-counts[is_possible], kind="stable")[:_MOST_TRIED_SIZES]
        for size in sizes[is_possible][often].tolist():
            yield f"{_LARGE}:{size}", replace(recorded, large_segment_size_mb=size)
