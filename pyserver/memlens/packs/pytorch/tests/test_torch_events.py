"""Events that a kernel reads in bulk equal those that the pickle machine reads opcode by opcode.

Pickles of protocol 4 memoize by MEMOIZE, which the events' kernel knows; those of protocol 3 by BINPUT, so that the
machine reads the same data.
"""

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import event, frame

from memlens.ingest import ingest
from memlens.model.info import TimelineInfo
from memlens.store.files.cache import Cache
from memlens.store.manifest import Manifest, read_manifest

FRAMES = [frame(f"/home/someone/part_{number % 7}.py", number + 1, f"step_{number}") for number in range(300)]
ODD: tuple[Any, ...] = (
    None,
    -1,
    "text",
    1.5,
    True,
    [],
    {},
    (1, 2),
    1 << 63,
    (1 << 64) - 1,
    1 << 70,
    b"x",
    [FRAMES[0], 3],
)


def _manifest(data: Any, protocol: int, folder: Path) -> Manifest:
    path = folder / f"protocol-{protocol}.pickle"
    path.write_bytes(pickle.dumps(data, protocol))
    return read_manifest(ingest(path, Cache(folder / f"cache-{protocol}"), lambda *_: None))


def _assert_same(events: list[dict[str, Any]], folder: Path) -> None:
    data = {"segments": [], "device_traces": [events]}
    together, single = _manifest(data, 4, folder), _manifest(data, 3, folder)
    assert together.columns == single.columns
    assert together.actions == single.actions
    assert together.streams == single.streams
    assert together.pools == single.pools
    assert together.info.warnings == single.info.warnings
    assert isinstance(together.info, TimelineInfo)
    # some of the odd events are left out
    assert len(events) * 0.9 < together.info.devices[0].events <= len(events)


def _stacks(chance: random.Random) -> list[list[dict[str, Any]]]:
    """Stacks of no frame, one, and about the multiples of the eight that the kernel looks at together."""
    return [chance.choices(FRAMES, k=depth) for depth in (0, 1, 2, 7, 8, 9, 15, 16, 17, 40, 511, 512, 513)]


def _event(chance: random.Random, number: int, frames: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return event(
        chance.choice(("alloc", "free_requested", "free_completed", "segment_alloc", f"own_{number % 5}")),
        chance.choice((0, 512, 0x7F00_0000_0000 + 512 * chance.randrange(50))),
        chance.choice((0, 255, 256, 65_535, 65_536, 1 << 31, 1 << 40)),
        *frames, **{"time_us": 1_790_000_000_000_000 + number, "stream": chance.choice((0, 7, 1 << 40)), **more},
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_plain_events(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    stacks = _stacks(chance)
    _assert_same([_event(chance, number, chance.choice(stacks)) for number in range(2500)], tmp_path)


def test_shared_lists_texts_and_pools(tmp_path: Path) -> None:
    chance = random.Random(5)
    stacks, pool = _stacks(chance), (0, 1)
    events = []
    for number in range(1500):
        events.append(
            _event(
                chance, number, [],
                # a text that is written each time, as by PyTorch
                compile_context=str(b"N/A", "ascii") if number % 9 else "0/1",
                user_metadata="" if number % 50 else f"note {number}",
                pool_id=pool if number % 3 else (number % 4, 0), unknown_key=number % 2 == 0,
            )
        )  # fmt: skip
        # one list object for many events
        events[-1]["frames"] = chance.choice(stacks)
    _assert_same(events, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_odd_values_among_plain_events(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    stacks = _stacks(chance)
    events = []
    for number in range(1500):
        made = _event(chance, number, chance.choice(stacks))
        if number % 20 == seed:
            made[chance.choice(list(made))] = chance.choice(ODD)
        if number % 33 == seed:
            del made[chance.choice([key for key in made if key != "action"])]
        if number % 70 == seed:
            made |= {"device_free": number, "forward_frames": ['  File "net.py", line 3, in forward\n']}
        events.append(dict(reversed(list(made.items()))) if number % 90 == seed else made)
    _assert_same(events, tmp_path)
