"""Filters that match nothing, and options that a file lacks: what is said, and what would match instead."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, event, frame

TRACE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(
    ("path", "filter_text", "said"),
    [
        (TRACE, "file:modle.py", "file:module.py, file:model.py"),
        (TRACE, "forwrad", "Perhaps you mean forward."),
        (TRACE, "by:train.py:999", "The nearest lines of train.py in stacks are 68, 84, 89."),
        (TRACE, "size>1GiB", "Sizes go from 4 B to 3 MiB."),
        (TRACE, "life>1h", "The longest that is known is 603.3 ms."),
        (TRACE, "category:gradeint", "Perhaps you mean category:gradient."),
        (TRACE, "machinery:foreach", "There are only machinery:optimizer_states."),
        (TRACE, "freed-by:train.py:1", "There are "),
        (TRACE, "stream:7", "There are only stream:0."),
        (TRACE, "module:Linaer", "Perhaps you mean module:Linear."),
        (TRACE, "is:pending", "No free was still pending at the end."),
        (TRACE, "stack:9999", "Stacks have the numbers 0 to 67."),
        (TRACE, "-size>=0", "Everything has what it excludes."),
        (TRACE, "file:data.py category:optimizer_state", "file:data.py (84), category:optimizer_state (123)"),
        (TRACE, "forward file:modle.py", "file:modle.py alone matches nothing. Perhaps you mean"),
        (PROFILE, "function:serach", "Perhaps you mean function:search."),
        (PROFILE, "label:x", "There are label:"),
        (HEAP, "type:Sesion", "Perhaps you mean type:Session, type:Sessions"),
        (HEAP, "package:shopp", "Perhaps you mean package:shop."),
        (HEAP, "retained>1GiB", "Sizes go up to 3.09 MiB."),
        (HEAP, "type:Session retained>1MiB", "type:Session (400), retained>1MiB (3)"),
        (HEAP, "thread:worker", "There are thread:main"),
    ],
)
def test_what_would_match_is_said(path: Path, filter_text: str, said: str) -> None:
    error = memlens("types" if path == HEAP else "flame", path, f"--filter={filter_text}", status=1).stderr
    assert "Nothing matches" in error
    assert said in error
    assert path.name in error


@pytest.mark.parametrize(
    "command",
    [
        ("lines", TRACE, "--filter", "zzz"), ("lines", TRACE, "--filter", "zzz", "--json"),
        ("flame", TRACE, "--filter", "zzz"), ("steps", TRACE, "--filter", "zzz"),
        ("picture", TRACE, "--filter", "zzz"), ("picture", PROFILE, "--filter", "zzz"),
        ("export", TRACE, "--filter", "zzz", "--pprof", "OUT"), ("lines", PROFILE, "--filter", "zzz"),
        ("types", HEAP, "--filter", "zzz"), ("threads", HEAP, "--filter", "zzz"),
        ("images", HEAP, "--filter", "zzz"), ("paths", HEAP, "--of", "zzz"), ("findings", HEAP, "--of", "zzz"),
    ],
)  # fmt: skip
def test_every_command_says_it(command: tuple[object, ...], tmp_path: Path) -> None:
    out = tmp_path / "out.pb.gz"
    done = memlens(*(out if each == "OUT" else each for each in command), status=1)
    assert "Nothing matches zzz" in done.stderr
    assert done.stdout == ""
    assert not out.exists()


def test_a_device_that_has_what_another_lacks(tmp_path: Path) -> None:
    path = tmp_path / "two.pickle"
    traces = [
        [event("alloc", 1 << 20, 1000, frame("a.py", 1, "f"))],
        [event("alloc", 1 << 20, 9, frame("b.py", 2, "g"))],
    ]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": traces}))
    said = memlens("flame", path, "--filter", "file:b.py", status=1).stderr
    assert (
        "Nothing on device 0 matches file:b.py. It matches allocations of device 1: choose that by its number, 1."
        in said
    )
    # devices are added up here
    assert (
        json.loads(memlens("lines", path, "--filter", "file:b.py", "--json").stdout)["total"]["total_bytes"]
        == 9
    )


@pytest.mark.parametrize(("place", "term"), [("train.py:105", ""), ("train.py:105", "file:"), ("step", "")])
def test_a_place_that_only_frees_leads_to_what_it_freed(tmp_path: Path, place: str, term: str) -> None:
    """Its line is in no stack of an allocation: "the nearest lines are 104, 105" was no help."""
    made, freed = frame("a.py", 3, "made"), frame("train.py", 105, "step")
    trace = [event("alloc", 512 * n, 512, made) for n in range(4)]
    trace += [event("free_completed", 512 * n, 512, freed) for n in range(3)]
    path = tmp_path / "x.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    said = memlens("flame", path, "--filter", f"{term}{place}", status=1).stderr
    assert f"It freed 3 allocations, which freed-by:{place} finds." in said
    assert (
        json.loads(memlens("lines", path, "--filter", f"freed-by:{place}", "--json").stdout)["total"][
            "total_bytes"
        ]
        == 3 * 512
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("compare", TRACE, TRACE, "--value", "live"), "A trace of events has no values"),
        (("lines", TRACE, "--value", "live"), "A trace of events has no values"),
        (("flame", TRACE, "--value", "bytes"), "A trace has no value bytes. It has live, peak, total"),
        (("compare", PROFILE, PROFILE, "--value", "peak"), "The profile has no value peak. It has inuse_objects"),
        (("compare", PROFILE, PROFILE, "--at", "end"), "The profile doesn't have what was live at 'end'"),
        (("compare", HEAP, HEAP, "--value", "live"), "so --value doesn't apply"),
        (("compare", HEAP, HEAP, "--at", "end"), "so --at doesn't apply"),
        *(((command, PROFILE, "--device", 1), "A profile has no devices, which are needed for --device")
          for command in ("flame", "picture", "findings", "report", "lines")),
        (("compare", PROFILE, PROFILE, "--device", 1), "A profile has no devices, which are needed for --device"),
    ],
)  # fmt: skip
def test_options_that_a_file_lacks_are_refused(command: tuple[object, ...], said: str) -> None:
    done = memlens(*command, status=None)
    assert done.returncode in (1, 2)
    assert said in done.stderr
