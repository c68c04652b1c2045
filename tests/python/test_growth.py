"""Small files that stand for much, written out in each way; ``npm run fuzz -- --growth`` measures bigger ones."""

import gzip
import json
from pathlib import Path

from tests.fuzz import shapes
from tests.python.command_line import Done, memlens
from tests.python.protobuf import fields

from memlens.cli.output import MOST_LINES
from memlens.model.expansion import LEAST_ITEMS, most_items
from memlens.views.lines.stack import MOST_FRAMES


def test_stacks_that_share_their_frames_are_written_out_within_a_bound(tmp_path: Path) -> None:
    depth = 20_000
    path = tmp_path / "deep.heapsnapshot"
    path.write_bytes(shapes.v8_deep_trace(depth))

    def run(*arguments: object) -> Done:
        command, *rest = arguments
        return memlens(command, path, *rest, "--cache-dir", tmp_path / "cache")

    most = most_items(path.stat().st_size)
    assert depth * depth // 2 > 20 * most, (
        "each place in the tree is a stack; in full they have 200 million frames"
    )
    (warning,) = (
        each for each in json.loads(run("info", "--json").stdout)["warnings"] if each["code"] == "deep-stacks"
    )
    assert "20,001 frames deep" in warning["message"]
    counted = run("sql", "SELECT count(*) AS n, max(level) AS deepest FROM stack_frames", "--json")
    assert warning["message"] in counted.stderr
    (row,) = json.loads(counted.stdout)
    assert LEAST_ITEMS < row["n"] <= most
    kept = row["deepest"] + 1
    assert f"innermost {kept:,} frames" in warning["message"]
    # the depth stays the true one
    deepest = json.loads(run("sql", "SELECT max(depth) AS n FROM stacks", "--json").stdout)
    assert deepest == [{"n": depth + 1}]
    whole = run("export", "--pprof", tmp_path / "out.pb.gz")
    assert warning["message"] in whole.stderr
    samples = [
        dict(fields(data))
        for field, data in fields(gzip.decompress((tmp_path / "out.pb.gz").read_bytes()))
        if field == 2
    ]
    assert max(len(sample.get(1, b"")) for sample in samples) == kept
    folded = run("flame", "--folded", "--value", "allocated_bytes")
    assert warning["message"] in folded.stderr
    lines = folded.stdout.splitlines()
    assert len(lines) == depth
    assert max(line.count(";") for line in lines) == kept
    assert lines[-1].startswith("(stack cut off);")
    printed = run("flame", "--value", "allocated_bytes").stdout.splitlines()
    assert len(printed) == MOST_LINES + 2
    assert "10,000" in printed[-1]
    assert max(map(len, printed)) < 400
    frames = json.loads(run("object", "--by-number", 1, "--json").stdout)["allocated"]
    assert len(frames) == MOST_FRAMES + 1
    assert frames[-1]["function"] == f"({depth - MOST_FRAMES:,} outer frames are not listed)"
