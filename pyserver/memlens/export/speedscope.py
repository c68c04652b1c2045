"""Writes stacks with values for https://www.speedscope.app.

The format is ``file-format-spec.ts`` of speedscope: frames are shared, and each value is a "sampled" profile, whose
samples are stacks from the outermost frame to the innermost and whose weights are the values.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from memlens.export.samples import Samples
from memlens.model.expansion import fitting
from memlens.units import counted, format_value, shortened
from memlens.views.naming.frame_names import FlameName

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_LEAST_TEXT, _TEXT_FACTOR = 1 << 23, 8
_UNITS = ("bytes", "nanoseconds", "microseconds", "milliseconds", "seconds")


def speedscope(samples: Samples, title: str) -> bytes:
    """The file's text, with a profile for each value; speedscope shows ``title`` as its name."""
    unrolled = samples.unrolled()
    outermost_first = [stack[::-1] for stack in unrolled.stacks]
    stacks = [outermost_first[stack] for stack in unrolled.stack_of]
    profiles = []
    for (name, unit), values in zip(
        samples.stacks.meaning.types, samples.stacks.values.tolist(), strict=True
    ):
        # a sample whose value is 0 would have no width in speedscope
        kept = [(stack, value) for stack, value in zip(stacks, values, strict=True) if value > 0]
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": unit if unit in _UNITS else "none",
                "startValue": 0,
                "endValue": sum(value for _, value in kept),
                "samples": [stack for stack, _ in kept],
                "weights": [value for _, value in kept],
            }
        )
    most = _longest(unrolled.frames)
    return msgspec.json.encode(
        {
            "$schema": SCHEMA,
            "exporter": "memlens",
            "name": title,
            "activeProfileIndex": samples.default,
            "shared": {"frames": [_frame(name, most) for name in unrolled.frames]},
            "profiles": profiles,
        }
    )


def left_out(samples: Samples) -> list[str]:
    """The values that can't be written, because the format has no negative weights: a phrase for each value."""
    found = []
    for (name, unit), values in zip(samples.stacks.meaning.types, samples.stacks.values, strict=True):
        negative = values[values < 0]
        if len(negative):
            what = format_value(int(negative.sum()), unit)
            found.append(f"{name}: {what} of {counted(len(negative), 'stack')}")
    return found


def _longest(names: Sequence[FlameName]) -> int:
    """The length to which names and files are cut, because the format repeats them with each of a function's lines."""
    texts = [text for name in names for text in (name.text, name.file)]
    most = max(_LEAST_TEXT, _TEXT_FACTOR * sum(map(len, set(texts))))
    return fitting(np.fromiter(map(len, texts), np.int64, len(texts)), most)


def _frame(name: FlameName, most: int) -> dict[str, str | int]:
    fields: dict[str, str | int] = {"name": shortened(name.text, most) or "?"}
    if name.file:
        fields["file"] = shortened(name.file, most)
    if name.line > 0:
        fields["line"] = name.line
    return fields
