"""Values that can't be true are never taken for others: each is an error or a warning that says what it costs."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.shapes import heaptrack_deep
from tests.python.command_line import memlens
from tests.python.conftest import event, frame
from tests.python.gcdump_files import gcdump, number

PROFILES = Path(__file__).parents[1] / "fixtures" / "profiles"


def info(path: Path, data: bytes) -> Any:
    path.write_bytes(data)
    return json.loads(memlens("info", path, "--json", "--cache-dir", path.parent / "cache").stdout)


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return memlens("info", path, "--cache-dir", path.parent / "cache", status=1).stderr


@pytest.mark.parametrize("value", [b"1e5", b"0x10", b"12 ", b"1.5"])
def test_massifs_numbers_are_read_to_the_end_of_their_line(tmp_path: Path, value: bytes) -> None:
    data = (PROFILES / "massif.out.ledger").read_bytes()
    at = data.index(b"mem_heap_B=72704")
    wrong = data[:at] + b"mem_heap_B=" + value + data[at + 16 :]
    said = refusal(tmp_path / "massif.out.1", wrong)
    assert "A number is missing or larger than any that massif writes" in said
    assert f"{at + 11:,}" in said


def test_heaptracks_allocations_without_a_possible_size_are_counted_and_named(tmp_path: Path) -> None:
    whole = heaptrack_deep(3)
    wrong = whole.replace(b"a 10 2\n", b"a ffffffffffffffff 2\n")
    assert wrong != whole
    found = info(tmp_path / "heaptrack.one", wrong)
    (warning,) = (each["message"] for each in found["warnings"] if each["code"] == "unknown-sizes")
    assert "Lines with an impossible size of allocations: 1." in warning
    assert "counted with 0 B" in warning
    assert not any(each["code"] == "damaged-lines" for each in found["warnings"])


def test_a_child_beyond_32_bits_is_no_other_object(tmp_path: Path) -> None:
    types = [("[root]", 0, None), ("A.B", 24, "a.dll")]
    right = gcdump(types, [(0, 0, [1, 1]), (1, None, [])])
    child = number(1)
    far = number((1 << 40) + 1)
    # the second child's number has as many bytes less as the object after it has more
    wrong = gcdump(types, [(0, 0, [1, (1 << 40) + 1]), (1, None, [])])
    assert len(wrong) == len(right) + len(far) - len(child)
    found = info(tmp_path / "far.gcdump", wrong)
    assert found["references"] == info(tmp_path / "near.gcdump", right)["references"] - 1
    assert "broken-nodes" in [each["code"] for each in found["warnings"]]


def test_an_event_that_a_trace_has_twice_is_not_called_several_devices(tmp_path: Path) -> None:
    one = event("alloc", 4096, 512, frame("/a/b.py", 1, "f"), time_us=1)
    twice = pickle.dumps({"segments": [], "device_traces": [[one, one, one]]}, 4)
    said = refusal(tmp_path / "twice.pickle", twice)
    assert "A device's trace lists an event more than once" in said
    trace = [one]
    several = pickle.dumps({"segments": [], "device_traces": [trace, trace, trace]}, 4)
    assert "Several devices list the same trace" in refusal(tmp_path / "several.pickle", several)
