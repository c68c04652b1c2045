"""Helpers for tests of profile readers: read a file into a Profile, and its samples into plain Python values."""

import random
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.python.conftest import ROOT

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.tools import Tools
from memlens.model.frames import SourceFrame
from memlens.model.profile import Profile

FIXTURES = ROOT / "tests" / "fixtures" / "profiles"


def load(path: Path, *symbol_folders: Path, only_folders: bool = True) -> Profile:
    """Read a file as the ingest does, except that binaries are looked for only in the folders, not on this machine."""
    with open_source(path, Path(tempfile.gettempdir()), lambda *_: None) as source:
        source.tools = Tools(only_folders=only_folders, symbol_folders=symbol_folders)
        profile = read(source, Path(tempfile.gettempdir()), lambda *_: None)
    assert isinstance(profile, Profile)
    return profile


def samples_of(profile: Profile) -> Iterator[tuple[tuple[SourceFrame, ...], tuple[int, ...]]]:
    """Each sample's frames, innermost first, and its values."""
    frames, stacks = profile.frames.frames, list[tuple[SourceFrame, ...]]()
    if profile.tree is None:
        sequence, starts = profile.frames.sequence.tolist(), profile.frames.starts.tolist()
        stacks += [tuple(frames[row] for row in sequence[start:end]) for start, end in pairwise(starts)]
    else:
        stacks.append(())
        for parent, frame in zip(*(column.tolist()[1:] for column in profile.tree), strict=True):
            stacks.append((frames[frame], *stacks[parent]))
    values = [column.tolist() for column in profile.values]
    for number, stack in enumerate(profile.stacks.tolist()):
        yield stacks[stack], tuple(column[number] for column in values)


def value(profile: Profile, name: str) -> int:
    """The total of a value."""
    names = [kind.name for kind in profile.value_types]
    return int(profile.values[names.index(name)].sum())


def damage(whole: bytes, path: Path, rounds: int, seed: int) -> tuple[int, int]:
    """Read ``whole`` cut, with bytes flipped, and both. Return the numbers of errors and of successful reads.

    Anything but a :class:`MemlensError` fails the test.
    """
    draw = random.Random(seed)
    errors = 0
    for number in range(rounds):
        data = bytearray(whole[: draw.randrange(1, len(whole))] if number % 2 else whole)
        for _ in range(draw.choice((1, 4, 40)) if number % 4 != 1 else 0):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data)
        try:
            load(path)
        except MemlensError:
            errors += 1
    return errors, rounds - errors
