"""The headline of two files. The right sentences were written by hand, from what programs of a page read in the files:

* PyTorch's events replayed to their peak, each block charged to the innermost frame outside of libraries, or to the
  category that its event has;
* `go tool pprof -diff_base`, by innermost function, or by line where the file names our code; jemalloc's counts by its
  own formula;
* V8's nodes added up, and the dominators that Chrome's developer tools compute.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import ROOT, real_files, real_heaps, real_profiles
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, write_snapshot

pytest_plugins = ("tests.python.server_fixtures",)

MINUS = "\N{MINUS SIGN}"
ORDERS = ROOT / "tests" / "fixtures" / "profiles"


def headline(server: LspClient, before: Path, after: Path, *, swapped: bool = False, **of: Any) -> str:
    """What a view of the later file says, compared with the earlier one; ``swapped``, a view of the earlier file."""
    mine, other = (before, after) if swapped else (after, before)
    own = open_view(server, mine, "v1")
    theirs = open_view(server, other, "v1.other")
    pair = {"snapshot": own["snapshot"], "other": theirs["snapshot"], "other_first": not swapped}
    if own["info"]["model"] == "graph":
        answer = server.request("memlens/compareHeapHeadline", {**pair, "filter": ""})
    else:
        device = own["info"].get("default_device", 0)
        sets = {"of": {"device": device, **of}, "other_of": {"device": device, **of}}
        answer = server.request("memlens/compareHeadline", {**pair, **sets})
    assert answer["text"] == " ".join(sentence["text"] for sentence in answer["sentences"])
    return str(answer["text"])


def there(real: Callable[[str], list[Path]], rows: list[Any]) -> list[Any]:
    """Rows with two files in place of their patterns, as far as there are real files."""
    return [
        ((first, second), *right)
        for before, after, *right in rows
        for first, second in zip(real(before), real(after), strict=True)
    ]


TRACES = [
    (
        "niu__forward_memory_snapshot_100__*", "niu__forward_memory_snapshot_200__*",
        ("Peak 839 MiB instead of 394 MiB, 445 MiB more. "
         "By line: softmax.py:14 (forward) +220 MiB, linear.py:36 (forward) +79.2 MiB, "
         "swigluffn.py:15 (forward) +41.0 MiB."),
    ),
    (
        "silmont__memory_forward_fp32_128__*", "silmont__memory_forward_bf16_128__*",
        ("Peak 744 MiB instead of 531 MiB, 213 MiB more. By line: linear.py:15 (forward) +77.7 MiB, "
         "swiglu.py:34 (forward) +54 MiB, swiglu.py:32 (forward) +48 MiB."),
    ),
    (
        # the optimizer's state and its steps are other lines of one file in the later run
        "niu__forward_and_backward_memory_snapshot_200__*",
        "niu__forward_and_backward_memory_snapshot_200_mixed_precision__*",
        ("Peak 932 MiB instead of 1.15 GiB, 241 MiB less. By file: no source file -124 MiB, "
         "softmax.py -97.7 MiB, optimizer.py -86.6 MiB").replace("-", MINUS),
    ),
    (
        "cpu_profile_mlp.pickle", "cpu_profile_transformer.pickle",
        "Peak 18.8 MiB instead of 6.24 MiB, 12.6 MiB more: activation +11.1 MiB, optimizer state +1.96 MiB.",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("files", "right"), there(real_files, TRACES))
def test_two_traces(server: LspClient, files: tuple[Path, Path], right: str) -> None:
    assert headline(server, *files).startswith(right)


OWN_PROFILES = [
    (
        (ORDERS / "orders.before.pb.gz", ORDERS / "orders.pb.gz"),
        "541 KiB in use instead of 156 KiB, 385 KiB more.",
        ("By line: orders.go:29 (main.(*shop).take) +194 KiB, orders.go:31 (main.(*shop).take) +124 KiB, "
         "orders.go:27 (main.(*shop).take) +58.8 KiB."),
    ),
]  # fmt: skip
PROFILES = [
    (
        "pprof/go-heap-base.pb.gz", "pprof/go-heap.pb.gz",
        "540 MiB in use instead of 208 MiB, 332 MiB more.",
        ("Allocated in parser.(*parser).parseIdent() +59.1 MiB, ast.NewObj() +36.0 MiB, "
         "parser.(*parser).parseOperand() +27.5 MiB."),
    ),
    (
        "pprof/go-heap-base.pb.gz", "pprof/go-heap-mid.pb.gz",
        "345 MiB in use instead of 208 MiB, 137 MiB more.",
        ("Allocated in parser.(*parser).parseIdent() +25.1 MiB, ast.NewObj() +17.0 MiB, "
         "parser.(*parser).parseCallOrConversion() +10.1 MiB."),
    ),
    (
        "jemalloc/jeprof.11700.0.i0.heap", "jemalloc/jeprof.11700.2.f.heap",
        "1.03 MiB in use instead of 2.74 MiB, 1.70 MiB less.",
        "",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("files", "whole", "functions"), [*OWN_PROFILES, *there(real_profiles, PROFILES)])
def test_two_profiles(server: LspClient, files: tuple[Path, Path], whole: str, functions: str) -> None:
    text = headline(server, *files)
    assert text.startswith(whole)
    assert functions in text
    # seen from the other file it is the same
    assert headline(server, *files, swapped=True) == text


HEAPS = [
    (
        "v8/leak_base_node24*", "v8/leak_after_node24*",
        "14.0 MiB reachable instead of 9.85 MiB, 4.12 MiB more.",
        # the cache and the listeners hold 80,000 of them together, so their holder is the object that has both
        "New: 95,191 objects, 3.76 MiB, held by global.app (3.13 MiB).",
    ),
    (
        "v8/cdmcp_heap-1*", "v8/cdmcp_heap-3*",
        "129 KiB reachable instead of 126 KiB, 3.34 KiB more.",
        "New: 3,765 objects, 4.54 KiB",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("files", "whole", "new"), there(real_heaps, HEAPS))
def test_two_heap_dumps(server: LspClient, files: tuple[Path, Path], whole: str, new: str) -> None:
    text = headline(server, *files)
    assert text.startswith(whole)
    assert new in text
    assert headline(server, *files, swapped=True) == text


def test_a_run_twice_as_long_and_a_run_beside_itself(server: LspClient, tmp_path: Path) -> None:
    # line 10 keeps 512 bytes of every fourth event, line 11 frees its 1,024 at once
    short, long = (
        write_snapshot(tmp_path / "short.pickle", 400),
        write_snapshot(tmp_path / "long.pickle", 800),
    )
    grew = "Peak 101 KiB instead of 51 KiB, 50 KiB more. By line: train.py:10 (step) +50 KiB."
    assert headline(server, short, long) == grew
    shrank = f"Peak 51 KiB instead of 101 KiB, 50 KiB less. By line: train.py:10 (step) {MINUS}50 KiB."
    assert headline(server, long, short) == shrank
    assert headline(server, short, short) == "Peak 51 KiB instead of 51 KiB, no difference. No line differs."
    # after the first event of both, which are alike
    text = headline(server, short, long, from_moment=1)
    assert text == "512 B in use instead of 512 B, no difference. No line differs."
